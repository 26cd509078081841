"""window: datasets of consecutive elements."""

import itertools
import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


def windows(items, size, shift=None, stride=1, drop_remainder=False):
    """Return the contents of windows over a list."""
    items = list(items)
    starts = range(0, len(items), shift or size)
    held = [items[start : start + (size - 1) * stride + 1 : stride] for start in starts]
    return [w for w in held if len(w) == size or not drop_remainder]


def text(window):
    return " ".join(str(int(x)) for x in window)


def texts(items, *arguments):
    return [" ".join(map(str, w)) for w in windows(items, *arguments)]


def triples(window):
    return window.batch(3, drop_remainder=True)


class TestWindow(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(11))
    apply = staticmethod(lambda ds: ds.window(3).flat_map(triples))
    expected = [np.array(w) for w in windows(range(9), 3)]


class TestOverlappingWindows(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9).map(int))
    apply = staticmethod(lambda ds: ds.window(3, shift=1, stride=2).map(text))
    expected = texts(range(9), 3, 1, 2)


class TestWindowsThatLeaveElementsOut(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(13))
    apply = staticmethod(lambda ds: ds.window(2, shift=3, drop_remainder=True).map(text))
    expected = texts(range(13), 2, 3, 1, True)


class TestWindowsOfParallelMaps(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9).map(int, num_parallel_calls=3))
    apply = staticmethod(lambda ds: ds.window(4, shift=2).interleave(triples, 2))
    expected = [np.arange(at, at + 3) for at in (0, 2, 4, 6)]


# tf.data 2.21's results for range(n).window(size, shift, stride, drop_remainder).
GOLDEN = {
    (7, 3, None, 1, False): [[0, 1, 2], [3, 4, 5], [6]],
    (7, 3, None, 1, True): [[0, 1, 2], [3, 4, 5]],
    (7, 3, 1, 1, False): [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6], [6]],
    (7, 3, 1, 1, True): [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]],
    (10, 2, 5, 1, False): [[0, 1], [5, 6]],
    (10, 2, 5, 1, True): [[0, 1], [5, 6]],
    (7, 3, 1, 2, False): [[0, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5], [4, 6], [5], [6]],
    (7, 3, 1, 2, True): [[0, 2, 4], [1, 3, 5], [2, 4, 6]],
    (7, 3, None, 2, False): [[0, 2, 4], [3, 5], [6]],
    (10, 2, 3, 4, False): [[0, 4], [3, 7], [6], [9]],
    (0, 3, 1, 1, False): [],
    (2, 3, 1, 1, True): [],
    (5, 10, 2, 1, False): [[0, 1, 2, 3, 4], [2, 3, 4], [4]],
    (11, 2, 5, 3, False): [[0, 3], [5, 8], [10]],
}


@pytest.mark.parametrize("case", GOLDEN, ids=str)
@pytest.mark.parametrize("through", ["rows", "function", "threads"])
def test_windows_are_those_of_tf_data(case, through):
    n, *arguments = case
    ds = ps.Dataset.range(n)
    if through != "rows":
        ds = ds.map(lambda x: x, num_parallel_calls=3 if through == "threads" else None)
    ds = ds.window(*arguments)
    assert [[int(x) for x in w] for w in ds] == GOLDEN[case]
    assert ds.cardinality() == len(GOLDEN[case])
    assert windows(range(n), *arguments) == GOLDEN[case]


def test_many_shapes_of_windows():
    for n, size, shift, stride, drop in itertools.product(
        (0, 1, 8), (1, 2, 5, 9), (None, 1, 3, 12), (1, 2, 7), (False, True)
    ):
        ds = ps.Dataset.range(n).window(size, shift, stride, drop)
        came = [[int(x) for x in w] for w in ds]
        assert came == windows(range(n), size, shift, stride, drop), (n, size, shift, stride, drop)
        assert ds.cardinality() == len(came)


def test_each_leaf_has_a_window_of_its_own():
    ds = ps.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": (["x", "y", "z"], np.eye(3))})
    first = ds.window(2).first()
    assert list(first) == ["a", "b"]
    assert_same(list(first["a"]), [1, 2])
    assert_same(list(first["b"][0]), ["x", "y"])
    assert_same(list(first["b"][1]), list(np.eye(3)[:2]))
    leaf = ps.TensorSpec((), object)
    assert ds.window(2).element_spec == {"a": leaf, "b": (leaf, leaf)}
    assert first["b"][1].element_spec == ps.TensorSpec((3,), np.float64)


def test_tuples_of_windows_are_arguments_of_functions():
    ds = ps.Dataset.range(5).enumerate(10).window(2)
    ds = ds.flat_map(lambda i, x: ps.Dataset.zip((i.batch(2), x.batch(2))))
    assert_same(
        list(ds),
        [
            (np.arange(at + 10, end + 10), np.arange(at, end))
            for at, end in [(0, 2), (2, 4), (4, 5)]
        ],
    )


def test_windows_of_windows():
    ds = ps.Dataset.range(5).window(2).window(2)
    assert [[[int(x) for x in w] for w in outer] for outer in ds] == [[[0, 1], [2, 3]], [[4]]]


def test_elements_of_any_kind():
    things = [("a", None, {"k": object()}), ("b", None, {"k": {1}})]
    first = ps.Dataset.from_generator(lambda: iter(things)).window(2).first()
    assert_same(list(first[0]), ["a", "b"])
    assert first[1] is None
    assert next(iter(first[2]["k"])) is things[0][2]["k"]


def test_shapes_may_differ_within_a_window():
    ds = ps.Dataset.range(1, 4).map(lambda n: np.zeros(n)).window(3)
    window = ds.first()
    assert [x.shape for x in window] == [(1,), (2,), (3,)]
    assert window.element_spec == ps.TensorSpec((None,), np.float64)


def test_dicts_of_another_order_are_the_same_and_other_structures_an_error():
    things = [{"a": 1, "b": 2}, {"b": 4, "a": 3}, {"c": 1}, {"a": 5, "b": 6}, {"a": 7, "b": 8}]
    ds = ps.Dataset.range(5).map(lambda i: things[i]).window(2)
    came = steps(iter(ds))
    assert [[int(x) for x in w["b"]] for w in (came[0], came[2])] == [[2, 4], [8]]
    assert came[1].kind == "ValueError"
    assert came[1].text.startswith("window: element 1 of window 1 has structure {'a': leaf")


@pytest.mark.parametrize("arguments", [{"size": 0}, {"size": 2, "shift": 0}, {"size": -1}])
def test_sizes_below_one_are_refused(arguments):
    with pytest.raises(ValueError, match=r"window: s.* must be >= 1, got"):
        ps.Dataset.range(3).window(**arguments)
    with pytest.raises(ValueError, match="window: stride must be >= 1, got 0"):
        ps.Dataset.range(3).window(2, stride=0)


def test_endless_inputs_and_endless_windows():
    ds = ps.Dataset.range(3).repeat().window(2, shift=5)
    assert ds.cardinality() == ps.INFINITE_CARDINALITY
    assert [[int(x) for x in w] for w in ds.take(3)] == [[0, 1], [2, 0], [1, 2]]
    huge = ps.Dataset.range(4).window(2**62, stride=2**62)
    assert [[int(x) for x in w] for w in huge] == [[0]]


def test_an_error_is_told_at_its_place_and_leaves_its_neighbours():
    def bad(x):
        if x in (2, 6):
            raise Boom(f"element {x}")
        return x

    ds = ps.Dataset.range(9).map(bad).window(2, shift=3).map(text)
    boom = [Failure("Boom", "element 2"), Failure("Boom", "element 6")]
    # 0 1 (3) | 4 5 (7) | 8
    assert steps(iter(ds)) == ["0 1", boom[0], "4 5", boom[1], "8"]


def test_a_window_may_be_filled_and_closed_at_the_same_time():
    reached, free = threading.Event(), threading.Event()

    def slow(x):
        if x == 3:
            reached.set()
            free.wait()
        return x

    it = iter(ps.Dataset.range(10**9).map(slow).window(10**6).prefetch(1))
    reader = threading.Thread(target=lambda: next(it, None))
    reader.start()
    reached.wait()
    closer = threading.Thread(target=it.close)
    closer.start()
    free.set()
    closer.join()
    reader.join()
    assert list(it) == []


def test_random_numbers_differ_by_window_and_not_by_parallelism():
    def noisy(window):
        return window.map(lambda x: (x, ps.random.uniform(()))).batch(4)

    def run(calls):
        ps.random.set_seed(7)
        ds = ps.Dataset.range(8).map(int, num_parallel_calls=calls).window(4, shift=2)
        return list(ds.interleave(noisy, 4, num_parallel_calls=calls))

    first = run(None)
    assert_same(run(4), first)
    numbers = np.concatenate([noise for _, noise in first])
    assert len(set(numbers.tolist())) == len(numbers)


def test_a_dataset_is_one_value_wherever_it_comes_from():
    rows = ps.Dataset.range(3)
    for dataset in (
        ps.Dataset.from_tensors(rows),
        ps.Dataset.range(1).map(lambda i: rows),
        ps.Dataset.from_generator(lambda: iter([rows])),
        ps.Dataset.from_indexable([rows]),
        ps.experimental.from_list([rows]),
    ):
        assert isinstance(dataset.first(), ps.Dataset)
        assert [int(i) for i in dataset.flat_map(lambda each: each)] == [0, 1, 2]
    pairs = ps.Dataset.from_tensors((rows, 1)).flat_map(lambda each, number: each)
    assert [int(i) for i in pairs] == [0, 1, 2]
