"""Pipelines of many kinds, for tests that compare workers with a single process."""

import numpy as np

import penstock as ps


def draw(x):
    return x, ps.random.uniform((2,))


def rows(n):
    for i in range(n):
        yield np.full(i % 3, i)


PIPELINES = {
    "range": lambda: ps.Dataset.range(37),
    "map": lambda: ps.Dataset.range(37).map(draw),
    "parallel_map": lambda: ps.Dataset.range(37).map(draw, num_parallel_calls=3),
    "batch": lambda: ps.Dataset.range(37).map(draw).batch(4).prefetch(2),
    "batch_whole": lambda: ps.Dataset.range(37).map(draw).batch(4, drop_remainder=True),
    "parallel_batch": lambda: ps.Dataset.range(37).map(draw).batch(4, num_parallel_calls=2),
    "batch_of_sizes": lambda: ps.Dataset.range(37).batch(9).rebatch([2, 3]),
    "shuffle": lambda: ps.Dataset.range(37).shuffle(9).map(draw).batch(3),
    "shuffle_after": lambda: ps.Dataset.range(37).map(draw).shuffle(9).batch(3),
    "global_shuffle": lambda: ps.Dataset.range(37).global_shuffle().map(draw).batch(3),
    "repeat": lambda: ps.Dataset.range(11).shuffle(5).map(draw).batch(3).repeat(4),
    "repeat_before": lambda: ps.Dataset.range(11).shuffle(5).repeat(4).map(draw).batch(3),
    "take": lambda: ps.Dataset.range(99).map(draw).batch(2).take(13),
    "skip": lambda: ps.Dataset.range(37).map(draw).skip(5).batch(2),
    "enumerate": lambda: ps.Dataset.range(37).map(draw).enumerate().batch(2),
    "zip": lambda: ps.Dataset.zip(
        (ps.Dataset.range(37).map(draw), ps.Dataset.range(30).shuffle(4), ps.Dataset.range(40))
    ),
    "filter": lambda: ps.Dataset.range(60).filter(lambda x: x % 3 == 0).map(draw).batch(2),
    "parallel_filter": lambda: ps.Dataset.range(60).filter(
        lambda x: x % 3 == 0, num_parallel_calls=2
    ),
    "flat_map": lambda: ps.Dataset.range(9).flat_map(lambda n: ps.Dataset.range(n)).map(draw),
    "interleave": lambda: ps.Dataset.range(9).interleave(
        lambda n: ps.Dataset.range(n).map(draw), cycle_length=3, num_parallel_calls=2
    ),
    "generator": lambda: ps.Dataset.from_generator(lambda: rows(30)).padded_batch(4),
    "slices": lambda: ps.Dataset.from_tensor_slices({"a": np.arange(37), "b": np.eye(37)}).batch(5),
    "indexable": lambda: ps.Dataset.from_indexable([{"a": i} for i in range(37)]).shuffle(9),
    "unbatch": lambda: ps.Dataset.range(37).batch(5).map(lambda x: x * 2).unbatch(),
    "scan": lambda: ps.Dataset.range(37).scan(np.int64(0), lambda s, x: (s + x, s)),
    "cache": lambda: ps.Dataset.range(13).map(draw).cache().repeat(3).batch(2),
    "concatenate": lambda: ps.Dataset.range(9).map(draw).concatenate(ps.Dataset.range(7).map(draw)),
    "mix": lambda: ps.Dataset.sample_from_datasets(
        [ps.Dataset.range(20).map(draw), ps.Dataset.range(20).map(draw)], [0.3, 0.7], seed=4
    ),
    "strings": lambda: ps.Dataset.from_tensor_slices([f"n{i}" for i in range(37)]).batch(3),
    "skips_errors": lambda: (
        ps.Dataset.range(37).map(lambda x: 1 // (int(x) % 5) + x, on_error="skip").batch(4)
    ),
    "empty": lambda: ps.Dataset.range(0).map(draw),
}


def shown(value):
    """Return an element in a comparable form."""
    if isinstance(value, dict):
        return {key: shown(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(shown(each) for each in value)
    return np.asarray(value).tolist()


def one_process(ds, state):
    """Return the remaining elements of an iterator restored from a state."""
    it = iter(ds)
    it.set_state(state)
    return [shown(each) for each in it]
