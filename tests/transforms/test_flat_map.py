"""flat_map: datasets one after the other."""

import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


def numbers():
    return ps.Dataset.range(7)


def up_to(n):
    return ps.Dataset.range(n % 4).map(lambda x: x + 10 * n)


class TestFlatMap(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.flat_map(up_to))
    expected = [x + 10 * n for n in range(7) for x in range(n % 4)]


@pytest.mark.parametrize("thing", [3, [1, 2], None, "abc"])
def test_what_is_no_dataset_is_an_error_with_advice(thing):
    came = steps(iter(ps.Dataset.range(2).flat_map(lambda x: thing)))
    assert [f.kind for f in came] == ["TypeError"] * 2
    assert "flat_map: the function must return a Dataset" in came[0].text


def test_errors_of_the_function_and_of_its_datasets_leave_the_others():
    def open_or_fail(n):
        if n == 1:
            raise Boom("outer")
        return ps.Dataset.range(3).map(lambda x: fail(n, x))

    def fail(n, x):
        if x == 1:
            raise Boom(f"inner of {n}")
        return 10 * n + x

    assert steps(iter(ps.Dataset.range(3).flat_map(open_or_fail))) == [
        0,
        Failure("Boom", "inner of 0"),
        2,
        Failure("Boom", "outer"),
        20,
        Failure("Boom", "inner of 2"),
        22,
    ]


def test_the_dataset_may_be_infinite():
    ds = ps.Dataset.range(3).flat_map(lambda n: ps.Dataset.from_tensors(n).repeat())
    assert_same(list(ds.take(3)), [0, 0, 0])


def test_the_spec_is_found_by_opening_one():
    ds = ps.Dataset.range(3).flat_map(lambda n: ps.Dataset.from_tensors(("a", n)))
    assert ds.element_spec == (ps.TensorSpec((), str), ps.TensorSpec((), "int64"))


def test_datasets_nest():
    ds = ps.Dataset.range(3).flat_map(
        lambda a: ps.Dataset.range(2).flat_map(lambda b: ps.Dataset.from_tensors((a, b)))
    )
    assert_same(list(ds), [(a, b) for a in range(3) for b in range(2)])
