"""TensorFlow 1 with eager execution: datasets in for loops, contrib-like names, py_func."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.enable_eager_execution()


def load(index):
    rng = np.random.RandomState(int(index))
    return rng.uniform(size=(4,)).astype(np.float32), np.int64(index % 2)


def results(folder):
    ds = tf.data.Dataset.range(6)
    ds = ds.map(lambda i: tuple(tf.py_func(load, [i], [tf.float32, tf.int64])))
    ds = ds.map(lambda x, y: (tf.reshape(x, [2, 2]), y))
    features, labels = [], []
    for x, y in ds.batch(4):
        features.append(tf.reduce_mean(x, axis=[1, 2]))
        labels.extend(y.numpy().tolist())
    counted = ds.apply(tf.data.experimental.enumerate_dataset(start=5))
    evens = ds.filter(lambda x, y: tf.equal(y, 0)).map(lambda x, y: tf.trace(x))
    a = tf.constant([[3, 4], [6, 8]])
    total = tf.Variable(0.0)
    for x, _ in ds:
        total.assign_add(tf.reduce_sum(x))
    return {
        "features": features,
        "labels": labels,
        "numbers": [int(i) for i, _ in counted],
        "traces": [t.numpy() for t in evens],
        "division": tf.div(a, 2),
        "norm": tf.sqrt(
            tf.reduce_sum(tf.square(tf.to_float(a)), reduction_indices=1, keep_dims=True)
        ),
        "total": total.numpy(),
        "types": [str(t.name) for t in tf.data.get_output_types(ds)],
    }
