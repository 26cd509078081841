"""Unicode: code points, characters with offsets, encodings, and runs of characters of one block."""

import tensorflow as tf

SENTENCES = ["Hello, world.", "世界こんにちは", "Grüße \U0001f60a"]


def segments(codepoints):
    blocks = tf.bitwise.right_shift(codepoints, 7)
    starts = tf.concat([[True], tf.not_equal(blocks[1:], blocks[:-1])], axis=0)
    indices = tf.squeeze(tf.where(starts), axis=1)
    return tf.RaggedTensor.from_row_starts(values=codepoints, row_starts=indices)


def results(folder):
    ds = tf.data.Dataset.from_tensor_slices(SENTENCES)
    batch = tf.constant(SENTENCES)
    points = tf.strings.unicode_decode(batch, "UTF-8")
    split = ds.map(lambda line: tf.strings.unicode_split(line, "UTF-8"))
    words = ds.map(lambda line: segments(tf.strings.unicode_decode(line, "UTF-8")))
    encoded = [tf.strings.unicode_encode(rows, "UTF-8") for rows in words]
    chars, offsets = tf.strings.unicode_decode_with_offsets("\U0001f388\u00e9a", "UTF-8")
    ragged = ds.map(lambda line: tf.strings.unicode_decode(line, "UTF-8"))
    ragged = ragged.apply(tf.data.experimental.dense_to_ragged_batch(3))
    rows = next(iter(ragged))
    path = str(folder / "utf16.txt")
    tf.io.write_file(path, tf.strings.unicode_transcode("caf\u00e9", "UTF-8", "UTF-16-BE"))
    broken = tf.strings.unicode_transcode(
        b"a\xffb", "UTF-8", "UTF-8", errors="replace", replacement_char=63
    )
    return {
        "points": points,
        "dense": points.to_tensor(default_value=-1),
        "sparse": tf.strings.unicode_split(batch, "UTF-8").to_sparse(),
        "split": list(split),
        "words": encoded,
        "chars": chars,
        "offsets": offsets,
        "batch": rows,
        "longest": tf.reduce_max(rows, axis=1),
        "lengths": [tf.strings.length(batch, unit=unit) for unit in ("BYTE", "UTF8_CHAR")],
        "part": tf.strings.substr(batch, pos=1, len=3, unit="UTF8_CHAR"),
        "bytes": tf.strings.bytes_split("\u00e9"),
        "utf16": tf.io.read_file(path),
        "broken": broken,
        "encoded": tf.strings.unicode_encode(tf.ragged.constant([[72, 105], [9731]]), "UTF-8"),
    }
