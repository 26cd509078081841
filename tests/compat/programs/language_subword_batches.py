"""Subwords by longest match with a vocabulary, [CLS] and [SEP], type ids, pairs truncated."""

import tensorflow as tf

VOCAB = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "un",
    "##aff",
    "##able",
    "runn",
    "##ing",
    "the",
    "want",
    "##ed",
]
PAIRS = [
    ("the unaffable", "running wanted the"),
    ("wanted xyz", "the the the the the the the"),
    ("the", ""),
]


class Tokenizer:
    def __init__(self, vocab):
        self.ids = {word: i for i, word in enumerate(vocab)}

    def word(self, word):
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    pieces.append(self.ids[piece])
                    start = end
                    break
            else:
                return [self.ids["[UNK]"]]
        return pieces

    def __call__(self, text):
        words = text.numpy().decode().lower().split()
        return tf.constant([i for w in words for i in self.word(w)], tf.int32)


def tokenize(tokenizer):
    def call(first, second):
        a = tf.py_function(tokenizer, [first], tf.int32)
        b = tf.py_function(func=tokenizer, inp=[second], Tout=tf.int32)
        a.set_shape([None])
        b.set_shape([None])
        return a, b

    return call


def truncate(a, b, max_length):
    while_cond = lambda a, b: tf.size(a) + tf.size(b) > max_length

    def body(a, b):
        longer = tf.size(a) > tf.size(b)
        return tf.cond(longer, lambda: a[:-1], lambda: a), tf.cond(
            longer, lambda: b, lambda: b[:-1]
        )

    return tf.while_loop(
        while_cond, body, [a, b], shape_invariants=[tf.TensorShape([None]), tf.TensorShape([None])]
    )


def combine(a, b, max_length=12):
    a, b = truncate(a, b, max_length - 3)
    cls, sep = tf.constant([2]), tf.constant([3])
    tokens = tf.concat([cls, a, sep, b, sep], axis=0)
    types = tf.concat(
        [tf.zeros([tf.size(a) + 2], tf.int32), tf.ones([tf.size(b) + 1], tf.int32)], 0
    )
    padding = [[0, max_length - tf.shape(tokens)[0]]]
    return {
        "input_word_ids": tf.pad(tokens, padding),
        "input_type_ids": tf.pad(types, padding),
        "input_mask": tf.cast(tf.sequence_mask(tf.shape(tokens)[0], max_length), tf.int32),
    }


def results(folder):
    firsts, seconds = zip(*PAIRS)
    ds = tf.data.Dataset.from_tensor_slices((list(firsts), list(seconds)))
    tokens = ds.map(tokenize(Tokenizer(VOCAB)))
    combined = tokens.map(combine)
    batch = next(iter(combined.batch(3)))
    vocab = tf.constant(VOCAB)
    detokenized = combined.map(
        lambda e: tf.strings.regex_replace(
            tf.strings.reduce_join(tf.gather(vocab, e["input_word_ids"]), separator=" "), " ##", ""
        )
    )
    labels = tf.data.Dataset.from_tensor_slices([0, 1, 0])
    training = tf.data.Dataset.zip((combined, labels)).shuffle(3).batch(2)
    return {
        "batch": batch,
        "tokens": [(a, b) for a, b in tokens],
        "detokenized": [t.numpy().decode() for t in detokenized],
        "lengths": tf.reduce_sum(batch["input_mask"], axis=1),
        "training": [(sorted(x), y.shape.as_list()) for x, y in training],
        "attention": tf.einsum("bi,bj->bij", batch["input_mask"], batch["input_mask"])[1, 0],
        "top": tf.math.top_k(
            tf.math.bincount(tf.reshape(batch["input_word_ids"], [-1])), 3
        ).indices,
    }
