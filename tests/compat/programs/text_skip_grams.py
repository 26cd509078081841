"""Skip-grams with negative samples, as in word2vec, and subsampling of frequent words."""

import numpy as np
import tensorflow as tf

SENTENCE = "the wide road shimmered in the hot sun while the cold moon rose"


def vocabulary(tokens):
    vocab, index = {}, 1
    vocab["<pad>"] = 0
    for token in tokens:
        if token not in vocab:
            vocab[token] = index
            index += 1
    return vocab


def positive_pairs(sequence, window_size):
    ds = tf.data.Dataset.from_tensor_slices(sequence).enumerate()

    def contexts(position, target):
        start = tf.maximum(position - window_size, 0)
        end = tf.minimum(position + window_size + 1, tf.size(sequence, out_type=tf.int64))
        around = tf.concat([sequence[start:position], sequence[position + 1 : end]], axis=0)
        targets = tf.fill([tf.size(around)], target)
        return tf.data.Dataset.from_tensor_slices((targets, around))

    return ds.flat_map(contexts)


def with_negatives(target, context, vocab_size, num_ns, seed):
    context_class = tf.expand_dims(tf.cast(context, tf.int64), 0)
    candidates = tf.random.stateless_uniform([num_ns], seed, 1, vocab_size, tf.int64)
    label = tf.constant([1] + [0] * num_ns, dtype="int64")
    return (target, tf.concat([context_class, candidates], 0)), label


def results(folder):
    tokens = list(SENTENCE.lower().split())
    vocab = vocabulary(tokens)
    example_sequence = tf.constant([vocab[word] for word in tokens], tf.int64)
    pairs = positive_pairs(example_sequence, window_size=2)
    numbered = tf.data.Dataset.zip((pairs, tf.data.Dataset.counter()))
    training = numbered.map(
        lambda pair, i: with_negatives(pair[0], pair[1], len(vocab), 4, tf.stack([i, 7]))
    )
    dataset = training.shuffle(1000).batch(8, drop_remainder=True)
    (targets, contexts), labels = next(iter(dataset))
    _, ids, counts = tf.unique_with_counts(example_sequence)
    share = tf.cast(counts, tf.float32) / tf.cast(tf.size(example_sequence), tf.float32)
    keep = tf.minimum(1.0, tf.sqrt(0.05 / share) + 0.05 / share)
    all_pairs = np.array([(int(t), int(c)) for t, c in pairs])
    negatives = tf.concat([c[1:] for (_, c), _ in training], axis=0)
    return {
        "vocab": vocab,
        "pairs": all_pairs,
        "count": len(list(pairs)),
        "shapes": [targets.shape.as_list(), contexts.shape.as_list(), labels.shape.as_list()],
        "types": [targets.dtype.name, contexts.dtype.name, labels.dtype.name],
        "labels": tf.reduce_sum(labels, axis=0),
        "positive": tf.stack([c[0] for (_, c), _ in training]),
        "negatives within": bool(tf.reduce_all((negatives >= 1) & (negatives < len(vocab)))),
        "keep": tf.gather(keep, ids),
        "frequent": tf.math.top_k(counts, k=2).values,
    }
