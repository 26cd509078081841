"""Feature tables as Examples: batch parsing, defaults, varying lengths, vectors."""

import numpy as np
import tensorflow as tf


def _bytes_feature(value):
    if isinstance(value, type(tf.constant(0))):
        value = value.numpy()  # BytesList won't unpack a string from an EagerTensor.
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def serialize_example(feature0, feature1, feature2, feature3, tags):
    feature = {
        "feature0": tf.train.Feature(int64_list=tf.train.Int64List(value=[feature0])),
        "feature1": tf.train.Feature(int64_list=tf.train.Int64List(value=[feature1])),
        "feature2": _bytes_feature(feature2),
        "feature3": tf.train.Feature(float_list=tf.train.FloatList(value=feature3)),
    }
    if tags:
        feature["tags"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=tags))
    example_proto = tf.train.Example(features=tf.train.Features(feature=feature))
    return example_proto.SerializeToString()


def tf_serialize_example(f0, f1, f2, f3):
    tf_string = tf.py_function(
        lambda *f: serialize_example(*f, [b"t"]), (f0, f1, f2, tf.reshape(f3, [1])), tf.string
    )
    return tf.reshape(tf_string, ())


FEATURES = {
    "feature0": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "feature1": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "feature2": tf.io.FixedLenFeature([], tf.string, default_value=""),
    "feature3": tf.io.FixedLenFeature([2], tf.float32),
    "missing": tf.io.FixedLenFeature([1], tf.float32, default_value=[7.5]),
    "tags": tf.io.VarLenFeature(tf.string),
}


def results(folder):
    rng = np.random.default_rng(10)
    path = str(folder / "table.tfrecord")
    strings = np.array([b"cat", b"dog", b"chicken", b"horse", b"goat"])
    with tf.io.TFRecordWriter(path, options="GZIP") as writer:
        for i in range(5):
            values = rng.normal(size=2).round(3).tolist()
            tags = [b"a", b"b", b"c"][: i % 4]
            writer.write(serialize_example(i % 2, i, strings[i], values, tags))
    ds = tf.data.TFRecordDataset([path], compression_type="GZIP")
    parsed = ds.batch(3).map(lambda batch: tf.io.parse_example(batch, FEATURES))
    single = ds.map(lambda record: tf.io.parse_single_example(record, FEATURES))
    ragged = ds.batch(5).map(
        lambda b: tf.io.parse_example(b, {"tags": tf.io.RaggedFeature(tf.string)})["tags"]
    )
    dense = parsed.map(lambda f: tf.sparse.to_dense(f["tags"], default_value=b"-"))
    columns = ds.apply(tf.data.experimental.dense_to_ragged_batch(2)).take(1)
    batched = tf.data.experimental.make_batched_features_dataset(
        file_pattern=path,
        batch_size=2,
        features={"feature1": FEATURES["feature1"], "feature2": FEATURES["feature2"]},
        reader=lambda files: tf.data.TFRecordDataset(files, compression_type="GZIP"),
        label_key="feature1",
        num_epochs=1,
        shuffle=False,
    )
    features_dataset = tf.data.Dataset.from_tensor_slices(
        (np.array([1, 0]), [4, 5], [b"x", b"y"], [0.5, 1.5])
    )
    serialized = features_dataset.map(tf_serialize_example)
    back = [tf.train.Example.FromString(raw.numpy()) for raw in serialized]
    first = next(iter(parsed))
    return {
        "first": {name: value for name, value in first.items() if name != "tags"},
        "tags": first["tags"],
        "dense": list(dense),
        "ragged": next(iter(ragged)),
        "single": [(f["feature2"], f["tags"].values) for f in single],
        "batched": [(f["feature2"], y) for f, y in batched],
        "records": [len(r) for r in columns],
        "back": [
            (
                list(b.features.feature["feature1"].int64_list.value),
                list(b.features.feature["feature3"].float_list.value),
                b.features.feature["feature2"].bytes_list.value[0],
                sorted(b.features.feature),
            )
            for b in back
        ],
        "order": list(first),
    }
