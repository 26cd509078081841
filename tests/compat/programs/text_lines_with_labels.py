"""Translations of one text in three files: labelled lines, joined, shuffled, encoded, split."""

import tensorflow as tf

BUFFER_SIZE = 50000
BATCH_SIZE = 4
VALIDATION_SIZE = 4
FILE_NAMES = ["cowper.txt", "derby.txt", "butler.txt"]


def write_files(folder):
    for i, name in enumerate(FILE_NAMES):
        lines = [f"{name[:2]} line {j} of the {'very ' * (j % 3)}old tale," for j in range(5)]
        end = "\r\n" if i == 1 else "\n"
        (folder / name).write_bytes(end.join([*lines, ""]).encode())


def labeler(example, index):
    return example, tf.cast(index, tf.int64)


def results(folder):
    write_files(folder)
    labeled_data_sets = []
    for i, file_name in enumerate(FILE_NAMES):
        lines_dataset = tf.data.TextLineDataset(str(folder / file_name))
        labeled_dataset = lines_dataset.map(lambda ex: labeler(ex, i))
        labeled_data_sets.append(labeled_dataset)
    all_labeled_data = labeled_data_sets[0]
    for labeled_dataset in labeled_data_sets[1:]:
        all_labeled_data = all_labeled_data.concatenate(labeled_dataset)
    shuffled = all_labeled_data.shuffle(BUFFER_SIZE, reshuffle_each_iteration=False)

    vocabulary_set = set()
    for text, _ in shuffled:
        vocabulary_set.update(text.numpy().split())
    vocab = sorted(vocabulary_set)
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(vocab, tf.range(2, len(vocab) + 2, dtype=tf.int64)), 1
    )

    def encode(text, label):
        return table.lookup(tf.strings.split(tf.strings.lower(text))), label

    def encode_map_fn(text, label):
        encoded_text, label = tf.py_function(encode, inp=[text, label], Tout=(tf.int64, tf.int64))
        encoded_text.set_shape([None])
        label.set_shape([])
        return encoded_text, label

    encoded = shuffled.map(encode_map_fn)
    train_data = encoded.skip(VALIDATION_SIZE).shuffle(BUFFER_SIZE)
    train_data = train_data.padded_batch(BATCH_SIZE)
    validation_data = encoded.take(VALIDATION_SIZE).padded_batch(BATCH_SIZE)
    labels = [int(y) for ds in (train_data, validation_data) for _, ys in ds for y in ys]
    ordered = list(all_labeled_data.map(encode).padded_batch(15))
    return {
        "lines": [text.numpy() for text, _ in all_labeled_data.take(7)],
        "labels": sorted(labels),
        "vocab": vocab,
        "ids": ordered[0][0],
        "ordered labels": ordered[0][1],
        "batches": [len(list(train_data)), len(list(validation_data))],
        "sum": int(sum(tf.reduce_sum(x) for ds in (train_data, validation_data) for x, _ in ds)),
        "filtered": len(
            list(
                all_labeled_data.filter(
                    lambda t, y: tf.strings.regex_full_match(t, ".*very very.*")
                )
            )
        ),
    }
