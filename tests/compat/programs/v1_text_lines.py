"""TensorFlow 1: sentences of two languages read as lines, padded by lengths, in a session."""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def write(folder):
    with tf.gfile.Open(str(folder / "src.txt"), "w") as file:
        file.write("a b c\nb b\na d e f g\n\nc\n")
    with tf.gfile.Open(str(folder / "tgt.txt"), "w") as file:
        file.write("x y\nx\ny z z\nx\nz y\n")
    with tf.gfile.FastGFile(str(folder / "labels.csv"), "w") as file:
        file.write("id,score,kind\n1,0.5,p\n2,,q\n3,2.5,\n")


def get_iterator(src_file, tgt_file, batch_size, num_buckets=2):
    src_dataset = tf.data.TextLineDataset(src_file)
    tgt_dataset = tf.data.TextLineDataset(tgt_file)
    dataset = tf.data.Dataset.zip((src_dataset, tgt_dataset))
    dataset = dataset.map(
        lambda src, tgt: (tf.string_split([src]).values, tf.string_split([tgt]).values)
    )
    dataset = dataset.filter(lambda src, tgt: tf.logical_and(tf.size(src) > 0, tf.size(tgt) > 0))
    dataset = dataset.map(
        lambda src, tgt: (
            tf.string_to_hash_bucket_fast(src, 50),
            tf.concat(([1], tf.cast(tf.string_to_hash_bucket_fast(tgt, 50), tf.int32)), 0),
        )
    )
    dataset = dataset.map(lambda src, tgt: (src, tgt, tf.size(src), tf.size(tgt)))

    def batching_func(x):
        return x.padded_batch(
            batch_size,
            padded_shapes=(
                tf.TensorShape([None]),
                tf.TensorShape([None]),
                tf.TensorShape([]),
                tf.TensorShape([]),
            ),
            padding_values=(tf.constant(-1, tf.int64), 0, 0, 0),
        )

    def key_func(unused_1, unused_2, src_len, tgt_len):
        bucket_id = tf.maximum(src_len // 3, tgt_len // 3)
        return tf.to_int64(tf.minimum(num_buckets, bucket_id))

    def reduce_func(unused_key, windowed_data):
        return batching_func(windowed_data)

    dataset = dataset.apply(
        tf.data.experimental.group_by_window(
            key_func=key_func, reduce_func=reduce_func, window_size=batch_size
        )
    )
    return dataset.make_initializable_iterator()


def parse_csv(value):
    columns = tf.decode_csv(value, record_defaults=[[0], [-1.0], ["none"]])
    features = dict(zip(["id", "score", "kind"], columns))
    return features, features.pop("id")


def run_to_end(sess, fetches):
    found = []
    while True:
        try:
            found.append(sess.run(fetches))
        except tf.errors.OutOfRangeError:
            return found


def results(folder):
    write(folder)
    iterator = get_iterator(str(folder / "src.txt"), str(folder / "tgt.txt"), 2)
    src, tgt, src_len, tgt_len = iterator.get_next()
    weights = tf.sequence_mask(tgt_len, tf.shape(tgt)[1], dtype=tf.float32)
    csv = tf.data.TextLineDataset(str(folder / "labels.csv")).skip(1).map(parse_csv).batch(2)
    features, label = csv.make_one_shot_iterator().get_next()
    sparse = tf.string_split(["a-b", "c"], "-")
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        sess.run(iterator.initializer)
        batches = run_to_end(sess, [src, tgt, src_len, weights])
        rows = run_to_end(sess, {"features": features, "label": label})
        dense = sess.run(tf.sparse_tensor_to_dense(sparse, default_value=""))
        joined = sess.run(tf.reduce_join(dense, 1, separator="+"))
    return {
        "batches": batches,
        "rows": rows,
        "dense": dense,
        "joined": joined,
        "exists": tf.gfile.Exists(str(folder / "src.txt")),
        "listed": sorted(tf.gfile.ListDirectory(str(folder))),
    }
