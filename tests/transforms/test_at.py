"""experimental.at: random access through the stages that support it."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract
from indexable import Rows

D = ps.Dataset
at = ps.experimental.at


def letters():
    return D.from_tensor_slices({"x": np.arange(12.0).reshape(6, 2), "s": list("abcdef")})


def noisy(x):
    return x, ps.random.uniform(())


def squares(x):
    return x * x


class TestAt(DatasetContract):
    """The underlying stage: a dataset of one element."""

    build = staticmethod(lambda: D.range(10).map(squares).batch(4)._then("at", index=2))
    expected = [np.array([64, 81])]


def squared_pair(letter, i):
    return letter["x"], i * i


PIPELINES = {
    "range": lambda: D.range(3, 20, 4),
    "from_tensors": lambda: D.from_tensors((1, "a")),
    "from_tensor_slices": letters,
    "from_indexable": lambda: D.from_indexable(Rows(7)),
    "parallel from_indexable": lambda: D.from_indexable(Rows(7), num_parallel_calls=2),
    "map": lambda: D.range(5).map(squares),
    "parallel map": lambda: D.range(5).map(squares, num_parallel_calls=2),
    "native map": lambda: D.range(5).map(ps.native(squares)),
    "map of dicts": lambda: letters().map(lambda e: (e["s"], e["x"])),
    "batch": lambda: D.range(10).batch(4),
    "batch of pairs": lambda: letters().enumerate().batch(4),
    "batch without the rest": lambda: D.range(10).batch(4, drop_remainder=True),
    "batch of batches": lambda: D.range(24).batch(4).batch(2),
    "endless batch": lambda: D.range(5).repeat().batch(3).take(6),
    "shard": lambda: D.range(10).shard(3, 1),
    "zip": lambda: D.zip((D.range(5), {"a": letters()})),
    "zip of one": lambda: D.zip(D.range(5)),
    "skip": lambda: D.range(9).skip(4),
    "skip nothing": lambda: D.range(9).skip(0),
    "take": lambda: D.range(9).take(4),
    "take all": lambda: D.range(9).take(-1),
    "repeat": lambda: D.range(4).repeat(3),
    "concatenate": lambda: D.range(3).concatenate(D.range(0)).concatenate(D.range(7, 9)),
    "enumerate": lambda: letters().enumerate(start=5),
    "unbatch": lambda: D.range(12).batch(4).unbatch(),
    "unbatch of pairs": lambda: D.zip((letters(), D.range(6))).batch(3).unbatch().map(squared_pair),
    "prefetch": lambda: D.range(5).prefetch(2),
    "cache": lambda: letters().cache(),
    "shuffle": lambda: D.range(40).shuffle(7, seed=3),
    "fixed shuffle": lambda: letters().shuffle(4, seed=3, reshuffle_each_iteration=False),
    "shuffle of what is mapped": lambda: D.range(20).map(squares).shuffle(20, seed=1),
    "epochs of shuffles": lambda: D.range(9).shuffle(5, seed=3).repeat(3).batch(2),
    "assert_cardinality": lambda: D.range(4).apply(ps.experimental.assert_cardinality(4)),
    "many": lambda: (
        D.zip((D.range(30).shuffle(9, seed=2), D.range(30).map(squares)))
        .skip(2)
        .shard(2, 1)
        .repeat(2)
        .enumerate()
        .batch(3)
        .prefetch(1)
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_each_element_is_what_iterating_gives(name):
    make = PIPELINES[name]
    ds = make()
    assert_same([at(ds, i) for i in range(len(ds))], list(make()))
    for bad in (len(ds), len(ds) + 100, -1, -len(ds)):
        with pytest.raises(IndexError, match=rf"at: index must be in \[0, {len(ds)}\), got {bad}"):
            at(ds, bad)


def test_a_cache_that_is_complete_answers_itself():
    rows = Rows(5)
    whole = D.from_indexable(rows)
    for ds in (whole.cache(), whole.map(lambda x, number, text: number).cache()):
        rows.asked.clear()
        at(ds, 3)
        assert rows.asked == [3]
        wanted = list(ds)
        rows.asked.clear()
        assert_same([at(ds, i) for i in (4, 0, 3, 2, 1)], [wanted[i] for i in (4, 0, 3, 2, 1)])
        assert rows.asked == []


def test_nothing_but_the_element_is_computed():
    rows = Rows(100)
    ds = D.from_indexable(rows).shard(2, 1).skip(10).batch(3)
    at(ds, 4)
    assert rows.asked == [45, 47, 49]


def test_endless_data_has_every_element():
    assert at(D.range(5).repeat(), 10**12 + 3) == 3
    with pytest.raises(IndexError):
        at(D.range(5).repeat(), -1)


@pytest.mark.parametrize("ds", [D.range(0), D.range(5).skip(-1), D.range(3).repeat(0)])
def test_empty_data_has_none(ds):
    with pytest.raises(IndexError, match=r"\[0, 0\), got 0"):
        at(ds, 0)


@pytest.mark.parametrize(
    ("make", "stage"),
    [
        (lambda: D.range(5).filter(lambda x: x > 2), "filter"),
        (lambda: D.range(5).batch(2).unbatch(), "unbatch"),
        (lambda: D.range(5).batch(2).rebatch(3), "unbatch"),
        (lambda: D.range(5).filter(lambda x: x > 2).batch(2).cache(), "filter"),
        (lambda: D.range(5).interleave(D.range), "interleave"),
        (lambda: D.from_generator(lambda: [1, 2]), "from_generator"),
        (lambda: D.zip((D.range(5), D.from_generator(lambda: [1]))), "from_generator"),
        (lambda: ps.TextLineDataset("nowhere").take(3), "text_line"),
    ],
)
def test_a_stage_without_random_access_is_named(make, stage):
    with pytest.raises(TypeError, match=rf"at: every stage must have random access, {stage} has"):
        at(make(), 0)


@pytest.mark.parametrize("bad", [1.5, "1", None])
def test_an_index_is_an_int(bad):
    with pytest.raises(TypeError):
        at(D.range(5), bad)
    assert at(D.range(5), np.int16(3)) == 3


def test_an_element_that_fails_raises_its_error():
    ds = D.from_indexable(Rows(6, bad=[4])).batch(2)
    with pytest.raises(Boom, match="row 4"):
        at(ds, 2)
    assert_same(at(ds, 1)[1], np.array([2, 3]))
    mixed = D.from_indexable([np.zeros(2), np.zeros(3)]).batch(2)
    with pytest.raises(ValueError, match="batch: element 1"):
        at(mixed, 0)


def test_looking_changes_no_run():
    ds = D.range(20).shuffle(20, seed=4)
    before = [int(at(ds, i)) for i in range(20)]
    first, second = [int(x) for x in ds], [int(x) for x in ds]
    assert before == first != second
    assert [int(at(ds, i)) for i in range(20)] == before


def test_a_shuffle_without_a_seed_has_one_order():
    ds = D.range(50).shuffle(50)
    came = [int(at(ds, i)) for i in range(50)]
    assert sorted(came) == list(range(50))
    assert [int(at(ds, i)) for i in range(50)] == came


def test_random_numbers_are_the_same_each_time_and_others_in_each_epoch():
    ds = D.range(5).map(noisy).repeat(2)
    came = [at(ds, i) for i in range(10)]
    assert_same([at(ds, i) for i in range(10)], came)
    assert len({float(noise) for _, noise in came}) == 10


def test_cardinality_and_structure_are_those_of_the_dataset():
    ds = D.range(10).batch(4)
    assert ps.experimental.cardinality(ds) == 3
    assert ps.experimental.cardinality(D.range(3).filter(bool)) == ps.UNKNOWN_CARDINALITY
    assert ps.experimental.get_structure(ds) == ds.element_spec
    with pytest.raises(TypeError, match="dataset_or_iterator: a Dataset or Iterator was expected"):
        ps.experimental.get_structure([1])
