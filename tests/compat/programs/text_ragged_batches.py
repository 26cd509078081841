"""Batches of token ids without padding: ragged tensors, trimmed, joined, padded late."""

import tensorflow as tf

START, END = 1, 2


def tokens(i):
    return tf.range(i, i + 1 + i % 4) + 10


def add_start_end(ragged):
    count = ragged.bounding_shape()[0]
    starts = tf.fill([count, 1], START)
    ends = tf.fill([count, 1], END)
    return tf.concat([starts, ragged, ends], axis=1)


def prepare_batch(pt, en, max_tokens=4):
    pt = pt[:, :max_tokens].to_tensor()
    en = en[:, : (max_tokens + 1)]
    en_inputs = en[:, :-1].to_tensor()
    en_labels = en[:, 1:].to_tensor()
    return (pt, en_inputs), en_labels


def results(folder):
    rows = [[5, 6], [7], [], [8, 9, 10]]
    ragged = tf.ragged.constant(rows, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices(ragged)
    batches = tf.data.Dataset.range(6, output_type=tf.int32).map(tokens).ragged_batch(3)
    pairs = tf.data.Dataset.zip((batches, batches.map(lambda x: x * 2)))
    prepared = pairs.map(lambda a, b: (add_start_end(a), add_start_end(b))).map(prepare_batch)
    filtered = ds.filter(lambda row: tf.size(row) > 0)
    sizes = ds.map(lambda row: tf.shape(row)[0])
    dense = batches.map(lambda x: x.to_tensor(default_value=-1, shape=[None, 5]))
    (pt, en_inputs), en_labels = next(iter(prepared))
    words = tf.ragged.constant([["so", "long"], ["thanks", "for", "the", "fish"]])
    mean = tf.reduce_mean(tf.cast(ragged, tf.float32), axis=1)
    return {
        "rows": [row for row in ds],
        "batches": [b for b in batches],
        "with ends": add_start_end(ragged),
        "source": pt,
        "inputs": en_inputs,
        "labels": en_labels,
        "kept": [row for row in filtered],
        "sizes": list(sizes.as_numpy_iterator()),
        "dense": list(dense),
        "means": tf.where(tf.math.is_nan(mean), tf.zeros_like(mean), mean),
        "total": tf.reduce_sum(ragged),
        "lengths": ragged.row_lengths(),
        "ids": tf.strings.to_hash_bucket_fast(words, 100),
        "joined": tf.strings.reduce_join(words, axis=-1, separator=" "),
        "unbatched": [row.numpy() for row in batches.unbatch()],
        "added": ragged + 1,
        "stacked": tf.stack(
            [tf.ragged.constant([[1], [2, 3]]), tf.ragged.constant([[4, 5], []], dtype=tf.int32)]
        ),
        "spec": str(type(batches.element_spec).__name__),
    }
