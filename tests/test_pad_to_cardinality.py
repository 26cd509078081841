"""experimental.pad_to_cardinality: the requested number of elements, with a mask."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, fail_at, steps

pad_to = ps.experimental.pad_to_cardinality


def rows():
    return ps.Dataset.range(6).map(row)


def row(n):
    return {"n": n, "x": np.full(2, n, np.float32), "s": str(n), "nested": (n, {"b": b"x"})}


def masked(n, valid):
    return {**row(np.int64(n)), "valid": np.bool_(valid)}


NOTHING = {"n": 0, "x": np.zeros(2, np.float32), "s": "", "nested": (0, {"b": b""}), "valid": False}


class TestPadToCardinality(DatasetContract):
    build = staticmethod(lambda: rows().apply(pad_to(8)))

    @staticmethod
    def expected():
        return [*(masked(n, True) for n in range(6)), NOTHING, NOTHING]


def test_an_element_that_fails_counts():
    ds = rows().enumerate().map(fail_at(4)).apply(pad_to(7))
    came = steps(iter(ds))
    assert came[4] == Failure("Boom", "element 4")
    assert_same(came[:4] + came[5:], [*(masked(n, True) for n in (0, 1, 2, 3, 5)), NOTHING])


@pytest.mark.parametrize("count", [2, 3])
def test_as_in_tensorflow(count):
    ds = ps.Dataset.from_tensor_slices({"a": [1, 2]}).apply(pad_to(count, "m"))
    wanted = [{"a": 1, "m": True}, {"a": 2, "m": True}, {"a": 0, "m": False}]
    assert_same(list(ds), wanted[:count])
    assert ds.cardinality() == count
    assert ds.element_spec == {"a": ps.TensorSpec((), np.int64), "m": ps.TensorSpec((), np.bool_)}


def test_an_empty_dataset_and_a_key_that_is_taken():
    ds = ps.Dataset.from_tensor_slices({"valid": ["a", "b"]})
    assert_same(list(ds.take(0).apply(pad_to(2))), [{"valid": False}] * 2)
    assert_same(list(ds.take(1).apply(pad_to(2))), [{"valid": True}, {"valid": False}])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ps.Dataset.range(2), "dicts were expected"),
        (lambda: rows().repeat(), "it is infinite"),
        (lambda: rows().filter(bool), "it is unknown"),
        (lambda: rows().take(5), "at most 4 elements were expected, there are 5"),
        (lambda: ps.Dataset.from_tensors({"a": {1}}), "numbers or strings of known shape"),
        (
            lambda: ps.Dataset.range(2).map(
                lambda x: {"a": np.zeros(x)},
                output_signature={"a": ps.TensorSpec((None,), np.float64)},
            ),
            "numbers or strings of known shape",
        ),
    ],
)
def test_what_cannot_be_padded_is_refused(make, words):
    with pytest.raises(ValueError, match=f"pad_to_cardinality: .*{words}"):
        make().apply(pad_to(4))
