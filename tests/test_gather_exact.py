"""gather_exact in a single process drops exactly the padding."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

MASK = np.array([True, False, True])


class Pair(NamedTuple):
    x: object
    y: object


@dataclasses.dataclass
class Point:
    x: object


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64", "datetime64[s]"]
)
def test_rows_of_every_dtype(dtype):
    values = np.arange(12).astype(dtype).reshape(3, 2, 2)
    assert_same(ps.gather_exact(values, MASK), values[[0, 2]])


def test_every_leaf_of_a_nesting():
    rows = np.arange(3)
    values = {"a": (rows, None), "b": Pair(rows, [1.0, 2.0, 3.0]), "c": Point(rows)}
    found = ps.gather_exact(values, MASK)
    assert isinstance(found["b"], Pair)
    assert_same(found["a"], (rows[[0, 2]], None))
    assert_same(tuple(found["b"]), (rows[[0, 2]], np.array([1.0, 3.0])))
    assert_same(found["c"].x, rows[[0, 2]])


@pytest.mark.parametrize("texts", [["a", "b", "cd"], [b"a", b"b", b"cd"], ["", "ü", "\udc80"]])
def test_strings_come_as_objects(texts):
    wanted = np.array([texts[0], texts[2]], object)
    for given in (texts, np.array(texts, object)):
        assert_same(ps.gather_exact(given, MASK), wanted)
    if "\udc80" not in texts:
        assert_same(ps.gather_exact(np.array(texts), MASK), wanted)


def test_a_mask_of_an_element_that_was_not_batched():
    assert_same(ps.gather_exact({"x": np.arange(2)}, np.True_), {"x": np.array([[0, 1]])})
    assert ps.gather_exact(np.arange(2), np.False_).shape == (0, 2)
    ds = ps.Dataset.range(3).shard_evenly(1, 0, evaluation=True)
    assert [ps.gather_exact(x, mask).tolist() for x, mask in ds] == [[0], [1], [2]]


def test_nothing_to_gather():
    assert ps.gather_exact((), MASK) == ()
    assert ps.gather_exact(np.zeros((0, 3)), np.zeros(0, bool)).shape == (0, 3)
    assert len(ps.gather_exact(np.arange(3), np.zeros(3, bool))) == 0


@pytest.mark.parametrize(
    ("values", "mask", "error", "words"),
    [
        (np.arange(2), MASK, ValueError, r"values: as many rows .* 3, were .* shape \(2,\)"),
        ({"a": MASK, "b": 1}, MASK, ValueError, r"values\['b'\]: .* shape \(\)"),
        (np.arange(3), np.arange(3), TypeError, "mask: an array of bool .* int64"),
        (np.zeros((3, 1)), MASK[:, None], TypeError, r"mask: .* shape \(3, 1\)"),
        ([np.arange(3)], MASK, TypeError, "a list with ndarray"),
        ({1, 2, 3}, MASK, TypeError, "arrays were expected, got {1"),
    ],
)
def test_what_does_not_fit_together_is_said(values, mask, error, words):
    with pytest.raises(error, match=f"gather_exact: .*{words}"):
        ps.gather_exact(values, mask)


def test_processes_that_are_not_joined_yet_are_not_taken_for_one(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(ValueError, match=r"gather_exact: torch\.distributed .* 2 processes"):
        ps.gather_exact(MASK, MASK)
    monkeypatch.delenv("WORLD_SIZE")
    monkeypatch.delenv("RANK")
    with pytest.raises(ValueError, match=r"gather_exact: group is of torch\.distributed"):
        ps.gather_exact(MASK, MASK, group=object())
