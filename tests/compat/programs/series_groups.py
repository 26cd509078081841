"""Events of several users: grouped into windows by key, reduced by key, sessions by gaps."""

import numpy as np
import tensorflow as tf


def events():
    rng = np.random.default_rng(12)
    users = rng.integers(0, 3, 20)
    times = np.cumsum(rng.integers(1, 30, 20))
    amounts = rng.integers(1, 100, 20).astype(np.float32)
    return {"user": users, "time": times, "amount": amounts}


def grouped(ds, size):
    return ds.group_by_window(
        key_func=lambda e: e["user"],
        reduce_func=lambda user, window: (
            window.map(lambda e: e["amount"])
            .padded_batch(size, padded_shapes=[], drop_remainder=False)
            .map(lambda amounts: (user, amounts))
        ),
        window_size=size,
    )


def mean_reducer():
    return tf.data.experimental.Reducer(
        init_func=lambda key: (0.0, 0.0),
        reduce_func=lambda state, e: (state[0] + e["amount"], state[1] + 1.0),
        finalize_func=lambda total, count: total / count,
    )


def sessions(state, event):
    last, number = state
    number = tf.where(event["time"] - last > 20, number + 1, number)
    return (event["time"], number), {**event, "session": number}


def results(folder):
    ds = tf.data.Dataset.from_tensor_slices(events())
    means = ds.apply(
        tf.data.experimental.group_by_reducer(
            lambda e: tf.cast(e["user"], tf.int64), mean_reducer()
        )
    )
    by_session = ds.scan((np.int64(0), np.int64(0)), sessions)
    lengths = by_session.group_by_window(
        lambda e: e["session"], lambda key, w: w.batch(100), window_size=100
    ).map(lambda e: (e["session"][0], tf.shape(e["time"])[0], tf.reduce_sum(e["amount"])))
    dynamic = tf.data.Dataset.range(12).group_by_window(
        key_func=lambda x: x % 2,
        reduce_func=lambda key, window: window.batch(10),
        window_size_func=lambda key: key + 2,
    )
    wide = ds.batch(20).map(
        lambda e: tf.math.unsorted_segment_sum(e["amount"], e["user"], num_segments=3)
    )
    bucketed = ds.map(lambda e: tf.range(e["user"] + 1)).bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [2, 3], [4, 4, 4], drop_remainder=True
    )
    return {
        "grouped": list(grouped(ds, 4)),
        "means": [float(m) for m in means],
        "sessions": list(lengths.as_numpy_iterator()),
        "dynamic": [x.numpy().tolist() for x in dynamic],
        "totals": next(iter(wide)),
        "bucketed": [x.shape.as_list() for x in bucketed],
        "ordered": tf.argsort(events()["amount"], direction="DESCENDING", stable=True)[:5],
    }
