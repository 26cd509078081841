"""The cardinality of each stage, for every kind of input, compared with TensorFlow 2.21."""

import numpy as np
import pytest

import penstock as ps

Dataset = ps.Dataset
INF, N = ps.INFINITE_CARDINALITY, ps.UNKNOWN_CARDINALITY


def above_one(x):
    return x > 1


INPUTS = {
    "finite": lambda: Dataset.range(5),
    "empty": lambda: Dataset.range(0),
    "infinite": lambda: Dataset.range(5).repeat(),
    "unknown": lambda: Dataset.range(5).filter(above_one),
}

# TensorFlow's results of each stage for these four inputs.
STAGES = {
    "map": (lambda ds: ds.map(lambda x: x), (5, 0, INF, N)),
    "parallel map": (lambda ds: ds.map(lambda x: x, num_parallel_calls=2), (5, 0, INF, N)),
    "filter": (lambda ds: ds.filter(above_one), (N, N, N, N)),
    "flat_map": (lambda ds: ds.flat_map(lambda x: Dataset.range(2)), (N, N, N, N)),
    "interleave": (
        lambda ds: ds.interleave(lambda x: Dataset.range(2), cycle_length=2),
        (N, N, N, N),
    ),
    "batch": (lambda ds: ds.batch(2), (3, 0, INF, N)),
    "batch, drop_remainder": (lambda ds: ds.batch(2, drop_remainder=True), (2, 0, INF, N)),
    "padded_batch": (lambda ds: ds.padded_batch(2), (3, 0, INF, N)),
    "padded_batch, drop_remainder": (
        lambda ds: ds.padded_batch(2, drop_remainder=True),
        (2, 0, INF, N),
    ),
    "ragged_batch": (lambda ds: ds.ragged_batch(2), (3, 0, INF, N)),
    "batch, unbatch": (lambda ds: ds.batch(2).unbatch(), (N, N, INF, N)),
    "rebatch": (lambda ds: ds.batch(2).rebatch(3), (N, N, N, N)),
    "repeat": (lambda ds: ds.repeat(), (INF, 0, INF, INF)),
    "repeat(-1)": (lambda ds: ds.repeat(-1), (INF, 0, INF, INF)),
    "repeat(0)": (lambda ds: ds.repeat(0), (0, 0, 0, 0)),
    "repeat(3)": (lambda ds: ds.repeat(3), (15, 0, INF, N)),
    "take(-1)": (lambda ds: ds.take(-1), (5, 0, INF, N)),
    "take(0)": (lambda ds: ds.take(0), (0, 0, 0, N)),
    "take(3)": (lambda ds: ds.take(3), (3, 0, 3, N)),
    "take(9)": (lambda ds: ds.take(9), (5, 0, 9, N)),
    "skip(-1)": (lambda ds: ds.skip(-1), (0, 0, INF, N)),
    "skip(0)": (lambda ds: ds.skip(0), (5, 0, INF, N)),
    "skip(3)": (lambda ds: ds.skip(3), (2, 0, INF, N)),
    "skip(9)": (lambda ds: ds.skip(9), (0, 0, INF, N)),
    "shard(2, 0)": (lambda ds: ds.shard(2, 0), (3, 0, INF, N)),
    "shard(2, 1)": (lambda ds: ds.shard(2, 1), (2, 0, INF, N)),
    "concatenate a finite one": (lambda ds: ds.concatenate(Dataset.range(3)), (8, 3, INF, N)),
    "concatenate an infinite one": (
        lambda ds: ds.concatenate(Dataset.range(3).repeat()),
        (INF, INF, INF, INF),
    ),
    "concatenate an unknown one": (
        lambda ds: ds.concatenate(Dataset.range(3).filter(above_one)),
        (N, N, INF, N),
    ),
    "zip with a finite one": (lambda ds: Dataset.zip((ds, Dataset.range(3))), (3, 0, 3, N)),
    "zip with an infinite one": (
        lambda ds: Dataset.zip((ds, Dataset.range(3).repeat())),
        (5, 0, INF, N),
    ),
    "zip with an unknown one": (
        lambda ds: Dataset.zip((ds, Dataset.range(3).filter(above_one))),
        (N, N, N, N),
    ),
    "enumerate": (lambda ds: ds.enumerate(), (5, 0, INF, N)),
    "prefetch": (lambda ds: ds.prefetch(1), (5, 0, INF, N)),
    "cache": (lambda ds: ds.cache(), (5, 0, INF, N)),
    "shuffle": (lambda ds: ds.shuffle(3), (5, 0, INF, N)),
    "window": (lambda ds: ds.window(2), (3, 0, INF, N)),
    "window, shift 1": (lambda ds: ds.window(2, 1), (5, 0, INF, N)),
    "window, drop_remainder": (lambda ds: ds.window(2, 1, 2, True), (3, 0, INF, N)),
    "take_while": (lambda ds: ds.take_while(lambda x: x < 3), (N, N, N, N)),
    "unique": (lambda ds: ds.unique(), (N, N, N, N)),
    "scan": (lambda ds: ds.scan(np.int64(0), lambda s, x: (s + x, x)), (5, 0, INF, N)),
    "group_by_window": (
        lambda ds: ds.group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), 2),
        (N, N, INF, N),
    ),
    "bucket_by_sequence_length": (
        lambda ds: ds.bucket_by_sequence_length(lambda x: 1, [2], [2, 2]),
        (N, N, INF, N),
    ),
    "rejection_resample": (
        lambda ds: ds.rejection_resample(lambda x: x % 2, [0.5, 0.5]),
        (N, N, INF, N),
    ),
    "ignore_errors": (lambda ds: ds.ignore_errors(), (N, N, N, N)),
    "sample_from_datasets": (
        lambda ds: Dataset.sample_from_datasets([ds, Dataset.range(3)]),
        (N, N, INF, N),
    ),
    "sample_from_datasets, stop": (
        lambda ds: Dataset.sample_from_datasets([ds, Dataset.range(3)], stop_on_empty_dataset=True),
        (N, N, INF, N),
    ),
    "choose_from_datasets": (
        lambda ds: Dataset.choose_from_datasets([ds, Dataset.range(3)], Dataset.range(2)),
        (N, N, INF, N),
    ),
    "counter": (lambda ds: Dataset.counter(), (INF, INF, INF, INF)),
    "random": (lambda ds: Dataset.random(), (INF, INF, INF, INF)),
    "from_tensors": (lambda ds: Dataset.from_tensors(1), (1, 1, 1, 1)),
    "from_tensor_slices": (lambda ds: Dataset.from_tensor_slices([1, 2]), (2, 2, 2, 2)),
}

# Cases where penstock knows more than TensorFlow.
BETTER = {
    ("batch, unbatch", "empty"): 0,
    ("rebatch", "empty"): 0,
    ("rebatch", "infinite"): INF,
    ("skip(-1)", "infinite"): 0,
    ("skip(-1)", "unknown"): 0,
    # These are finite.
    ("sample_from_datasets, stop", "infinite"): N,
    ("choose_from_datasets", "infinite"): N,
}


@pytest.mark.parametrize("over", INPUTS)
@pytest.mark.parametrize("name", STAGES)
def test_the_cardinality_is_that_of_tensorflow(name, over):
    stage, wanted = STAGES[name]
    wanted = BETTER.get((name, over), wanted[list(INPUTS).index(over)])
    ds = stage(INPUTS[over]())
    assert ds.cardinality() == wanted
    if wanted >= 0:
        assert len(ds) == wanted == sum(1 for _ in ds)
    else:
        with pytest.raises(TypeError, match="infinite" if wanted == INF else "length"):
            len(ds)
    if wanted == INF:
        assert sum(1 for _ in ds.take(20)) == 20


def test_what_differs_is_known():
    for name, over in BETTER:
        assert BETTER[name, over] != STAGES[name][1][list(INPUTS).index(over)]


@pytest.mark.parametrize(
    ("remainder", "numbers"),
    [("drop", (2, 0, INF, N)), ("pad", (3, 0, INF, N)), ("repeat", (3, 0, INF, N))],
)
def test_even_shards_are_counted(remainder, numbers):
    for over, wanted in zip(INPUTS, numbers, strict=True):
        for index in range(2):
            ds = INPUTS[over]().shard_evenly(2, index, remainder)
            assert ds.cardinality() == wanted
            assert wanted < 0 or sum(1 for _ in ds) == wanted


def test_promised_and_padded_numbers_are_known():
    unknown = INPUTS["unknown"]()
    assert unknown.apply(ps.experimental.assert_cardinality(3)).cardinality() == 3
    endless = INPUTS["finite"]().apply(ps.experimental.assert_cardinality(INF))
    assert endless.cardinality() == INF
    padded = Dataset.range(5).map(lambda x: {"x": x}).apply(ps.experimental.pad_to_cardinality(7))
    assert padded.cardinality() == len(list(padded)) == 7


@pytest.mark.parametrize("over", INPUTS)
def test_packs_cannot_be_counted(over):
    packs = INPUTS[over]().map(lambda x: np.full(2, x)).pack(4)
    assert packs.cardinality() == (INF if over == "infinite" else N)
