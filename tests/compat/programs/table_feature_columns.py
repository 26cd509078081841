"""Rows of dicts, as from dataframes: buckets, hashes, crosses, manual embedding lookups."""

import numpy as np
import tensorflow as tf

PETS = {
    "Type": ["Cat", "Cat", "Dog", "Dog", "Cat", "Dog"],
    "Age": [3, 1, 1, 4, 1, 36],
    "Breed": ["Tabby", "Mixed", "Terrier", "Mixed", "Tabby", "Poodle"],
    "Fee": np.array([100.0, 0.0, 0.0, 150.0, 0.0, np.nan], np.float32),
    "target": [1, 1, 0, 1, 0, 0],
}


def df_to_dataset(frame, shuffle=True, batch_size=3):
    df = dict(frame)
    labels = df.pop("target")
    df = {key: np.array(value)[:, tf.newaxis] for key, value in df.items()}
    ds = tf.data.Dataset.from_tensor_slices((dict(df), labels))
    if shuffle:
        ds = ds.shuffle(buffer_size=len(labels))
    return ds.batch(batch_size).prefetch(batch_size)


def string_lookup(vocabulary):
    init = tf.lookup.KeyValueTensorInitializer(
        tf.constant(vocabulary), tf.range(1, len(vocabulary) + 1, dtype=tf.int64)
    )
    return tf.lookup.StaticHashTable(init, 0)


def results(folder):
    lookup = string_lookup(["Cat", "Dog"])
    embeddings = tf.reshape(tf.range(15, dtype=tf.float32), [5, 3]) / 10.0

    def transform(features, label):
        fee = tf.where(
            tf.math.is_nan(features["Fee"]), tf.zeros_like(features["Fee"]), features["Fee"]
        )
        age = tf.cast(features["Age"], tf.float32)
        buckets = tf.cast(age > 1, tf.int32) + tf.cast(age > 10, tf.int32)
        kind = tf.squeeze(tf.one_hot(lookup.lookup(features["Type"]), 3), axis=1)
        breed = tf.strings.to_hash_bucket_fast(features["Breed"], 5)
        crossed = tf.strings.join([features["Type"], features["Breed"]], separator="_X_")
        return {
            "dense": tf.concat([tf.math.log1p(age), fee / 100.0], axis=-1),
            "bucket": buckets,
            "type": kind,
            "breed": tf.reduce_mean(tf.gather(embeddings, breed), axis=1),
            "crossed": tf.strings.to_hash_bucket_fast(crossed, 10),
        }, tf.cast(label, tf.float32)

    ds = df_to_dataset(PETS, shuffle=False)
    transformed = ds.map(transform, num_parallel_calls=tf.data.AUTOTUNE)
    shuffled = df_to_dataset(PETS)
    features, labels = next(iter(transformed))
    ages = sorted(int(a) for batch, _ in shuffled for a in batch["Age"][:, 0])
    one_row = next(iter(ds.unbatch()))
    moments = tf.nn.moments(tf.concat([f["dense"] for f, _ in transformed], axis=0), axes=[0])
    return {
        "features": features,
        "labels": labels,
        "names": sorted(features),
        "ages": ages,
        "row": one_row,
        "moments": moments,
        "types": tf.nest.map_structure(lambda spec: spec.dtype.name, ds.element_spec),
        "flat": [x.shape.as_list() for x in tf.nest.flatten(features)],
        "percent": tf.linalg.norm(features["dense"], axis=1),
    }
