"""Sentences with tags as SequenceExamples: context and steps, in batches and individually."""

import tensorflow as tf

SENTENCES = [
    ("anna sees bob", [1, 0, 1]),
    ("rain", [0]),
    ("the old man walks home slowly", [0, 0, 0, 0, 2, 0]),
]


def make_sequence_example(sentence, labels, number):
    words = sentence.split()
    ex = tf.train.SequenceExample()
    ex.context.feature["length"].int64_list.value.append(len(words))
    ex.context.feature["id"].bytes_list.value.append(b"s%d" % number)
    if number == 2:
        ex.context.feature["source"].bytes_list.value.append(b"book")
    fl_words = ex.feature_lists.feature_list["words"]
    fl_labels = ex.feature_lists.feature_list["labels"]
    fl_letters = ex.feature_lists.feature_list["letters"]
    for word, label in zip(words, labels):
        fl_words.feature.add().bytes_list.value.append(word.encode())
        fl_labels.feature.add().int64_list.value.append(label)
        fl_letters.feature.add().int64_list.value.extend(ord(c) for c in word[:3])
    return ex


CONTEXT = {
    "length": tf.io.FixedLenFeature([], dtype=tf.int64),
    "id": tf.io.FixedLenFeature([], dtype=tf.string),
    "source": tf.io.FixedLenFeature([], dtype=tf.string, default_value="web"),
}
STEPS = {
    "words": tf.io.FixedLenSequenceFeature([], dtype=tf.string),
    "labels": tf.io.FixedLenSequenceFeature([], dtype=tf.int64),
    "letters": tf.io.VarLenFeature(dtype=tf.int64),
}


def parse(serialized):
    context, steps = tf.io.parse_single_sequence_example(
        serialized, context_features=CONTEXT, sequence_features=STEPS
    )
    return {**context, "words": steps["words"], "labels": steps["labels"]}


def results(folder):
    path = str(folder / "tags.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i, (sentence, labels) in enumerate(SENTENCES):
            writer.write(make_sequence_example(sentence, labels, i).SerializeToString())
    records = tf.data.TFRecordDataset(path)
    single = records.map(parse)
    padded = single.padded_batch(3, padding_values=None)
    batched = records.batch(3).map(
        lambda batch: tf.io.parse_sequence_example(batch, CONTEXT, STEPS)
    )
    context, steps, lengths = next(iter(batched))
    ragged = records.batch(2).map(
        lambda batch: tf.io.parse_sequence_example(
            batch, sequence_features={"words": tf.io.RaggedFeature(tf.string)}
        )[1]["words"]
    )
    read = tf.train.SequenceExample.FromString(next(iter(records)).numpy())
    buckets = single.bucket_by_sequence_length(
        lambda e: tf.shape(e["words"])[0], bucket_boundaries=[4], bucket_batch_sizes=[2, 2]
    )
    tagged = single.map(
        lambda e: tf.strings.join([e["words"], tf.strings.as_string(e["labels"])], "/")
    )
    return {
        "single": list(single),
        "padded": next(iter(padded)),
        "context": context,
        "words": steps["words"],
        "letters": tf.sparse.to_dense(steps["letters"]),
        "lengths": lengths,
        "ragged": [r.to_list() for r in ragged],
        "read": [f.bytes_list.value[0] for f in read.feature_lists.feature_list["words"].feature],
        "read context": read.context.feature["length"].int64_list.value[0],
        "buckets": [e["labels"] for e in buckets],
        "tagged": list(tagged),
    }
