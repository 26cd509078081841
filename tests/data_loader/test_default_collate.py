"""default_collate in NumPy: its results, and its errors."""

import collections
import dataclasses
import types

import numpy as np
import pytest

import penstock as ps

Point = collections.namedtuple("Point", ["x", "y"])


@dataclasses.dataclass
class Sample:
    image: np.ndarray
    label: int


def check(array, values, dtype):
    assert isinstance(array, np.ndarray)
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, values)


@pytest.mark.parametrize(
    ("samples", "dtype"),
    [
        ([1, 2], np.int64),
        ([True, False], np.bool_),
        ([1.5, 2], np.float64),
        ([1, 2.5], np.float64),
        ([np.float16(1), np.float16(2)], np.float16),
        ([np.uint8(1), np.uint8(2)], np.uint8),
        ([np.uint64(2**63), np.uint64(1)], np.uint64),
        ([np.bool_(True), np.bool_(False)], np.bool_),
        ([np.datetime64("2024-01-01"), np.datetime64("2025-01-01")], "datetime64[D]"),
        ([np.array(1, np.int8), np.array(2, np.int8)], np.int8),
        ([np.arange(3), np.arange(3)], np.int64),
        ([np.zeros((0, 2)), np.zeros((0, 2))], np.float64),
        ([np.array(["a", "bc"]), np.array(["d", "e"])], "U2"),
        (np.arange(6).reshape(2, 3), np.int64),
    ],
)
def test_numbers_and_arrays_become_arrays(samples, dtype):
    check(ps.default_collate(samples), np.array(samples), dtype)


def test_strings_stay_strings():
    assert ps.default_collate(["a", "b"]) == ["a", "b"]
    assert ps.default_collate([b"a", b"b"]) == [b"a", b"b"]


def test_containers_keep_their_types():
    assert type(ps.default_collate([{"a": 1}, {"a": 2}])) is dict
    ordered = ps.default_collate([collections.OrderedDict(a=1)] * 2)
    assert type(ordered) is collections.OrderedDict
    point = ps.default_collate([Point(1, "a"), Point(2, "b")])
    assert type(point) is Point
    check(point.x, [1, 2], np.int64)
    assert list(point.y) == ["a", "b"]
    assert type(ps.default_collate([(1, 2)] * 2)) is list
    assert type(ps.default_collate([[1, 2]] * 2)) is list
    assert type(ps.default_collate([types.MappingProxyType({"a": 1})])) in (
        dict,
        types.MappingProxyType,
    )


def test_dataclasses_are_collated_field_by_field():
    batch = ps.default_collate([Sample(np.full(2, i), i) for i in range(3)])
    assert type(batch) is Sample
    check(batch.image, [[0, 0], [1, 1], [2, 2]], np.int64)
    check(batch.label, [0, 1, 2], np.int64)


def test_a_mutable_mapping_keeps_what_else_it_has():
    batch = ps.default_collate([collections.defaultdict(list, a=1)] * 2)
    assert batch.default_factory is list


def test_samples_may_come_from_any_iterable():
    check(ps.default_collate(iter([1, 2])), [1, 2], np.int64)


def test_the_batch_is_a_copy():
    row = np.zeros(3)
    ps.default_collate([row])[:] = 1
    rows = np.zeros((2, 3))
    ps.default_collate(rows)[:] = 1
    assert row.sum() == rows.sum() == 0


@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        ([], ValueError, "at least one sample"),
        ([np.zeros(3), np.zeros(3), np.zeros(4)], ValueError, r"\(3,\).*\(4,\) in sample 2.*pad"),
        ([{"x": {"y": np.zeros(1)}}, {"x": {"y": np.zeros(2)}}], ValueError, r"at \['x'\]\['y'\]"),
        ([np.zeros((2, 1)), np.zeros((1, 2))], ValueError, r"\(1, 2\) in sample 1"),
        ([(1, 2), (1, 2, 3)], ValueError, "2 as in sample 0, got 3 in sample 1"),
        ([1, 2**63], ValueError, f"{2**63} in sample 1"),
        ([-(2**70)], ValueError, "64 bits"),
        ([{"a": 1}, {"b": 1}], KeyError, "sample 1 has no 'a'"),
        ([None], TypeError, "got a NoneType"),
        ([{"a": [1, None]}], TypeError, r"NoneType at \['a'\]\[1\]"),
        ([1, "a"], TypeError, "'a' in sample 1"),
        ([1.5, None], TypeError, "None in sample 1"),
        ([1, np.zeros(2)], TypeError, "sample 1"),
        ([1j], TypeError, "complex"),
        ([object()], TypeError, "object"),
        ([{1, 2}], TypeError, "set"),
    ],
)
def test_errors_name_the_sample(samples, error, message):
    with pytest.raises(error, match=message):
        ps.default_collate(samples)


@pytest.mark.parametrize("shape", [(5, 6, 3), (0, 2, 3), (1, 4)])
def test_batches_lie_in_c_order_whatever_the_samples(shape):
    samples = [np.full(shape, i, kind).T for i, kind in enumerate(("f4", "f8", ">f4"))]
    batch = ps.default_collate(samples)
    assert batch.flags.c_contiguous
    check(batch, np.stack(samples).tolist(), np.float64)
    assert ps.default_collate(np.ones(shape).T).flags.c_contiguous
