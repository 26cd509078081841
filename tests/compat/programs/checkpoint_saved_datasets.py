"""Datasets kept on disk: cache in a file, save and load, snapshots, with counters of calls."""

import tensorflow as tf


def expensive(counter):
    def call(x):
        counter.append(int(x))
        return x.numpy() * 2 + 1

    return lambda x: tf.ensure_shape(tf.py_function(call, [x], tf.int64), [])


def results(folder):
    calls = []
    ds = tf.data.Dataset.range(5).map(expensive(calls))
    cached = ds.cache(str(folder / "cache"))
    first = [int(x) for x in cached]
    second = [int(x) for x in cached]
    in_memory_calls = []
    memory = tf.data.Dataset.range(4).map(expensive(in_memory_calls)).cache()
    epochs = [int(x) for x in memory.repeat(3)]

    pairs = tf.data.Dataset.from_tensor_slices(
        {"x": [[1.0, 2.0], [3.0, 4.0]], "name": ["a", "b"], "n": tf.constant([1, 2], tf.uint8)}
    )
    path = str(folder / "saved")
    pairs.save(path)
    loaded = tf.data.Dataset.load(path)
    tf.data.experimental.save(pairs.repeat(2), str(folder / "old"), compression="GZIP")
    old = tf.data.experimental.load(str(folder / "old"), compression="GZIP")
    snapped = tf.data.Dataset.range(6).snapshot(str(folder / "snap")).map(lambda x: x * x)
    lengths = tf.data.Dataset.range(1, 4).map(lambda n: tf.range(n))
    lengths.save(str(folder / "lengths"))
    return {
        "first": first,
        "second": second,
        "computed": sorted(set(calls)),
        "epochs": epochs,
        "calls in memory": sorted(in_memory_calls),
        "loaded": list(loaded),
        "spec": {key: (s.dtype.name, s.shape.as_list()) for key, s in loaded.element_spec.items()},
        "old": int(old.cardinality()),
        "names": [e["name"].numpy() for e in old],
        "snapshots": [[int(x) for x in snapped] for _ in range(2)],
        "lengths": list(tf.data.Dataset.load(str(folder / "lengths"))),
    }
