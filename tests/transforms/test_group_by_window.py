"""group_by_window: elements with equal keys are grouped, and windows of them become datasets."""

import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


def third(x):
    return x % 3


def pairs(key, window):
    return window.batch(2)


def as_text(key, window):
    return window.batch(100).map(lambda batch: f"{key}: {' '.join(map(str, batch.tolist()))}")


def groups(items, key_of, size_of):
    """Return the expected windows, as (key, items)."""
    waiting = {}
    for item in items:
        key = key_of(item)
        waiting.setdefault(key, []).append(item)
        if len(waiting[key]) == size_of(key):
            yield key, waiting.pop(key)
    yield from sorted(waiting.items())


def texts(items, key_of, size_of):
    return [f"{k}: {' '.join(map(str, w))}" for k, w in groups(items, key_of, size_of)]


def numbers():
    return ps.Dataset.range(20)


def odd_key(x):
    return (x * 7) % 5 - 2


def odd_size(key):
    return abs(key) + 1


def words(key, window):
    return window.map(lambda pair: f"{key}{pair['word']}").repeat(2)


class TestGroupByWindow(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.group_by_window(third, as_text, window_size=3))
    expected = texts(range(20), lambda x: x % 3, lambda key: 3)


class TestGroupsOfSeveralElementsAndSizes(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(14).map(int))
    apply = staticmethod(
        lambda ds: ds.group_by_window(odd_key, pairs, window_size_func=odd_size).map(repr)
    )
    expected = [
        repr(np.array(w[at : at + 2]))
        for _, w in groups(range(14), odd_key, odd_size)
        for at in range(0, len(w), 2)
    ]


class TestGroupsOfStructures(DatasetContract):
    source = staticmethod(
        lambda: ps.Dataset.from_tensor_slices({"word": list("abcdefghij"), "n": [1, 2] * 5})
    )
    apply = staticmethod(lambda ds: ds.group_by_window(lambda e: e["n"], words, 2))
    pickles = False
    expected = [
        f"{n}{w}"
        for n, ws in [(1, "ac"), (2, "bd"), (1, "eg"), (2, "fh"), (1, "i"), (2, "j")]
        for w in ws * 2
    ]


class TestGroupsOfParallelMaps(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12).map(int, num_parallel_calls=3))
    apply = staticmethod(lambda ds: ds.group_by_window(third, as_text, window_size=2).prefetch(2))
    expected = texts(range(12), lambda x: x % 3, lambda key: 2)


# tf.data 2.21's results.
def test_windows_are_those_of_tf_data():
    def run(n, key_func, reduce_func, **sizes):
        ds = ps.Dataset.range(n).group_by_window(key_func, reduce_func, **sizes)
        return [x.tolist() for x in ds]

    assert run(10, third, pairs, window_size=2) == [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]]
    assert run(10, third, pairs, window_size=5) == [[0, 3], [6, 9], [1, 4], [7], [2, 5], [8]]
    assert run(
        10,
        lambda x: -x % 3 - 1,
        lambda key, w: w.batch(10).map(lambda b: np.concatenate([[key], b])),
        window_size_func=lambda key: key + 5,
    ) == [[-1, 0, 3, 6, 9], [0, 2, 5, 8], [1, 1, 4, 7]]
    evens = run(10, lambda x: x % 2, lambda key, w: w.filter(lambda x: key == 0), window_size=2)
    assert evens == [0, 2, 4, 6, 8]
    assert run(0, third, pairs, window_size=2) == []


def test_the_cardinality_is_unknown_or_infinite():
    assert numbers().group_by_window(third, pairs, 2).cardinality() == ps.UNKNOWN_CARDINALITY
    endless = numbers().repeat().group_by_window(third, pairs, 2)
    assert endless.cardinality() == ps.INFINITE_CARDINALITY
    assert_same(list(endless.take(2)), [np.array([0, 3]), np.array([1, 4])])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16, np.uint64, np.int64, bool])
def test_keys_may_be_of_any_whole_type(dtype):
    ds = ps.Dataset.range(4).group_by_window(
        lambda x: dtype(x % 2), lambda key, w: w.map(lambda x: (key, x)), 2
    )
    assert_same(list(ds), [(0, 0), (0, 2), (1, 1), (1, 3)])


@pytest.mark.parametrize("key", [1.5, "a", (1, 2), [1, 2], None])
def test_keys_that_are_no_int_are_an_error_of_their_element(key):
    ds = ps.Dataset.range(3).group_by_window(lambda x: key if x == 1 else 0, as_text, 5)
    came = steps(iter(ds))
    assert came[0].kind == "TypeError"
    assert came[0].text.startswith("group_by_window: key_func must return one int, got ")
    assert came[1:] == ["0: 0 2"]


def test_wrong_arguments_are_refused():
    ds = numbers()
    with pytest.raises(ValueError, match=r"group_by_window: either window_size or .* got none"):
        ds.group_by_window(third, pairs)
    with pytest.raises(ValueError, match="got both"):
        ds.group_by_window(third, pairs, 2, odd_size)
    with pytest.raises(ValueError, match="group_by_window: window_size must be >= 1, got 0"):
        ds.group_by_window(third, pairs, 0)
    with pytest.raises(TypeError, match="group_by_window: key_func must be callable, got 3"):
        ds.group_by_window(3, pairs, 2)
    with pytest.raises(TypeError, match="window_size_func must be callable"):
        ds.group_by_window(third, pairs, window_size_func=4)


def test_errors_of_each_function_leave_the_others():
    def key(x):
        if x == 4:
            raise Boom("key of 4")
        return x % 3

    def size(key):
        return 0 if key == 2 else 2

    def reduce(key, window):
        if [int(x) for x in window] == [1, 7]:
            raise Boom("window of 1 and 7")
        return window.map(lambda x: fail(x))

    def fail(x):
        if x == 3:
            raise Boom("inside at 3")
        return x

    ds = ps.Dataset.range(12).group_by_window(key, reduce, window_size_func=size)
    came = steps(iter(ds))
    bad_size = [s for s in came if isinstance(s, Failure) and s.kind == "ValueError"]
    assert [s.text for s in bad_size] == [
        "group_by_window: window_size_func must return a size >= 1, got 0 for key 2"
    ] * 4
    assert [s for s in came if s not in bad_size] == [
        0,
        Failure("Boom", "inside at 3"),
        Failure("Boom", "key of 4"),
        Failure("Boom", "window of 1 and 7"),
        6,
        9,
        10,
    ]


def test_errors_name_the_element_and_the_window():
    def boom(*_):
        raise Boom

    for ds in (
        numbers().skip(2).group_by_window(boom, pairs, 2),
        numbers().group_by_window(third, boom, 2),
    ):
        it = iter(ds)
        for number in range(2):
            with pytest.raises(Boom) as raised:
                next(it)
            (note,) = raised.value.__notes__
            assert note.startswith("penstock: in stage group_by_window(")
            assert f"), element {number}" in note


def test_what_is_no_dataset_is_an_error():
    came = steps(iter(numbers().group_by_window(third, lambda key, w: key, 10)))
    assert [f.kind for f in came] == ["TypeError"] * 3
    assert "group_by_window: the function must return a Dataset" in came[0].text


def test_native_keys_give_the_same():
    ds = ps.Dataset.range(20).enumerate()
    plain = ds.group_by_window(lambda i, x: x % 3, lambda key, w: w.batch(4), 4)
    native = ds.group_by_window(ps.native(lambda i, x: x % 3), lambda key, w: w.batch(4), 4)
    assert_same(list(native), list(plain))
    sizes = ds.group_by_window(
        ps.native(lambda i, x: x % 3),
        ps.native(lambda key, w: w.batch(4)),
        window_size_func=ps.native(lambda key: key * 0 + 4),
    )
    assert_same(list(sizes), list(plain))


def test_a_rare_key_holds_back_neither_elements_nor_states():
    ds = ps.Dataset.range(5000).group_by_window(lambda x: x == 1, lambda key, w: w.batch(2), 2)
    it = iter(ds)
    for _ in range(2000):
        next(it)
    state = it.get_state()
    assert len(state) < 500
    rest = list(it)
    again = iter(ds)
    again.set_state(state)
    assert_same(list(again), rest)
    assert_same(rest[-2:], [np.array([4999]), np.array([1])])


def test_a_state_may_be_restored_by_a_pipeline_with_other_threads():
    def run(calls):
        ds = ps.Dataset.range(30).map(int, num_parallel_calls=calls)
        return ds.group_by_window(third, pairs, 4).prefetch(1 if calls else 3)

    whole = list(run(None))
    for at in range(len(whole)):
        it = iter(run(None))
        for _ in range(at):
            next(it)
        other = iter(run(4))
        other.set_state(it.get_state())
        assert_same(list(other), whole[at:])
        it.close()


def test_a_state_whose_input_has_changed_is_an_error():
    def run(n):
        return ps.Dataset.from_tensor_slices(np.arange(n)).group_by_window(third, as_text, 9)

    it = iter(run(40))
    next(it)
    other = iter(run(5))
    with pytest.warns(RuntimeWarning, match="the state is of other data"):
        other.set_state(it.get_state(), strict=False)
    came = steps(other)
    assert came[0].kind == "RuntimeError"
    assert "group_by_window: the input has other elements" in came[0].text
    assert len(came) == 1


def test_the_size_of_a_key_is_asked_for_once():
    asked = []

    def size(key):
        asked.append(int(key))
        return 2

    list(numbers().group_by_window(third, pairs, window_size_func=size))
    assert asked == [0, 1, 2]


def test_random_numbers_belong_to_windows_whatever_the_parallelism():
    def noisy(key, window):
        return window.map(lambda x: ps.random.uniform(()))

    def run(calls):
        ps.random.set_seed(11)
        ds = ps.Dataset.range(40).map(int, num_parallel_calls=calls)
        ds = ds.group_by_window(third, noisy, 5).map(
            lambda r: (r, ps.random.uniform(())), num_parallel_calls=calls
        )
        return list(ds)

    first = run(None)
    assert_same(run(4), first)
    assert len({float(x) for pair in first for x in pair}) == 80


def test_functions_may_ask_for_rng_each_for_itself():
    def shuffled(key, window, *, rng):
        order = rng.permutation(4)
        return window.batch(4).map(lambda batch: batch[order])

    ps.random.set_seed(5)
    came = list(ps.Dataset.range(8).group_by_window(lambda x: x % 2, shuffled, 4))
    assert [sorted(batch.tolist()) for batch in came] == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_a_group_may_be_filled_and_closed_at_the_same_time():
    reached, free = threading.Event(), threading.Event()

    def slow(x):
        if x == 3:
            reached.set()
            free.wait()
        return 0

    it = iter(ps.Dataset.range(10**9).group_by_window(slow, pairs, 10**8))
    reader = threading.Thread(target=lambda: next(it, None))
    reader.start()
    reached.wait()
    closer = threading.Thread(target=it.close)
    closer.start()
    free.set()
    closer.join()
    reader.join()
    assert list(it) == []


def test_the_experimental_form_is_the_same():
    form = ps.experimental.group_by_window(third, pairs, window_size=4)
    assert_same(list(numbers().apply(form)), list(numbers().group_by_window(third, pairs, 4)))
