"""Windows of a long series: batches as windows, window and flat_map, features and labels, trees."""

import numpy as np
import tensorflow as tf


def make_window_dataset(ds, window_size=5, shift=1, stride=1):
    windows = ds.window(window_size, shift=shift, stride=stride)

    def sub_to_batch(sub):
        return sub.batch(window_size, drop_remainder=True)

    return windows.flat_map(sub_to_batch)


def dense_1_step(batch):
    return batch[:-1], batch[1:]


def label_next_5_steps(batch):
    return batch[:-5], batch[-5:]


def windowed_dataset(series, window_size, batch_size, shuffle_buffer):
    series = tf.expand_dims(series, axis=-1)
    ds = tf.data.Dataset.from_tensor_slices(series)
    ds = ds.window(window_size + 1, shift=1, drop_remainder=True)
    ds = ds.flat_map(lambda w: w.batch(window_size + 1))
    ds = ds.shuffle(shuffle_buffer)
    ds = ds.map(lambda w: (w[:-1], w[1:]))
    return ds.batch(batch_size).prefetch(1)


def results(folder):
    range_ds = tf.data.Dataset.range(100)
    batches = range_ds.batch(10, drop_remainder=True)
    steps = [(x.numpy(), y.numpy()) for x, y in batches.map(dense_1_step).take(3)]
    feature_length, label_length = 10, 3
    features = range_ds.batch(feature_length, drop_remainder=True)
    labels = range_ds.batch(feature_length).skip(1).map(lambda labels: labels[:label_length])
    predicted_steps = tf.data.Dataset.zip((features, labels))
    named = tf.data.Dataset.from_tensor_slices({"t": np.arange(6), "x": np.arange(6) ** 2})
    trees = named.window(3, shift=2).flat_map(
        lambda w: tf.data.Dataset.zip((w["t"].batch(3), w["x"].batch(3)))
    )
    sizes = range_ds.window(30, shift=40).map(lambda w: w.reduce(np.int64(0), lambda n, _: n + 1))
    sums = [int(sum(x.numpy() for x in w)) for w in range_ds.window(25)]
    t = np.arange(40, dtype=np.float32)
    series = np.sin(t / 4) + 0.1 * t
    trained = windowed_dataset(series, 8, 4, 100)
    seen = np.concatenate([x.numpy()[:, 0, 0] for x, _ in trained])
    return {
        "windows": [w.numpy() for w in make_window_dataset(range_ds, 10, 5, 3).take(4)],
        "steps": steps,
        "five": next(iter(range_ds.batch(15, drop_remainder=True).map(label_next_5_steps))),
        "predicted": [(x.numpy(), y.numpy()) for x, y in predicted_steps.take(2)],
        "trees": [(t, x) for t, x in trees],
        "sizes": list(sizes.as_numpy_iterator()),
        "sums": sums,
        "shapes": [(x.shape.as_list(), y.shape.as_list()) for x, y in trained],
        "starts": np.sort(seen),
        "types": [spec.dtype.name for spec in trained.element_spec],
    }
