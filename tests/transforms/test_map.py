"""map, in the consumer's thread: arguments, results and errors of the function."""

from collections import namedtuple

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps

Pair = namedtuple("Pair", "left right")


def numbers():
    return ps.Dataset.range(12)


def square(x):
    return x * x


def describe(x):
    return {"x": np.full(2, x, np.float32), "name": f"n{x}"}, None


class TestMap(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.map(square))
    expected = [x * x for x in range(12)]


class TestMapToStructures(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.map(describe))
    expected = [describe(x) for x in range(12)]


class TestMapWithSignature(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.map(square, output_signature=ps.TensorSpec((), np.float32)))
    expected = [np.float32(x * x) for x in range(12)]


CALLS = [None, 2]


@pytest.mark.parametrize("calls", CALLS)
def test_an_exact_tuple_becomes_arguments_and_nothing_else_does(calls):
    seen = []

    def note(*args):
        seen.append(args)
        return 0

    for element in ((1, 2), (3,), Pair(1, 2), {"a": 1}, "s", (1, (2, 3)), ({"a": 1}, "b")):
        seen.clear()
        list(ps.Dataset.from_tensors(element).map(note, num_parallel_calls=calls))
        assert_same(seen, [element if type(element) is tuple else (element,)])


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize(
    ("returned", "wanted"),
    [
        ([1, "a"], (1, "a")),
        ([], ()),
        (([1, 2], [[3.0]]), (np.array([1, 2]), np.array([[3.0]]))),
        ({"a": [1, 2]}, {"a": np.array([1, 2])}),
        (None, None),
        ((), ()),
        ((None, (), {}), (None, (), {})),
        (True, np.True_),
        (1 + 2j, np.complex128(1 + 2j)),
        (np.float16(2), np.float16(2)),
        (np.array(5), np.int64(5)),
        (Pair(1, "x"), Pair(np.int64(1), "x")),
        (["a", "b"], ("a", "b")),
        ((["a", "b"],), (np.array(["a", "b"], dtype=object),)),
    ],
)
def test_results_come_as_numpy_values(calls, returned, wanted):
    ds = ps.Dataset.range(3).map(lambda x: returned, num_parallel_calls=calls)
    assert_same(list(ds), [wanted] * 3)


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("big", [2**63, -(2**63) - 1, 2**64, 2**100])
def test_integers_beyond_64_bits_keep_their_value(calls, big):
    came = list(ps.Dataset.range(2).map(lambda x: big, num_parallel_calls=calls))
    assert [int(x) for x in came] == [big, big]


@pytest.mark.parametrize("calls", CALLS)
def test_a_failing_call_is_raised_as_itself_with_a_note(calls):
    def fail(x):
        if x == 2:
            raise Boom("two")
        return x

    it = iter(ps.Dataset.range(4).map(fail, num_parallel_calls=calls))
    assert [next(it), next(it)] == [0, 1]
    with pytest.raises(Boom, match="two") as error:
        next(it)
    assert error.traceback[-1].name == "fail"
    assert len(error.traceback) <= 3
    (note,) = error.value.__notes__
    assert note.startswith("penstock: in stage map(fail), element 2 (2)")
    assert steps(it) == [3]


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("error", [StopIteration, GeneratorExit])
def test_an_exception_that_would_end_the_data_does_not(calls, error):
    def fail(x):
        if x == 1:
            raise error("early")
        return x

    came = steps(iter(ps.Dataset.range(3).map(fail, num_parallel_calls=calls)))
    assert [came[0], came[2]] == [0, 2]
    assert came[1].kind == "RuntimeError"
    assert error.__name__ in came[1].text


@pytest.mark.parametrize("calls", CALLS)
def test_a_result_that_does_not_match_the_signature_is_shown(calls):
    spec = ps.TensorSpec((2,), np.float32)
    values = [[1, 2], [1, 2, 3], "no", [3, 4]]
    ds = ps.Dataset.range(4).map(
        lambda x: (values[x],), num_parallel_calls=calls, output_signature=(spec,)
    )
    came = steps(iter(ds))
    assert_same([came[0], came[3]], [(np.array(values[i], np.float32),) for i in (0, 3)])
    assert [f.kind for f in came[1:3]] == ["TypeError"] * 2
    assert "[1, 2, 3]" in came[1].text
    assert "'no'" in came[2].text


def test_the_spec_of_a_plain_function_is_found_by_one_call():
    calls = []
    ds = ps.Dataset.range(5).map(lambda x: (calls.append(1), (np.float32(x), "a"))[1])
    wanted = (ps.TensorSpec((), np.float32), ps.TensorSpec((), str))
    assert ds.element_spec == ds.element_spec == wanted
    assert ds.batch(2).element_spec == (
        ps.TensorSpec((None,), np.float32),
        ps.TensorSpec((None,), str),
    )
    assert len(calls) == 1


@pytest.mark.parametrize("calls", CALLS)
def test_a_declared_spec_needs_no_call(calls):
    spec = {"a": ps.TensorSpec((None,), np.int8)}
    ds = ps.Dataset.range(5).map(lambda x: 1 / 0, num_parallel_calls=calls, output_signature=spec)
    assert ds.element_spec == spec


@pytest.mark.parametrize("calls", CALLS)
def test_a_function_that_keeps_its_arguments_keeps_their_values(calls):
    kept = []
    ds = ps.Dataset.range(50).map(lambda x: kept.append(x) or x, num_parallel_calls=calls)
    assert_same(list(ds), list(range(50)))
    assert sorted(kept) == list(range(50))
    kept.clear()
    rows = np.arange(40).reshape(20, 2)
    ds = ps.Dataset.from_tensor_slices(rows).map(
        lambda x: kept.append(x) or x, num_parallel_calls=calls
    )
    assert_same(list(ds), list(rows))
    assert sorted(x.tolist() for x in kept) == rows.tolist()


@pytest.mark.parametrize("calls", CALLS)
def test_a_function_that_returns_one_array_again_and_again(calls):
    shared = np.zeros(4)

    def fill(x):
        shared[:] = x
        return shared

    if calls is None:
        assert_same(list(ps.Dataset.range(9).map(fill)), [np.full(4, float(i)) for i in range(9)])
        assert_same(
            list(ps.Dataset.range(9).map(fill).batch(9)),
            [np.repeat(np.arange(9.0), 4).reshape(9, 4)],
        )
    assert len(list(ps.Dataset.range(9).map(fill, num_parallel_calls=calls))) == 9


@pytest.mark.parametrize("calls", CALLS)
def test_a_function_may_iterate_a_dataset(calls):
    def total(n):
        return sum(int(x) for x in ps.Dataset.range(n).prefetch(2))

    ds = ps.Dataset.range(6).map(total, num_parallel_calls=calls)
    assert_same(list(ds), [0, 0, 1, 3, 6, 10])


def test_results_are_writeable():
    for element in ps.Dataset.range(3).map(lambda x: np.zeros(2)):
        element += 1


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"map_func": 3}, TypeError, "map: map_func must be callable, got 3"),
        (
            {"map_func": square, "num_parallel_calls": 0},
            ValueError,
            "num_parallel_calls must be >= 1, got 0",
        ),
        (
            {"map_func": square, "num_parallel_calls": -2},
            ValueError,
            "num_parallel_calls must be >= 1, got -2",
        ),
        (
            {"map_func": square, "num_parallel_calls": 2, "synchronous": True},
            ValueError,
            "synchronous",
        ),
        (
            {"map_func": square, "num_parallel_calls": "2"},
            TypeError,
            "num_parallel_calls must be an int",
        ),
        (
            {"map_func": square, "num_parallel_calls": 2.0},
            TypeError,
            "num_parallel_calls must be an int",
        ),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, error, words):
    with pytest.raises(error, match=words):
        ps.Dataset.range(3).map(**arguments)


def test_an_element_that_contains_itself_is_an_error():
    def knot(x):
        d = {}
        d["d"] = d
        return d

    came = steps(iter(ps.Dataset.range(1).map(knot)))
    assert [f.kind for f in came] == ["ValueError"]


def test_failures_in_a_row_are_told_one_by_one():
    def fail(x):
        raise Boom(str(x))

    for calls in (None, 1, 3):
        came = steps(iter(ps.Dataset.range(5).map(fail, num_parallel_calls=calls)))
        assert came == [Failure("Boom", str(i)) for i in range(5)]
