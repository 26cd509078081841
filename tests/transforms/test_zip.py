"""zip: tuples of elements, also after errors."""

from collections import namedtuple

import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps

Pair = namedtuple("Pair", "a b")
Range = ps.Dataset.range


class TestZip(DatasetContract):
    source = staticmethod(lambda: Range(9))
    apply = staticmethod(lambda ds: ps.Dataset.zip(ds, {"x": Range(10, 30), "y": (Range(7),)}))
    expected = [(i, {"x": 10 + i, "y": (i,)}) for i in range(7)]

    def expected_around_error(self):
        return [e for e in self.expected if e[0] != 4]


class TestZipOfOneSource(DatasetContract):
    source = staticmethod(lambda: Range(6).map(abs, num_parallel_calls=2))
    apply = staticmethod(lambda ds: ps.Dataset.zip(ds, ds.prefetch(1), ds.skip(1)))
    expected = [(i, i, i + 1) for i in range(5)]

    def expected_around_error(self):
        # Element 4 fails on the left, and then as the successor of 3: these pairs are missing.
        return [(i, i, i + 1) for i in range(3)]

    errors_upstream = 2


@pytest.mark.parametrize(
    ("zipped", "wanted"),
    [
        (lambda a, b: ps.Dataset.zip(a, b), (1, 2)),
        (lambda a, b: ps.Dataset.zip((a, b)), (1, 2)),
        (lambda a, b: ps.Dataset.zip([a, b]), (1, 2)),
        (lambda a, b: ps.Dataset.zip(datasets=(a, b)), (1, 2)),
        (lambda a, b: ps.Dataset.zip({"b": b, "a": a}), {"b": 2, "a": 1}),
        (lambda a, b: ps.Dataset.zip(Pair(a, b)), Pair(1, 2)),
        (lambda a, b: ps.Dataset.zip(a, (b, [a, {"k": b}])), (1, (2, (1, {"k": 2})))),
        (lambda a, b: ps.Dataset.zip(a), 1),
        (lambda a, b: ps.Dataset.zip((a,)), (1,)),
    ],
)
def test_any_nesting_can_be_zipped(zipped, wanted):
    def number(n):
        return ps.Dataset.from_tensors(n)

    came = list(zipped(number(1), number(2)))
    if isinstance(wanted, Pair):
        assert came == [wanted]
        assert type(came[0]) is Pair
    else:
        assert_same(came, [wanted])


def test_the_shortest_ends_it():
    ds = ps.Dataset.zip(Range(5), Range(3), Range(2).repeat())
    assert_same(list(ds), [(0, 0, 0), (1, 1, 1), (2, 2, 0)])
    assert ds.cardinality() == 3
    assert (
        ps.Dataset.zip(Range(2).repeat(), Range(2).repeat()).cardinality()
        == ps.INFINITE_CARDINALITY
    )
    assert ps.Dataset.zip(Range(2), Range(2).filter(bool)).cardinality() == ps.UNKNOWN_CARDINALITY


def test_all_move_on_behind_an_error():
    def fail(x):
        if x in (1, 3):
            raise Boom(f"{x}")
        return x

    failing = Range(5).map(fail)
    for zipped in (ps.Dataset.zip(failing, Range(5)), ps.Dataset.zip(Range(5), failing)):
        came = steps(iter(zipped))
        assert_same(came, [(0, 0), Failure("Boom", "1"), (2, 2), Failure("Boom", "3"), (4, 4)])


def test_two_errors_side_by_side_are_one_step():
    def fail(text):
        def function(x):
            raise Boom(text)

        return function

    ds = ps.Dataset.zip(Range(2).map(fail("left")), Range(2).map(fail("right")))
    assert steps(iter(ds)) == [Failure("Boom", "left")] * 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), TypeError),
        ((3,), TypeError),
        ((Range(2), 3), TypeError),
        (((),), ValueError),
        (({},), ValueError),
    ],
)
def test_what_is_no_dataset_is_refused(arguments, error):
    with pytest.raises(error, match="zip: "):
        ps.Dataset.zip(*arguments)


def test_the_spec_is_nested_as_the_datasets_are():
    spec = ps.TensorSpec((), "int64")
    assert ps.Dataset.zip({"x": Range(2), "y": (Range(2),)}).element_spec == {
        "x": spec,
        "y": (spec,),
    }


def test_a_state_saved_at_the_end_stays_there_whatever_the_longer_input_has():
    def refuse(x):
        if x == 1:
            raise Boom("element 1")
        return x

    ds = ps.Dataset.zip((ps.Dataset.range(3).map(refuse), ps.Dataset.range(0)))
    it = iter(ds)
    assert list(it) == []
    resumed = iter(ds)
    resumed.set_state(it.get_state())
    assert list(resumed) == []
