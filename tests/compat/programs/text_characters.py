"""Character-level input of a sequence model: ids, windows by batch, input and target."""

import tensorflow as tf

TEXT = """First Citizen:
Before we proceed any further, hear me speak.

All:
Speak, speak.
"""


def split_input_target(sequence):
    input_text = sequence[:-1]
    target_text = sequence[1:]
    return input_text, target_text


def results(folder):
    path = tf.io.gfile.join(str(folder), "shakespeare.txt")
    with open(path, "wb") as file:
        file.write(TEXT.encode())
    text = open(path, "rb").read().decode(encoding="utf-8")
    vocab = sorted(set(text))
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant(vocab), tf.range(len(vocab), dtype=tf.int64)
        ),
        default_value=0,
    )
    chars_of = tf.constant(vocab)

    def ids_from_chars(chars):
        return table.lookup(chars)

    def text_from_ids(ids):
        return tf.strings.reduce_join(tf.gather(chars_of, ids), axis=-1)

    all_ids = ids_from_chars(tf.strings.unicode_split(text, "UTF-8"))
    ids_dataset = tf.data.Dataset.from_tensor_slices(all_ids)
    seq_length = 10
    sequences = ids_dataset.batch(seq_length + 1, drop_remainder=True)
    dataset = sequences.map(split_input_target)
    batches = (
        dataset.shuffle(10000).batch(2, drop_remainder=True).prefetch(tf.data.experimental.AUTOTUNE)
    )
    example_input, example_target = next(iter(dataset))
    shifted = [bool(tf.reduce_all(x[:, 1:] == y[:, :-1])) for x, y in batches]
    windows = ids_dataset.window(seq_length, shift=4, stride=2, drop_remainder=True)
    windows = windows.flat_map(lambda w: w.batch(seq_length))
    return {
        "vocab": vocab,
        "ids": all_ids,
        "first": text_from_ids(example_input).numpy(),
        "target": text_from_ids(example_target).numpy().decode("utf-8"),
        "sequences": [text_from_ids(s).numpy() for s in sequences.take(3)],
        "batches": len(list(batches)),
        "spec": [spec.shape.as_list() for spec in batches.element_spec],
        "shifted": shifted,
        "windows": [text_from_ids(w) for w in windows],
        "upper": sum(
            c.isupper() for c in ids_dataset.map(chars_of.__getitem__).as_numpy_iterator()
        ),
    }
