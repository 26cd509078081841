"""Sentence pairs in two languages: normalized Unicode, start and end tokens, length buckets."""

import re
import unicodedata

import tensorflow as tf

PAIRS = """Go.\tVe.\tCC-BY 1
Hi!\t¡Hola!\tCC-BY 2
Run, quickly!\t¡Corre, rápido!\tCC-BY 3
Who is that?\t¿Quién es ése?\tCC-BY 4
I have no idea what you mean.\tNo tengo idea de qué quieres decir.\tCC-BY 5
She always drinks coffee in the morning.\tElla siempre bebe café por la mañana.\tCC-BY 6
"""


def unicode_to_ascii(s):
    return "".join(c for c in unicodedata.normalize("NFD", s) if unicodedata.category(c) != "Mn")


def preprocess_sentence(w):
    w = unicode_to_ascii(w.lower().strip())
    w = re.sub(r"([?.!,¿])", r" \1 ", w)
    w = re.sub(r'[" "]+', " ", w)
    w = re.sub(r"[^a-zA-Z?.!,¿]+", " ", w)
    return "<start> " + w.strip() + " <end>"


def clean_in_graph(text):
    text = tf.strings.lower(text)
    text = tf.strings.regex_replace(text, "[^ a-z.?!,¿]", "")
    text = tf.strings.regex_replace(text, "[.?!,¿]", r" \0 ")
    text = tf.strings.strip(text)
    return tf.strings.join(["[START]", text, "[END]"], separator=" ")


def tokenizer(sentences):
    words = sorted({word for sentence in sentences for word in sentence.split()})
    init = tf.lookup.KeyValueTensorInitializer(words, list(range(1, len(words) + 1)))
    return tf.lookup.StaticHashTable(init, default_value=0)


def results(folder):
    path = folder / "spa.txt"
    path.write_text(PAIRS, encoding="UTF-8")
    lines = path.read_text(encoding="UTF-8").strip().split("\n")
    pairs = [[preprocess_sentence(w) for w in line.split("\t")[:2]] for line in lines]
    inp_lang, targ_lang = zip(*pairs)
    inp_table, targ_table = tokenizer(inp_lang), tokenizer(targ_lang)

    def encode(inp, targ):
        return inp_table.lookup(tf.strings.split(inp)), targ_table.lookup(tf.strings.split(targ))

    ds = tf.data.Dataset.from_tensor_slices((list(inp_lang), list(targ_lang))).map(encode)
    padded = ds.shuffle(6).padded_batch(6, padded_shapes=([None], [None]))
    buckets = ds.bucket_by_sequence_length(
        element_length_func=lambda inp, targ: tf.maximum(tf.size(inp), tf.size(targ)),
        bucket_boundaries=[6, 9],
        bucket_batch_sizes=[2, 2, 3],
        pad_to_bucket_boundary=False,
    )
    older = ds.apply(
        tf.data.experimental.bucket_by_sequence_length(
            lambda inp, targ: tf.shape(inp)[0],
            [6, 20],
            [4, 4, 4],
            padding_values=(-1, -2),
            padded_shapes=([None], [None]),
            pad_to_bucket_boundary=True,
        )
    )
    lines_ds = tf.data.TextLineDataset(str(path))
    spanish = lines_ds.map(lambda line: tf.strings.split(line, "\t")[1]).map(clean_in_graph)
    source, target = next(iter(padded))
    return {
        "pairs": pairs,
        "shapes": [source.shape.as_list(), target.shape.as_list()],
        "lengths": tf.sort(tf.math.count_nonzero(source, axis=1)),
        "sum": tf.reduce_sum(source) + tf.reduce_sum(target),
        "buckets": [[inp, targ] for inp, targ in buckets],
        "older": [[inp, targ] for inp, targ in older],
        "in graph": [s.numpy().decode() for s in spanish],
        "masks": [tf.cast(tf.math.not_equal(inp, 0), tf.float32) for inp, _ in buckets],
        "type": source.dtype.name,
    }
