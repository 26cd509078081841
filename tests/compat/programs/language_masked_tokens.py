"""Masked language modelling: whole batches masked with stateless draws, weights, positions."""

import numpy as np
import tensorflow as tf

MASK, VOCAB, SPECIAL = 4, 60, 5
IGNORE = -100


def mask_tokens(inputs, seed, rate=0.3):
    seeds = tf.random.split(seed, 4) if hasattr(tf.random, "split") else None
    if seeds is None:
        seeds = [seed + i for i in range(4)]
    candidates = tf.greater_equal(inputs, SPECIAL)
    chosen = tf.random.stateless_uniform(tf.shape(inputs), seeds[0]) < rate
    chosen = tf.logical_and(chosen, candidates)
    labels = tf.where(chosen, inputs, IGNORE)
    draw = tf.random.stateless_uniform(tf.shape(inputs), seeds[1])
    masked = tf.where(tf.logical_and(chosen, draw < 0.8), MASK, inputs)
    random_words = tf.random.stateless_uniform(
        tf.shape(inputs), seeds[2], minval=SPECIAL, maxval=VOCAB, dtype=tf.int32
    )
    replace = tf.logical_and(chosen, draw >= 0.9)
    return {"inputs": tf.where(replace, random_words, masked), "labels": labels}


def mask_fixed(tokens, positions):
    """Mask given positions, in the form of BERT's pretraining records."""
    indices = tf.expand_dims(positions, 1)
    ids = tf.gather(tokens, positions)
    masked = tf.tensor_scatter_nd_update(tokens, indices, tf.fill(tf.shape(positions), MASK))
    return {
        "input_ids": masked,
        "input_mask": tf.ones_like(masked),
        "masked_lm_positions": positions,
        "masked_lm_ids": ids,
        "masked_lm_weights": tf.cast(ids >= SPECIAL, tf.float32),
    }


def decode_record(record, name_to_features):
    example = tf.io.parse_single_example(record, name_to_features)
    for name in list(example.keys()):
        t = example[name]
        if t.dtype == tf.int64:
            t = tf.cast(t, tf.int32)
        example[name] = t
    return example


def results(folder):
    rng = np.random.default_rng(21)
    tokens = rng.integers(SPECIAL, VOCAB, (40, 16)).astype(np.int32)
    tokens[:, 0], tokens[:, -1] = 2, 3
    ds = tf.data.Dataset.from_tensor_slices(tokens)
    seeded = tf.data.Dataset.zip((ds.batch(8), tf.data.Dataset.range(100)))
    masked = seeded.map(lambda t, i: mask_tokens(t, tf.cast(tf.stack([i, 42]), tf.int32)))
    repeated = [tf.reduce_all(a["inputs"] == b["inputs"]) for a, b in zip(masked, masked)]
    chosen = sum(int(tf.reduce_sum(tf.cast(m["labels"] != IGNORE, tf.int32))) for m in masked)
    kept = [
        bool(tf.reduce_all((m["labels"] == IGNORE) | (m["labels"] == t)))
        for m, t in zip(masked, ds.batch(8))
    ]
    fixed = ds.map(lambda t: mask_fixed(t, tf.constant([1, 5, 15])))

    path = str(folder / "pretraining.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for f in fixed.take(5):
            feature = {}
            for name, value in f.items():
                if value.dtype == tf.float32:
                    lists = {"float_list": tf.train.FloatList(value=value.numpy())}
                else:
                    lists = {"int64_list": tf.train.Int64List(value=value.numpy())}
                feature[name] = tf.train.Feature(**lists)
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    name_to_features = {
        "input_ids": tf.io.FixedLenFeature([16], tf.int64),
        "input_mask": tf.io.FixedLenFeature([16], tf.int64),
        "masked_lm_positions": tf.io.FixedLenFeature([3], tf.int64),
        "masked_lm_ids": tf.io.FixedLenFeature([3], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([3], tf.float32),
    }
    d = tf.data.TFRecordDataset(path).map(lambda record: decode_record(record, name_to_features))
    first = next(iter(d.batch(5, drop_remainder=True)))
    return {
        "repeat": [bool(r) for r in repeated],
        "share": 0.2 < chosen / (40 * 14) < 0.4,
        "labels": kept,
        "special kept": all(bool(tf.reduce_all(m["inputs"][:, 0] == 2)) for m in masked),
        "fixed": next(iter(fixed)),
        "records": first,
        "order": list(first),
        "types": {name: spec.dtype.name for name, spec in d.element_spec.items()},
    }
