"""The inputs that native functions are traced with, and errors where they are unknown."""

import dataclasses

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from native_contract import assert_native, run

Dataset = ps.Dataset


@dataclasses.dataclass
class Pair:
    x: object
    y: object


def popped(element):
    return element.pop("x") + 1


def added(element):
    element["sum"] = element["x"] + element.pop("z")
    return element


def replaced(element):
    element["in"]["a"] = element["in"]["a"] * 2
    del element["x"]
    return element


def set_attribute(pair):
    pair.x = pair.x + pair.y
    return pair


def updated_in_place(element):
    element["x"] = element["x"] + 1
    element.update(y=element["x"] * 2)
    return element


MUTATING = {
    "pop": (popped, {"x": np.int64(3), "z": np.float32(2)}),
    "add": (added, {"x": np.int64(3), "z": np.float32(2)}),
    "within": (replaced, {"x": np.int64(3), "in": {"a": np.arange(3)}}),
    "dataclass": (set_attribute, Pair(np.int64(3), np.int64(4))),
    "in place": (updated_in_place, {"x": np.int64(3)}),
}


@pytest.mark.parametrize("name", MUTATING)
def test_a_function_may_change_the_containers_that_it_is_given(name):
    function, element = MUTATING[name]
    source = Dataset.from_tensors(element).repeat(3)
    for calls in (None, 2):
        made = source.map(ps.native(function, check=1), num_parallel_calls=calls)
        assert_same(run(made), run(source.map(function)))
        assert_same(run(made), run(source.map(function)))


def test_a_predicate_may_change_the_containers_that_it_is_given():
    source = Dataset.range(4).map(lambda x: {"x": x, "z": -x})
    kept = source.filter(ps.native(lambda d: d.pop("x") > 1))
    assert_same(list(kept), list(source.filter(lambda d: d["x"] > 1)))


FAILING = {
    "left out before": (lambda bad, f: bad.ignore_errors().map(f), []),
    "left out by map": (lambda bad, f: bad.map(f, on_error="skip"), []),
    "left out behind": (lambda bad, f: bad.map(f).ignore_errors(), []),
    "filtered": (lambda bad, f: bad.ignore_errors().filter(f), []),
    "in parallel": (lambda bad, f: bad.ignore_errors().map(f, num_parallel_calls=2).batch(2), []),
    "scan": (lambda bad, f: bad.ignore_errors().scan(0, lambda s, x: (s, f(x))), []),
    "reduced": (lambda bad, f: [bad.ignore_errors().reduce(5, ps.native(lambda s, x: s + x))], [5]),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_native_function_behind_elements_that_all_fail(name):
    build, wanted = FAILING[name]
    bad = Dataset.range(4).map(lambda x: 1 // int(0 * x))
    assert_same(list(build(bad, ps.native(lambda x: x > 0))), wanted)


def test_errors_of_a_source_are_those_of_the_run():
    it = iter(Dataset.range(3).map(lambda x: 1 // int(0 * x)).map(ps.native(lambda x: x)))
    for number in range(3):
        with pytest.raises(ZeroDivisionError) as raised:
            next(it)
        assert f"element {number}" in raised.value.__notes__[0]
    assert list(it) == []


def test_what_cannot_be_traced_in_the_function_before_is_said_at_once():
    def opened(x):
        return Dataset.range(2).map(ps.native(lambda y: int(y)))

    with pytest.raises(ps.TraceError, match="an int"):
        Dataset.range(3).flat_map(opened).map(ps.native(lambda x: x))


@pytest.mark.parametrize("key", [True, False, (True, 0), (0, False)])
def test_booleans_are_no_numbers_of_rows(key):
    with pytest.raises(ps.TraceError, match="adds an axis or takes nothing"):
        Dataset.from_tensors(np.zeros((3, 4))).map(ps.native(lambda x: x[key]))


BOUNDS = [np.uint64(2**64 - 1), np.uint64(2**63), np.uint64(2), np.int64(-(2**63)), np.int64(-1)]


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_bounds_of_slices_beyond_any_array(bound):
    x = np.arange(5)
    slices = (
        lambda x, n: (x[n:], x[:n], x[n::-1], x[:n:-1]),
        lambda x, n: (x[int(bound) :], x[: int(bound)], x[:: int(bound)], x[: int(bound) : -1]),
        lambda x, n: (x[2**70 :], x[: 2**70], x[-(2**70) :], x[: -(2**70)], x[:: 2**70]),
    )
    for function in slices:
        assert_native(function, [(x, bound), (x[:3], bound)])


@pytest.mark.parametrize(
    "index", [np.array([1]), np.array([0, 1]), np.bool_(True), np.uint64(2**63)]
)
def test_values_that_are_no_number_of_a_row(index):
    ds = Dataset.from_tensors((np.arange(5), index)).repeat(2)
    with pytest.raises((TypeError, ValueError), match="getitem: "):
        list(ds.map(ps.native(lambda x, i: x[i])))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.concatenate([np.zeros(1), x[None]]),
        lambda x: np.concatenate((np.zeros(1, np.int8), [1.0], x[None]), axis=None),
        lambda x: np.stack([np.zeros(1), x[None], np.ones(1, np.float16)]),
        lambda x: np.where(np.array([True, False]), x, np.arange(2)),
        lambda x: np.tile(np.arange(2), ps.shape(x[None])),
    ],
)
def test_functions_of_numpy_take_arrays_before_traced_values(function):
    assert_native(function, [np.float32(3), np.float32(4)])


@pytest.mark.parametrize("name", ["append", "kron", "outer"])
def test_a_function_that_cannot_be_traced_is_named_behind_an_array_too(name):
    call = getattr(np, name)
    function = lambda x: call(np.zeros(1), x[None])  # noqa: E731
    with pytest.raises(ps.TraceError, match=f"numpy.{name} cannot be traced"):
        Dataset.from_tensors(np.float32(3)).map(ps.native(function))


def test_the_class_of_a_traced_value_is_refused_at_any_other_call():
    concatenate = np.concatenate
    for function in (
        lambda x: isinstance(x, np.ndarray),
        lambda x: np.concatenate([x[None]]) if isinstance(x, np.ndarray) else x,
        lambda x: concatenate([x[None]] * isinstance(x, np.ndarray)),
    ):
        with pytest.raises(ps.TraceError, match="isinstance"):
            Dataset.from_tensors(np.float32(3)).map(ps.native(function))
