"""padded_batch: batches of elements of different sizes."""

import dataclasses
import itertools
import threading
from collections import namedtuple

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps

Pair = namedtuple("Pair", "x y")


def filled(n):
    return np.full(n, n)


def triangles():
    return ps.Dataset.range(9).map(filled)


def padded(rows, width, fill=0):
    """Return rows as one array, built by a plain loop."""
    out = np.full((len(rows), width), fill)
    for to, row in zip(out, rows, strict=True):
        to[: len(row)] = row
    return out


class TestPaddedBatch(DatasetContract):
    source = staticmethod(triangles)
    apply = staticmethod(lambda ds: ds.padded_batch(4))
    expected = [padded([filled(n) for n in r], r[-1]) for r in ([0, 1, 2, 3], [4, 5, 6, 7], [8])]


class TestPaddedBatchOfOne(DatasetContract):
    source = staticmethod(triangles)
    apply = staticmethod(lambda ds: ds.padded_batch(1, [10], -1))
    expected = [padded([filled(n)], 10, -1) for n in range(9)]


def both(n):
    return {"a": np.full((n, 2), n, np.float32), "s": np.array(["x"] * (n % 3), object), "n": n}


class TestPaddedBatchOfStructures(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(7).map(both))
    apply = staticmethod(
        lambda ds: ds.padded_batch(
            3, {"n": [], "a": [8, None], "s": [3]}, {"a": 0.5, "s": "-", "n": None}, True
        )
    )

    @staticmethod
    def expected():
        batches = []
        for first in (0, 3):
            a = np.full((3, 8, 2), 0.5, np.float32)
            s = np.full((3, 3), "-", object)
            for i in range(3):
                a[i, : first + i] = first + i
                s[i, : (first + i) % 3] = "x"
            batches.append({"a": a, "s": s, "n": np.arange(first, first + 3)})
        return batches


def uneven(n):
    """Return an element; some do not fit."""
    return np.zeros((n % 4,) if n % 5 else (1, 1))


class TestPaddedBatchOfElementsThatDoNotFit(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(10))
    build = staticmethod(lambda: ps.Dataset.range(10).map(uneven).padded_batch(3, [2]))
    expected = None

    def wanted(self):
        return [s for s in steps(iter(self.build())) if not isinstance(s, Failure)]

    # Its errors differ; the contract's error tests for sequences are above.
    apply = None
    test_elements_are_as_expected = None
    test_a_second_iteration_gives_the_same = None
    test_what_is_written_to_an_element_is_seen_nowhere_else = None
    test_two_iterators_do_not_disturb_each_other = None
    test_cardinality_is_the_count_when_it_is_known = None
    test_element_spec_accepts_every_element = None
    test_a_pickled_dataset_gives_the_same = None
    test_an_error_behind_it_leaves_the_others = None
    test_closing_frees_all_threads = None
    test_a_closed_iterator_has_ended = None
    test_dropping_frees_all_threads = None


def of(values, **signature):
    return ps.Dataset.from_generator(lambda: iter(values), **signature)


def mapped(values):
    """Return arbitrary values, some with differing dtypes."""
    return ps.Dataset.range(len(values)).map(lambda i: values[i])


SHAPES = list(itertools.product([0, 1, 3], [0, 2, 3], [1, 2]))


@pytest.mark.parametrize(
    "dtype",
    ["bool", "i1", "u2", "f2", "i4", "f4", "M8[s]", "i8", "f8", "c8", "c16", "longdouble"],
)
def test_all_shapes_of_all_dtypes_equal_a_loop(dtype):
    rng = np.random.default_rng(7)
    arrays = [rng.integers(0, 2, s).astype(dtype) for s in SHAPES]
    fill = np.ones((), dtype)[()]
    for shape in ([None, None, None], [4, None, 2], [3, 3, None]):
        batch = of(arrays).padded_batch(len(arrays), shape, fill).first()
        sizes = [
            max(a.shape[d] for a in arrays) if shape[d] is None else shape[d] for d in range(3)
        ]
        wanted = np.full([len(arrays), *sizes], fill, dtype)
        for to, a in zip(wanted, arrays, strict=True):
            to[tuple(slice(n) for n in a.shape)] = a
        assert_same([batch], [wanted])


def test_a_pattern_longer_than_a_byte_fills_large_gaps():
    batch = of([np.zeros(1, np.int64), np.zeros(5000, np.int64)]).padded_batch(2, None, 258).first()
    assert batch[0, 0] == 0
    assert (batch[0, 1:] == 258).all()
    assert not batch[1].any()


def test_stacked_rows_are_padded_too():
    ds = ps.Dataset.from_tensor_slices(np.arange(12).reshape(6, 2)).padded_batch(4, [3], -1)
    assert_same(
        list(ds), [padded(np.arange(8).reshape(4, 2), 3, -1), padded([[8, 9], [10, 11]], 3, -1)]
    )


@pytest.mark.parametrize("text", [["a", "", "ä\0"], [b"a", b"", b"\0\xff"]], ids=["str", "bytes"])
@pytest.mark.parametrize("fill", [None, "pad", b"pad"])
@pytest.mark.parametrize("read", [False, True])
def test_strings_are_padded_with_strings(text, fill, read):
    kind = type(text[0])
    ds = of(
        [np.array(text[:n], object) for n in (1, 3, 2)],
        output_signature=ps.TensorSpec([None], kind),
    )
    if read:  # strings held by the engine, not Python
        ds = ds.map(ps.native(lambda t: ps.strings.join([t, t])))
        text = [2 * t for t in text]
    wanted = {str: "pad", bytes: b"pad"}[kind] if fill else kind()
    rows = [[*text[:n], *[wanted] * (3 - n)] for n in (1, 3, 2)]
    assert_same(list(ds.padded_batch(3, None, fill)), [np.array(rows, object)])


@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
def test_an_empty_array_of_objects_may_stand_among_strings(order):
    rows = [np.array(t, object) for t in ([], ["a"], ["b", "c"])]
    ds = mapped([rows[i] for i in order]).padded_batch(3, None, "-")
    wanted = [["-", "-"], ["a", "-"], ["b", "c"]]
    assert_same(list(ds), [np.array([wanted[i] for i in order], object)])


@pytest.mark.parametrize(("fill", "text"), [(None, ""), ("-", "-"), (b"-", b"-")])
def test_empty_arrays_of_objects_alone_are_padded_as_strings(fill, text):
    ds = of([np.array([], object)] * 2).padded_batch(2, [2], fill)
    assert_same(list(ds), [np.array([[text] * 2] * 2, object)])


def test_scalars_and_objects_are_stacked():
    objects = [object(), object()]
    ds = of([(1, "a", objects[0]), (2, "b", objects[1])]).padded_batch(2)
    assert_same(list(ds), [(np.array([1, 2]), np.array(["a", "b"], object), np.array(objects))])


@dataclasses.dataclass
class Both:
    x: object
    y: object


@pytest.mark.parametrize("make", [Pair, Both, lambda x, y: (x, y), lambda x, y: {"x": x, "y": y}])
@pytest.mark.parametrize("known", [False, True])
def test_shapes_and_values_nest_as_the_elements_do(make, known):
    ds = of([make(np.array([1]), (np.array([2.0]), 3))])
    if known:
        ds.element_spec
    ds = ds.padded_batch(1, make([2], ((None,), [])), make(7, (0.5, None)))
    assert_same(list(ds), [make(np.array([[1, 7]]), (np.array([[2.0]]), np.array([3])))])
    assert_same(
        list(of([make(1, 2)]).padded_batch(1, None, make(None, 5))),
        [make(np.array([1]), np.array([2]))],
    )


def test_none_stands_for_defaults_of_all_below():
    ds = of([{"a": [1], "b": ([2], [3.0])}]).padded_batch(
        1, {"a": 2, "b": ([2], 2)}, {"a": 9, "b": None}
    )
    assert_same(
        list(ds),
        [{"a": np.array([[1, 9]]), "b": (np.array([[2, 0]]), np.array([[3.0, 0.0]]))}],
    )


def test_a_dict_in_another_order_of_keys_is_the_same_dict():
    ds = of([{"a": [1], "b": [2.0]}, {"b": [3.0, 4.0], "a": [5, 6]}])
    ds = ds.padded_batch(2, {"b": [3], "a": [None]}, {"b": 1.5, "a": 9})
    assert_same(
        list(ds),
        [{"a": np.array([[1, 9], [5, 6]]), "b": np.array([[2, 1.5, 1.5], [3, 4, 1.5]])}],
    )


def test_arrays_of_objects_are_refused_one_by_one():
    bad = np.array([{1}, {2}], object)
    came = steps(iter(of([bad, bad]).padded_batch(2)))
    assert [s.kind for s in came] == ["ValueError"] * 2
    assert "opaque objects" in came[0].text


def test_errors_before_a_batch_are_not_replayed():
    it = iter(ps.Dataset.range(10_000).map(filled_wide).padded_batch(2, [1]))
    failed = steps(it, 12_000)
    assert len(failed) == 10_000
    assert all(isinstance(s, Failure) for s in failed)
    assert len(it.get_state()) < 400


def filled_wide(n):
    return np.zeros(2)


def test_a_batch_that_no_memory_holds_is_one_error():
    it = iter(ps.Dataset.range(4).batch(1).padded_batch(2, [2**60]))
    assert [s.kind for s in steps(it)] == ["MemoryError"] * 2


def test_specs_and_cardinality():
    ds = ps.Dataset.from_tensor_slices(np.zeros((7, 2, 3), np.float32))
    assert ds.padded_batch(2).element_spec == ps.TensorSpec((None, 2, 3), np.float32)
    assert ds.padded_batch(2, [None, 4], None, True).element_spec == ps.TensorSpec(
        (2, None, 4), np.float32
    )
    assert ds.padded_batch(7).element_spec == ps.TensorSpec((7, 2, 3), np.float32)
    assert [
        ds.padded_batch(2).cardinality(),
        ds.padded_batch(2, drop_remainder=True).cardinality(),
    ] == [4, 3]
    assert ds.repeat().padded_batch(2).cardinality() == ps.INFINITE_CARDINALITY
    assert ds.filter(bool).padded_batch(2).cardinality() == ps.UNKNOWN_CARDINALITY
    # The size of one element does not determine that of the next.
    assert triangles().padded_batch(2).element_spec == ps.TensorSpec((None, None), np.int64)


def test_empty_and_endless_inputs():
    assert list(of([]).padded_batch(2)) == []
    assert list(ps.Dataset.range(0).padded_batch(2, [], 1)) == []
    assert_same(
        list(ps.Dataset.range(3).repeat().padded_batch(2).take(2)),
        [np.array([0, 1]), np.array([2, 0])],
    )


def test_closing_ends_a_batch_that_never_fills():
    reached = threading.Event()

    def look(x):
        if x == 100:
            reached.set()
        return x >= 0

    it = iter(
        ps.Dataset.range(3)
        .repeat()
        .enumerate()
        .map(lambda i, x: i)
        .filter(look)
        .padded_batch(2**40)
        .prefetch(1)
    )
    puller = threading.Thread(target=lambda: next(it, None))
    puller.start()
    assert reached.wait(60)
    it.close()
    puller.join(60)
    assert not puller.is_alive()


def test_native_functions_around_it():
    ds = ps.Dataset.range(1, 4).map(ps.native(lambda n: ps.fill([n], n)))
    ds = ds.padded_batch(3).map(ps.native(lambda b: ps.reduce_sum(b, 1)))
    assert_same(list(ds), [np.array([1, 4, 9])])
