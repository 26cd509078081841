"""A vocabulary counted from lines, written to a file, and lookup tables of every kind."""

import collections

import tensorflow as tf

LINES = [
    "the quick brown fox jumps over the lazy dog",
    "the dog sleeps while the fox runs",
    "a fox is quick and a dog is lazy",
]


def build_vocab(dataset, size):
    vocab_dict = collections.defaultdict(lambda: 0)
    for tokens in dataset.as_numpy_iterator():
        for token in tokens:
            vocab_dict[token] += 1
    ordered = sorted(vocab_dict.items(), key=lambda x: (-x[1], x[0]))
    return [token for token, _ in ordered][:size]


def results(folder):
    path = str(folder / "lines.txt")
    with open(path, "w") as file:
        file.write("\n".join(LINES))
    tokenized = tf.data.TextLineDataset(path).map(tf.strings.split)
    vocab = build_vocab(tokenized, 10)
    vocab_file = str(folder / "vocab.txt")
    tf.io.write_file(vocab_file, tf.strings.reduce_join(tf.constant(vocab), separator="\n"))

    words = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            vocab_file,
            key_dtype=tf.string,
            key_index=tf.lookup.TextFileIndex.WHOLE_LINE,
            value_dtype=tf.int64,
            value_index=tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        default_value=-1,
    )
    back = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            vocab_file,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
        ),
        default_value="[UNK]",
    )
    keys = range(2, len(vocab) + 2)
    buckets = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(vocab, keys, key_dtype=tf.string, value_dtype=tf.int64),
        1,
    )
    ids = tokenized.map(words.lookup)
    known = ids.map(lambda x: tf.boolean_mask(x, x >= 0))
    texts = ids.map(
        lambda x: tf.strings.join([tf.strings.reduce_join(back.lookup(x), separator=" "), "."])
    )
    counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=0)
    for tokens in tokenized:
        unique, _, n = tf.unique_with_counts(tokens)
        counts.insert(unique, counts.lookup(unique) + tf.cast(n, tf.int64))
    frequent = tf.constant(["the", "fox", "cat"])
    return {
        "vocab": vocab,
        "file": tf.io.read_file(vocab_file),
        "ids": list(ids),
        "known": list(known),
        "texts": list(texts.as_numpy_iterator()),
        "buckets": [buckets.lookup(tokens) for tokens in tokenized],
        "size": [int(words.size()), int(buckets.size()), int(counts.size())],
        "counts": counts.lookup(frequent),
        "one hot": tf.reduce_sum(tf.one_hot(next(iter(ids)), 10), axis=0),
        "bag of words": [tf.math.bincount(tf.cast(x, tf.int32), minlength=10) for x in known],
    }
