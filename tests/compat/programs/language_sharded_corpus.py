"""A corpus of many files for several workers: shards by input context, interleaved, batched."""

import tensorflow as tf


def write_corpus(folder):
    for i in range(6):
        lines = [f"doc{i} line{j} " + "word " * (j + 1) for j in range(4)]
        path = str(folder / f"corpus-{i:02d}-of-06.tfrecord")
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type="ZLIB")) as writer:
            for line in lines:
                writer.write(line.strip().encode())


def input_fn(pattern, input_context=None, batch_size=4, is_training=False):
    d = tf.data.Dataset.list_files(pattern, shuffle=False)
    if input_context and input_context.num_input_pipelines > 1:
        d = d.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
    if is_training:
        d = d.shuffle(buffer_size=6)
        d = d.repeat()
    d = d.interleave(
        lambda f: tf.data.TFRecordDataset(f, compression_type="ZLIB"),
        cycle_length=2,
        block_length=1,
        num_parallel_calls=tf.data.experimental.AUTOTUNE,
        deterministic=not is_training,
    )
    size = batch_size
    if input_context:
        size = input_context.get_per_replica_batch_size(batch_size)
    d = d.map(lambda text: (text, tf.size(tf.strings.split(text))))
    return d.batch(size, drop_remainder=is_training).prefetch(tf.data.AUTOTUNE)


def results(folder):
    write_corpus(folder)
    pattern = str(folder / "corpus-*.tfrecord")
    contexts = [
        tf.distribute.InputContext(
            num_input_pipelines=3, input_pipeline_id=i, num_replicas_in_sync=2
        )
        for i in range(3)
    ]
    seen = [[t for texts, _ in input_fn(pattern, c) for t in texts.numpy()] for c in contexts]
    alone = input_fn(pattern)
    training = input_fn(pattern, contexts[0], is_training=True)
    counts = alone.unbatch().map(lambda _, n: n).reduce(0, lambda a, b: a + b)
    files = tf.io.gfile.glob(pattern)
    static = tf.data.Dataset.from_tensor_slices(sorted(files)).shard(num_shards=4, index=1)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    old = static.apply(
        tf.data.experimental.parallel_interleave(
            lambda f: tf.data.TFRecordDataset(f, "ZLIB"), cycle_length=2, sloppy=False
        )
    ).with_options(options)
    return {
        "seen": seen,
        "apart": len(set(sum(seen, []))),
        "alone": [texts for texts, _ in alone],
        "words": counts,
        "training": [texts.shape.as_list() for texts, _ in training.take(3)],
        "policy": int(options.experimental_distribute.auto_shard_policy),
        "old": [t.numpy() for t in old],
        "replicas": [c.get_per_replica_batch_size(8) for c in contexts],
        "files": [f.rsplit("/", 1)[1] for f in sorted(files)],
    }
