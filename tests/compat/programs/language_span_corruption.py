"""Spans of tokens replaced by sentinels: inputs and targets of a text-to-text model."""

import tensorflow as tf

VOCAB_SIZE = 100


def noise_mask(length, starts, width):
    positions = tf.range(length)
    masks = [
        tf.logical_and(positions >= start, positions < start + width)
        for start in tf.unstack(starts)
    ]
    return tf.reduce_any(tf.stack(masks), axis=0)


def noise_span_to_unique_sentinel(tokens, mask):
    prev_token_is_noise = tf.pad(mask[:-1], [[1, 0]])
    first_noise_tokens = tf.logical_and(mask, tf.logical_not(prev_token_is_noise))
    subsequent_noise_tokens = tf.logical_and(mask, prev_token_is_noise)
    sentinel = VOCAB_SIZE - tf.cumsum(tf.cast(first_noise_tokens, tokens.dtype))
    tokens = tf.where(first_noise_tokens, sentinel, tokens)
    return tf.boolean_mask(tokens, tf.logical_not(subsequent_noise_tokens))


def nonnoise_span_to_unique_sentinel(tokens, mask):
    return noise_span_to_unique_sentinel(tokens, tf.logical_not(mask))


def random_spans_noise_mask(length, noise_density=0.25, mean_span=2.0, seeds=None):
    num_noise = tf.cast(tf.round(tf.cast(length, tf.float32) * noise_density), tf.int32)
    num_noise = tf.minimum(tf.maximum(num_noise, 1), length - 1)
    num_spans = tf.cast(tf.round(tf.cast(num_noise, tf.float32) / mean_span), tf.int32)
    num_spans = tf.maximum(num_spans, 1)

    def segmentation(num_items, num_segments, seed):
        first = tf.cast(tf.range(num_items - 1) < num_segments - 1, tf.int32)
        first = tf.random.experimental.stateless_shuffle(first, seed=seed)
        first = tf.pad(first, [[1, 0]])
        segment_id = tf.cumsum(first)
        return tf.math.segment_sum(tf.ones_like(segment_id), segment_id)

    noise = segmentation(num_noise, num_spans, seeds[0])
    other = segmentation(length - num_noise, num_spans, seeds[1])
    interleaved = tf.reshape(tf.stack([other, noise], axis=1), [num_spans * 2])
    span_starts = tf.cumsum(interleaved)[:-1]
    indicator = tf.math.unsorted_segment_sum(tf.ones_like(span_starts), span_starts, length)
    return tf.equal(tf.math.floormod(tf.cumsum(indicator), 2), 1)


def results(folder):
    tokens = [tf.range(10, 22), tf.range(30, 39), tf.range(50, 66)]
    ds = tf.data.Dataset.from_generator(
        lambda: iter(tokens), output_signature=tf.TensorSpec([None], tf.int32)
    )

    def corrupt(t):
        mask = noise_mask(tf.size(t), tf.constant([2, 6]), 2)
        return {
            "inputs": noise_span_to_unique_sentinel(t, mask),
            "targets": nonnoise_span_to_unique_sentinel(t, mask),
        }

    fixed = ds.map(corrupt, num_parallel_calls=2)

    def masked(i, t):
        seeds = tf.stack([tf.stack([i, i]), tf.stack([i, i + 1])])
        return random_spans_noise_mask(tf.size(t), seeds=seeds)

    masks = ds.enumerate().map(masked)
    padded = fixed.padded_batch(3, padded_shapes={"inputs": [16], "targets": [8]})
    trimmed = fixed.map(lambda f: {key: value[:5] for key, value in f.items()})
    prefix = ds.map(lambda t: (t[: tf.size(t) // 2], t[tf.size(t) // 2 :]))
    return {
        "inputs": [f["inputs"] for f in fixed],
        "targets": [f["targets"] for f in fixed],
        "padded": next(iter(padded)),
        "trimmed": next(iter(trimmed.batch(3))),
        "noise tokens": [tf.reduce_sum(tf.cast(m, tf.int32)) for m in masks],
        "starts with text": [not bool(m[0]) for m in masks],
        "prefix": [(a.shape[0], b.shape[0]) for a, b in prefix],
    }
