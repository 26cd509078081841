"""N-grams of words and characters, hashed into buckets, counted into bags."""

import tensorflow as tf

SENTENCES = ["Data pipelines feed models", "models eat data", "feed the models", "Hi"]


def ngrams_of(tokens, width):
    return tf.strings.ngrams(tokens, width, separator="_")


def hashed_bag(tokens, buckets=16):
    ids = tf.strings.to_hash_bucket_fast(tokens, buckets)
    return tf.math.bincount(tf.cast(ids, tf.int32), minlength=buckets, maxlength=buckets)


def windows_of(tokens, width):
    ds = tf.data.Dataset.from_tensor_slices(tokens)
    ds = ds.window(width, shift=1, drop_remainder=True)
    ds = ds.flat_map(lambda window: window.batch(width))
    return ds.map(lambda words: tf.strings.reduce_join(words, separator=" "))


def results(folder):
    ds = tf.data.Dataset.from_tensor_slices(SENTENCES)
    lower = ds.map(tf.strings.lower)
    tokens = lower.map(lambda line: tf.strings.split([line]))
    words = lower.map(tf.strings.split)
    bigrams = tokens.map(lambda t: ngrams_of(t, 2))
    both = words.map(lambda t: tf.concat([t, ngrams_of(t, 2)], axis=0))
    characters = lower.map(lambda line: tf.strings.unicode_split(line, "UTF-8"))
    trigrams = characters.map(lambda t: tf.strings.ngrams(t, [2, 3], separator=""))
    batch = tf.strings.split(tf.constant(SENTENCES))
    strong = tf.strings.to_hash_bucket_strong(tf.constant(["a", "b"]), 100, key=[1, 2])
    return {
        "bigrams": [b.to_list() for b in bigrams],
        "both": list(both),
        "trigrams": [t.numpy()[:4] for t in trigrams],
        "bags": list(words.map(hashed_bag)),
        "windows": [w.numpy() for w in windows_of(tf.strings.split(SENTENCES[0]), 3)],
        "padded": tf.strings.ngrams(["a", "b"], 3, pad_values=("<", ">"), separator=" "),
        "ragged": tf.strings.ngrams(batch, 2, separator=" "),
        "lengths": batch.row_lengths(),
        "strong": strong,
        "hash": tf.strings.to_hash_bucket(tf.constant(["x", "y", ""]), 50),
        "whole": tf.strings.reduce_join(batch, axis=1, separator="-"),
    }
