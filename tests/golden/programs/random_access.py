"""Elements by their positions."""

import numpy as np

from programs import case

NOT_THERE = "a position that does not exist raises IndexError"
MORE = "`enumerate` and infinite `repeat()` also have random access"


def at(tf, ds, *positions):
    """Return a dataset of the elements of `ds` at these positions, concatenated."""
    found = [tf.data.experimental.at(ds, i) for i in positions]
    chosen = tf.data.Dataset.from_tensors(found[0])
    for element in found[1:]:
        chosen = chosen.concatenate(tf.data.Dataset.from_tensors(element))
    return chosen


def digits(tf):
    return tf.data.Dataset.range(10)


def squares(tf):
    return digits(tf).map(lambda x: x * x)


@case()
def at_range(tf):
    return at(tf, digits(tf), 0, 9, 4)


@case(differs=NOT_THERE)
def at_below_the_first(tf):
    return at(tf, digits(tf), -1)


@case(differs=NOT_THERE)
def at_behind_the_last(tf):
    return at(tf, digits(tf), 10)


@case()
def at_slices(tf):
    rows = {"x": np.arange(6).reshape(3, 2), "y": np.array([b"a", b"b", b"c"], object)}
    return at(tf, tf.data.Dataset.from_tensor_slices(rows), 2, 0)


@case()
def at_tensors(tf):
    return at(tf, tf.data.Dataset.from_tensors(np.arange(3)), 0)


@case()
def at_map(tf):
    return at(tf, squares(tf), 3, 7)


@case()
def at_batch(tf):
    return at(tf, digits(tf).batch(4), 0, 1, 2)


@case(differs=NOT_THERE)
def at_batch_without_the_rest(tf):
    return at(tf, digits(tf).batch(4, drop_remainder=True), 2)


@case()
def at_shard(tf):
    return at(tf, squares(tf).shard(3, 1), 0, 1, 2)


@case()
def at_zip(tf):
    return at(tf, tf.data.Dataset.zip((digits(tf), squares(tf).skip(2))), 0, 7)


@case(differs=NOT_THERE)
def at_behind_the_shorter(tf):
    return at(tf, tf.data.Dataset.zip((digits(tf), squares(tf).skip(2))), 8)


@case()
def at_skip(tf):
    return at(tf, squares(tf).skip(4), 0, 5)


@case(differs=NOT_THERE)
def at_skip_all(tf):
    return at(tf, digits(tf).skip(-1), 0)


@case()
def at_take(tf):
    return at(tf, squares(tf).take(4), 3)


@case()
def at_take_all(tf):
    return at(tf, squares(tf).take(-1), 9)


@case()
def at_repeat(tf):
    return at(tf, squares(tf).repeat(2), 13)


@case()
def at_concatenate(tf):
    return at(tf, digits(tf).concatenate(squares(tf)), 9, 10, 13)


@case()
def at_prefetch(tf):
    return at(tf, squares(tf).prefetch(2), 5)


@case()
def at_cache(tf):
    return at(tf, squares(tf).cache(), 5, 2)


@case()
def at_filter(tf):
    return at(tf, digits(tf).filter(lambda x: x > 2), 0)


@case()
def at_interleave(tf):
    return at(tf, digits(tf).interleave(lambda x: tf.data.Dataset.range(2)), 0)


@case(differs=NOT_THERE)
def at_nothing(tf):
    return at(tf, tf.data.Dataset.range(0), 0)


@case(differs=MORE)
def at_enumerate(tf):
    return at(tf, squares(tf).enumerate(), 5)


@case(differs=MORE)
def at_repeat_for_ever(tf):
    return at(tf, squares(tf).repeat(), 113)
