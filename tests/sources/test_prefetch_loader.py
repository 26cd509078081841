"""ps.prefetch: the items of any loader, produced ahead of use."""

import threading

import pytest

import penstock as ps
from contract import Boom, assert_frees_threads


class Loader:
    """The interface of other libraries' data loaders."""

    def __init__(self, items):
        self.items = items
        self.passes = 0

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        self.passes += 1
        return iter(self.items)


@pytest.fixture
def items():
    return [object(), [1, 2], {"a": None}, None, (1, "b"), "text", 5]


@pytest.mark.parametrize("size", [1, 2, 100, ps.AUTOTUNE])
def test_items_are_the_same_objects(items, size):
    came = list(ps.prefetch(lambda: iter(items), size))
    assert len(came) == len(items)
    assert all(a is b for a, b in zip(came, items, strict=True))


def test_a_list_a_loader_and_a_generator_can_be_given(items):
    def generator():
        yield from items

    for source in (items, Loader(items), generator, generator(), tuple(items), iter(items)):
        assert list(ps.prefetch(source)) == items


def test_a_loader_is_iterated_again_for_each_pass(items):
    loader = Loader(items)
    prefetched = ps.prefetch(loader)
    assert list(prefetched) == list(prefetched) == items
    assert loader.passes == 2


def test_a_generator_function_is_called_again_for_each_pass():
    calls = []

    def generator():
        calls.append(1)
        yield from range(3)

    prefetched = ps.prefetch(generator)
    assert [list(prefetched) for _ in range(3)] == [[0, 1, 2]] * 3
    assert len(calls) == 3


def test_a_generator_object_gives_its_items_once():
    prefetched = ps.prefetch(i for i in range(3))
    assert list(prefetched) == [0, 1, 2]
    assert list(prefetched) == []


def test_an_object_with_indices_only_ends_with_its_length():
    class Endless:  # accepts any index, like many Keras PyDatasets
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return f"item {i}"

    loader = ps.prefetch(Endless())
    assert len(loader) == 3
    for _ in range(2):
        assert list(loader) == ["item 0", "item 1", "item 2"]


def test_the_length_is_the_original_s(items):
    assert len(ps.prefetch(items)) == len(ps.prefetch(Loader(items))) == len(items)
    with pytest.raises(TypeError):
        len(ps.prefetch(i for i in range(3)))
    with pytest.raises(TypeError):
        len(ps.prefetch(lambda: iter(items)))


def test_a_prefetched_loader_without_length_can_be_listed():
    assert list(ps.prefetch(lambda: (i for i in range(4)))) == [0, 1, 2, 3]


def test_break_closes_the_generator_and_frees_the_thread():
    def run():
        closed = threading.Event()

        def generator():
            try:
                yield from range(10**9)
            finally:
                closed.set()

        for item in ps.prefetch(generator):
            if item == 3:
                break
        assert closed.wait(60)

    assert_frees_threads(run)


def test_an_exception_comes_at_its_place_and_ends_the_pass():
    def generator():
        yield 1
        yield 2
        raise Boom("here")

    it = iter(ps.prefetch(generator))
    assert [next(it), next(it)] == [1, 2]
    with pytest.raises(Boom, match="here") as error:
        next(it)
    assert list(it) == []
    assert error.traceback[-1].name == "generator"


def test_no_more_than_the_buffer_is_produced_ahead():
    produced = []
    waiting = threading.Event()

    def generator():
        for i in range(100):
            produced.append(i)
            if i == 2:
                waiting.set()
            yield i

    with iter(ps.prefetch(generator, 2)) as it:
        assert next(it) == 0
        assert waiting.wait(60)
        # One taken, two in the buffer, one about to be added.
        assert len(produced) <= 4


@pytest.mark.parametrize("thing", [3, None, 2.5])
def test_what_cannot_be_iterated_is_refused(thing):
    with pytest.raises(TypeError, match="prefetch: a generator function or an iterable"):
        ps.prefetch(thing)


@pytest.mark.parametrize("size", [0, -2])
def test_buffers_of_no_size_are_refused(size):
    with pytest.raises(ValueError, match="prefetch: buffer_size"):
        ps.prefetch([1], size)


def test_repr_shows_the_source():
    assert repr(ps.prefetch([1, 2])) == "penstock.prefetch([1, 2])"
