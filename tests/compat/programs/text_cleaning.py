"""Cleaning of noisy short messages with regular expressions and string functions."""

import tensorflow as tf

TWEETS = [
    "@user1 LOVING this!!! see https://t.co/abc123 #happy #DataScience",
    "RT @bob: I   can't    believe it... won't happen",
    "  1,234 people & 5.6% said   'no'  ",
    "caf\u00e9 \U0001f600 na\u00efve Stra\u00dfe",
    "",
]
CONTRACTIONS = {"can't": "can not", "won't": "will not", "n't": " not"}


def clean(text):
    text = tf.strings.lower(text, encoding="utf-8")
    text = tf.strings.regex_replace(text, r"https?://\S+", "<url>")
    text = tf.strings.regex_replace(text, r"@\w+", "<user>")
    for short, full in CONTRACTIONS.items():
        text = tf.strings.regex_replace(text, short, full)
    text = tf.strings.regex_replace(text, r"(\d+)[,.](\d+)", r"\1\2")
    text = tf.strings.regex_replace(text, r"([!?.])[!?.]+", r"\1")
    text = tf.strings.regex_replace(text, r"[^\x00-\x7F]+", "")
    text = tf.strings.regex_replace(text, r"\s+", " ")
    return tf.strings.strip(text)


def features(text):
    length = tf.strings.length(text)
    characters = tf.strings.length(text, unit="UTF8_CHAR")
    words = tf.strings.split(text)
    tags = tf.boolean_mask(words, tf.strings.regex_full_match(words, "#.*"))
    starts = tf.strings.substr(words, 0, 2)
    is_upper = tf.strings.regex_full_match(words, "[A-Z]{2,}.*")
    return {
        "bytes": length,
        "chars": characters,
        "words": tf.size(words),
        "tags": tags,
        "starts": starts,
        "shouts": tf.reduce_sum(tf.cast(is_upper, tf.int32)),
        "first": tf.strings.substr(text, 0, 3, unit="UTF8_CHAR"),
    }


def results(folder):
    ds = tf.data.Dataset.from_tensor_slices(TWEETS)
    cleaned = ds.map(clean)
    nonempty = cleaned.filter(lambda text: tf.greater(tf.strings.length(text), 0))
    numbers = ds.map(lambda t: tf.strings.regex_replace(t, r"[^\d ]", "")).map(tf.strings.strip)
    numbers = numbers.filter(lambda t: tf.strings.regex_full_match(t, r"\d+( +\d+)*"))
    summed = numbers.map(
        lambda t: tf.reduce_sum(tf.strings.to_number(tf.strings.split(t), tf.int32))
    )
    padded = tf.strings.format("{} of {}", (tf.constant(3), tf.constant(5)))
    return {
        "cleaned": [t.numpy().decode() for t in cleaned],
        "features": list(ds.map(features)),
        "nonempty": len(list(nonempty)),
        "numbers": list(summed),
        "first only": tf.strings.regex_replace("a-b-c", "-", "+", replace_global=False),
        "upper": [tf.strings.upper(t, encoding="utf-8") for t in ds.skip(3)],
        "formatted": padded,
        "as string": tf.strings.as_string([3.14159, 2.0], precision=2),
        "joined": tf.strings.join([["a", "b"], "x", ["c", "d"]], "/"),
        "base64": tf.io.decode_base64(tf.io.encode_base64("raw \x01 text")),
    }
