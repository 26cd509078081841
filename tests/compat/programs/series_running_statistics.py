"""Running means, cumulative sums and differences with scan, until a condition ends them."""

import numpy as np
import tensorflow as tf


def running_mean(state, value):
    count, mean = state
    count += 1.0
    mean += (value - mean) / count
    return (count, mean), mean


def exponential(alpha):
    def step(state, value):
        smoothed = tf.cond(
            tf.math.is_nan(state), lambda: value, lambda: alpha * value + (1 - alpha) * state
        )
        return smoothed, smoothed

    return step


def difference(previous, value):
    return value, {"value": value, "change": value - previous}


def fifo(buffer, value):
    buffer = tf.concat([buffer[1:], [value]], axis=0)
    return buffer, tf.reduce_mean(buffer)


def rescale(x, minimum, maximum):
    return (x - minimum) / (maximum - minimum)


def results(folder):
    values = np.array([3.0, 5.0, 4.0, 8.0, 9.0, 2.0, 7.5], np.float32)
    ds = tf.data.Dataset.from_tensor_slices(values)
    means = ds.scan((0.0, 0.0), running_mean)
    smooth = ds.apply(tf.data.experimental.scan(tf.constant(np.nan), exponential(0.5)))
    changes = ds.scan(initial_state=tf.constant(0.0), scan_func=difference)
    moving = ds.scan(tf.zeros([3]), fifo)
    limited = means.take_while(lambda mean: mean < 5.5)
    minimum, maximum = ds.reduce(
        (tf.float32.max, tf.float32.min),
        lambda state, x: (tf.minimum(state[0], x), tf.maximum(state[1], x)),
    )
    positions = tf.data.Dataset.counter(start=2, step=3).take(7)
    stamped = tf.data.Dataset.zip((positions, ds)).filter(lambda t, x: x > 4.0)
    fibonacci = tf.data.Dataset.counter().scan(
        (np.int64(0), np.int64(1)), lambda s, _: ((s[1], s[0] + s[1]), s[0])
    )
    unique = tf.data.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()
    gathered = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i, x in enumerate(ds):
        gathered = gathered.write(i, x * 2)
    return {
        "means": [m.numpy() for m in means],
        "smooth": list(smooth),
        "changes": list(changes.as_numpy_iterator()),
        "moving": tf.stack(list(moving)),
        "limited": len(list(limited)),
        "range": (minimum, maximum),
        "rescaled": [rescale(x, minimum, maximum) for x in ds],
        "stamped": [(int(t), float(x)) for t, x in stamped],
        "fibonacci": [int(x) for x in fibonacci.take(10)],
        "fibonacci sum": fibonacci.take_while(lambda x: x < 100).reduce(
            np.int64(0), lambda a, b: a + b
        ),
        "unique": [int(x) for x in unique],
        "gathered": gathered.stack(),
        "cumulative": tf.cumsum(values, exclusive=True),
    }
