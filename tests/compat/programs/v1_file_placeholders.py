"""TensorFlow 1: record file names and the batch size are fed at the start of a pass."""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def write_files(folder):
    names = {}
    for kind, count in (("training", 5), ("validation", 3)):
        names[kind] = [str(folder / f"{kind}-{i}.tfrecord") for i in range(2)]
        for i, name in enumerate(names[kind]):
            with tf.python_io.TFRecordWriter(name) as writer:
                for j in range(count):
                    values = tf.train.FloatList(value=[i, j / 4])
                    feature = {
                        "x": tf.train.Feature(float_list=values),
                        "label": tf.train.Feature(
                            int64_list=tf.train.Int64List(value=[10 * i + j])
                        ),
                        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"n%d" % j])),
                    }
                    example = tf.train.Example(features=tf.train.Features(feature=feature))
                    writer.write(example.SerializeToString())
    return names


class Parser:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, serialized):
        parsed = tf.parse_single_example(
            serialized,
            {
                "x": tf.FixedLenFeature([2], tf.float32),
                "label": tf.FixedLenFeature([], tf.int64),
                "name": tf.FixedLenFeature((), tf.string, default_value=""),
            },
        )
        return (parsed["x"] * self.scale, parsed["name"]), tf.cast(parsed["label"], tf.int32)


def passes(sess, iterator, fetches, feeds):
    sess.run(iterator.initializer, feed_dict=feeds)
    found = []
    while True:
        try:
            found.append(sess.run(fetches))
        except tf.errors.OutOfRangeError:
            return found


def results(folder):
    names = write_files(folder)
    filenames = tf.placeholder(tf.string, shape=[None])
    batch_size = tf.placeholder(tf.int64, shape=[])
    dataset = tf.data.TFRecordDataset(filenames)
    dataset = dataset.map(Parser(2.0), num_parallel_calls=2).batch(batch_size)
    iterator = dataset.make_initializable_iterator()
    (x, name), label = iterator.get_next()
    total = tf.reduce_sum(x, axis=0) + tf.to_float(tf.reduce_max(label))

    texts = tf.placeholder(tf.string, [None])
    upper = tf.data.Dataset.from_tensor_slices(texts).map(lambda t: (t, tf.strings.length(t)))
    upper_iterator = upper.make_initializable_iterator()
    text, length = upper_iterator.get_next()
    with tf.Session() as sess:
        training = {filenames: names["training"], batch_size: 4}
        validation = {filenames: names["validation"], batch_size: 6}
        return {
            "training": passes(sess, iterator, [label, total], training),
            "validation": passes(sess, iterator, {"x": x, "name": name}, validation),
            "one file": passes(
                sess, iterator, label, {filenames: names["training"][:1], batch_size: 9}
            ),
            "texts": passes(sess, upper_iterator, (text, length), {texts: ["ab", "", "xyz"]}),
        }
