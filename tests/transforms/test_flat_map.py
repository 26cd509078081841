"""flat_map: the concatenation of datasets."""

import pickle

import numpy as np
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


# --- output_signature ---

SIGNATURE = ps.TensorSpec((None,), np.int64)


def rows_of(x):
    return ps.Dataset.from_tensor_slices(np.arange(6).reshape(2, 3)).map(lambda row: row[: x % 4])


OPENING = {
    "flat_map": lambda ds, function, **how: ds.flat_map(function, **how),
    "interleave": lambda ds, function, **how: ds.interleave(function, 2, **how),
    "parallel interleave": lambda ds, function, **how: ds.interleave(
        function, 2, num_parallel_calls=2, **how
    ),
}


@pytest.mark.parametrize("kind", OPENING)
def test_a_declared_signature_is_known_without_a_call(kind):
    called = []

    def function(x):
        called.append(x)
        return rows_of(x)

    plain = OPENING[kind](ps.Dataset.range(5), rows_of)
    ds = OPENING[kind](ps.Dataset.range(5), function, output_signature=SIGNATURE)
    assert ds.element_spec == ds.batch(1).unbatch().element_spec == SIGNATURE
    assert not called
    assert_same(list(ds), list(plain))


@pytest.mark.parametrize("kind", OPENING)
@pytest.mark.parametrize("known", [True, False])
def test_other_elements_than_declared_are_refused_and_the_rest_comes(kind, known):
    def function(x):
        ds = ps.Dataset.range(2) if x == 1 else ps.Dataset.from_tensors(np.full(2, x)).repeat(2)
        return ds if known else ds.map(lambda row: row)

    ds = OPENING[kind](ps.Dataset.range(3), function, output_signature=SIGNATURE)
    it, errors, came = iter(ds), [], []
    while len(errors) < 10:
        try:
            came.append(next(it).tolist())
        except StopIteration:
            break
        except TypeError as error:
            errors.append(str(error))
    assert sorted(came) == [[0, 0], [0, 0], [2, 2], [2, 2]]
    assert len(errors) == (1 if known else 2)
    assert all("output_signature says" in error and "got elements" in error for error in errors)


def test_a_signature_survives_pickling_and_states():
    ds = ps.Dataset.range(5).flat_map(rows_of, output_signature=SIGNATURE)
    copy = pickle.loads(pickle.dumps(ds))
    it = iter(ds)
    came = [next(it) for _ in range(3)]
    resumed = iter(copy)
    resumed.set_state(it.get_state())
    assert_same([*came, *resumed], list(ds))


def test_a_dataset_that_cannot_be_opened_again_says_why(tmp_path):
    """Its part of the state cannot be read then, which is not damage."""
    listed = tmp_path / "there"
    listed.touch()

    def open_one(x):
        listed.read_bytes()
        return ps.Dataset.range(10)

    ds = ps.Dataset.range(5).flat_map(open_one)
    with iter(ds) as it:
        came = [int(next(it)) for _ in range(23)]
        state = it.get_state()
    listed.unlink()

    with iter(ds) as resumed, pytest.raises(FileNotFoundError, match="there"):
        resumed.set_state(state)
    listed.touch()
    with iter(ds) as resumed:
        resumed.set_state(state)
        came += [int(x) for x in resumed]
    assert came == [*range(10)] * 5
