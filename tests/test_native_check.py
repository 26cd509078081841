"""native(check=n) compares the first elements of each iteration with the plain function."""

import pickle

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from native_contract import run

Dataset = ps.Dataset


class Lying:
    """A function that behaves differently with values than with symbols."""

    def __init__(self, plain, traced):
        self.plain, self.traced = plain, traced
        self.calls = []

    def __call__(self, *args):
        if ps.ops.symbol.current_trace() is not None:
            return self.traced(*args)
        self.calls.append(args)
        return self.plain(*args)


def differing(plain, traced, check=2):
    return ps.native(Lying(plain, traced), check=check)


DIFFERENCES = {
    "value": (lambda x: x * 2.0, lambda x: x * 2.5, r"2\.5\), not .*2\.0"),
    "last bit": (lambda x: np.nextafter(x * 0.1, 9.0), lambda x: x * 0.1, r"0\.1\), not .*0\.1000"),
    "dtype": (lambda x: x * 2.0, lambda x: x * 2, "dtype int64, not float64|type int64"),
    "item": (
        lambda x: x + np.zeros((2, 3)),
        lambda x: x + np.array([[0, 0, 0], [0, 7, 7.0]]),
        r"item \(1, 1\) is .*8\.0.*, not .*1\.0.*, and 1 others",
    ),
    "shape": (lambda x: x + np.zeros(2), lambda x: x + np.zeros(3), r"shape \(3,\), not \(2,\)"),
    "nested": (
        lambda x: {"a": (x, x)},
        lambda x: {"a": (x, x + 1)},
        r"at \['a'\]\[1\]: .*2.*, not .*1",
    ),
    "keys": (lambda x: {"a": x}, lambda x: {"b": x}, r"the keys \['b'\], not \['a'\]"),
    "parts": (lambda x: (x, x), lambda x: (x, x, x), "3 values, not 2"),
    "strings": (lambda x: "no", lambda x: ps.strings.as_string(x), r"b'1' of type bytes, not 'no'"),
    "error": (lambda x: 1 // 0, lambda x: x, r"plain function alone raises ZeroDivisionError"),
    "other error": (
        lambda x: x,
        lambda x: x + ps.reshape(x, (7,)),
        r"program alone raises ValueError",
    ),
    "not": (lambda x: np.float64(0.0), lambda x: x * -0.0, r"-0\.0\), not .*0\.0"),
}


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_is_named_at_its_element(name, calls):
    plain, traced, message = DIFFERENCES[name]
    ds = Dataset.range(1, 5).map(differing(plain, traced), num_parallel_calls=calls)
    it = iter(ds)
    with pytest.raises(ps.TraceError, match=message) as raised:
        next(it)
    assert "element 0 is not that of the plain function" in str(raised.value)
    assert "element 0" in raised.value.__notes__[-1]


@pytest.mark.parametrize("calls", [None, 2])
def test_only_the_first_elements_of_each_iteration_are_compared(calls):
    function = Lying(lambda x: x if x != 1 else x + 1, lambda x: x)
    ds = Dataset.range(8).map(ps.native(function, check=4), num_parallel_calls=calls)
    for batched in (False, True):
        seen, errors = [], []
        it = iter(ds.batch(2).unbatch() if batched else ds)
        for _ in range(9):
            try:
                for x in it:
                    seen.append(int(x))
            except ps.TraceError as error:
                errors.append(str(error))
        assert len(errors) == 1
        assert "element 1 is not" in errors[0]
        assert len(function.calls) == 4
        function.calls.clear()
        if not batched:
            assert seen == [0, 2, 3, 4, 5, 6, 7]


def test_results_are_those_of_the_program():
    def augment(x):
        return ps.image.random_crop(np.arange(900).reshape(30, 30, 1), (2, 2, 1)) + x

    ds = Dataset.range(20)
    for calls in (None, 3):
        checked = ds.map(ps.native(augment, check=7), num_parallel_calls=calls)
        assert_same(run(checked), run(ds.map(augment)))
        assert_same(run(checked.batch(4)), run(ds.map(augment).batch(4)))


def test_errors_of_both_are_the_programs():
    ds = Dataset.from_tensor_slices([3, 7, 7]).map(
        ps.native(lambda n: ps.reshape(np.arange(7), [n]), check=9)
    )
    it = iter(ds)
    with pytest.raises(ValueError, match="reshape"):
        next(it)
    assert next(it).shape == (7,)


def test_predicates():
    ds = Dataset.range(9)
    assert [int(x) for x in ds.filter(ps.native(lambda x: x % 4 == 0, check=5))] == [0, 4, 8]
    it = iter(ds.filter(differing(lambda x: x > 3, lambda x: x > 0, check=3)))
    with pytest.raises(ps.TraceError, match="element 1 is not"):
        next(it)


def test_restored_iterations_count_from_their_beginning():
    function = Lying(lambda x: x, lambda x: x)
    ds = Dataset.range(8).map(ps.native(function, check=3))
    it = iter(ds)
    for _ in range(5):
        next(it)
    again = iter(ds)
    again.set_state(it.get_state())
    function.calls.clear()
    assert [int(x) for x in again] == [5, 6, 7]
    assert function.calls == []


@ps.native(check=3)
def plus_one(x):
    return x + 1


def test_as_a_decorator():
    assert plus_one(1) == 2
    assert [int(x) for x in Dataset.range(5).map(plus_one)] == [1, 2, 3, 4, 5]
    ds = pickle.loads(pickle.dumps(Dataset.range(5).map(plus_one)))
    assert [int(x) for x in ds] == [1, 2, 3, 4, 5]
    copied = pickle.loads(pickle.dumps(ps.native(_shifted, check=1)))
    with pytest.raises(ps.TraceError, match=r"_shifted\): element 0 is not"):
        next(iter(Dataset.range(5).map(copied)))


def _shifted(x):
    return x + 1 if ps.ops.symbol.current_trace() is None else x + 2


def test_methods_are_checked():
    class Scale:
        @ps.native(check=1)
        def apply(self, x):
            return _shifted(x)

    with pytest.raises(ps.TraceError, match="element 0"):
        next(iter(Dataset.range(3).map(Scale().apply)))


@pytest.mark.parametrize("check", [-1, 1.5, "a"])
def test_wrong_numbers_are_refused(check):
    with pytest.raises((TypeError, ValueError), match="native: check"):
        ps.native(plus_one.__wrapped__, check=check)
