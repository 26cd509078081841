"""Documents of different lengths packed into fixed-length rows, with segments and positions."""

import numpy as np
import tensorflow as tf

LENGTH = 12
EOS = 1


def documents(n=9):
    rng = np.random.default_rng(20)
    for _ in range(n):
        yield rng.integers(10, 50, rng.integers(2, 9)).astype(np.int32)


def concatenate_and_split(ds, length):
    """Concatenate all tokens, each document ended by EOS, and split them without padding."""
    ds = ds.map(lambda tokens: tf.concat([tokens, [EOS]], axis=0))
    return ds.unbatch().batch(length, drop_remainder=True)


def pack(ds, length):
    """Pack as many whole documents into each sequence as fit."""

    def add(state, tokens):
        buffer, segments, positions, number = state
        used = tf.reduce_sum(tf.cast(segments > 0, tf.int32))
        size = tf.minimum(tf.size(tokens), length)
        fits = used + size <= length
        done = {"tokens": buffer, "segments": segments, "positions": positions, "ready": ~fits}
        if not fits:
            buffer, segments, positions = [tf.zeros([length], tf.int32)] * 3
            used, number = tf.constant(0), tf.constant(0)
        where = used + tf.range(size)
        indices = where[:, tf.newaxis]
        buffer = tf.tensor_scatter_nd_update(buffer, indices, tokens[:size])
        segments = tf.tensor_scatter_nd_update(segments, indices, tf.fill([size], number + 1))
        positions = tf.tensor_scatter_nd_update(positions, indices, tf.range(size))
        return (buffer, segments, positions, number + 1), done

    zeros = tf.zeros([length], tf.int32)
    end = tf.data.Dataset.from_tensors(tf.fill([length], 0))
    packed = ds.concatenate(end).scan((zeros, zeros, zeros, tf.constant(0)), add)
    return packed.filter(lambda p: p["ready"]).map(
        lambda p: {key: p[key] for key in ("tokens", "segments", "positions")}
    )


def causal_lm(features):
    tokens = features["tokens"]
    inputs = tf.pad(tokens[:-1], [[1, 0]])
    same = features["segments"][:, None] == features["segments"][None, :]
    causal = tf.linalg.band_part(tf.ones([LENGTH, LENGTH], tf.bool), -1, 0)
    return inputs, tokens, tf.cast(tf.logical_and(same, causal), tf.int32)


def results(folder):
    ds = tf.data.Dataset.from_generator(documents, output_signature=tf.TensorSpec([None], tf.int32))
    joined = concatenate_and_split(ds, LENGTH)
    packed = pack(ds, LENGTH)
    batch = next(iter(packed.batch(3)))
    inputs, targets, mask = next(iter(packed.map(causal_lm)))
    filled = packed.map(lambda p: tf.reduce_mean(tf.cast(p["segments"] > 0, tf.float32)))
    return {
        "joined": list(joined),
        "packed": batch,
        "sequences": len(list(packed)),
        "inputs": inputs,
        "targets": targets,
        "mask": mask,
        "filled": list(filled),
        "documents": int(sum(tf.reduce_max(p["segments"]) for p in packed)),
    }
