"""from_generator: values of a Python function, with and without a signature."""

import functools

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps
from penstock.stream_states import decoded, encoded


def letters():
    for i in range(9):
        yield i, "abcdefghi"[i]


def count(n, step=1):
    yield from range(0, n, step)


def squares():
    return [np.full(2, i * i, np.float32) for i in range(6)]


class TestGenerator(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_generator(letters))
    expected = list(letters())


class TestGeneratorWithSignature(DatasetContract):
    build = staticmethod(
        lambda: ps.Dataset.from_generator(
            functools.partial(zip, range(6), [[i, i + 1] for i in range(6)]),
            output_signature=(ps.TensorSpec((), np.int8), ps.TensorSpec((2,), np.float32)),
        )
    )
    expected = [(np.int8(i), np.array([i, i + 1], np.float32)) for i in range(6)]


class TestFunctionThatReturnsAList(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_generator(squares))
    expected = squares()


class TestEmptyGenerator(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_generator(count, args=(0,)))
    expected = []

    def test_element_spec_accepts_every_element(self):
        with pytest.raises(ValueError, match=r"element_spec: .*output_signature"):
            self.build().element_spec


def test_arguments_come_as_numpy_values():
    seen = []

    def generator(*args):
        seen.extend(args)
        yield 0

    list(ps.Dataset.from_generator(generator, args=(3, [1, 2], "a")))
    assert_same(seen, [np.int64(3), np.array([1, 2]), "a"])


def test_an_argument_of_its_own_may_be_called_rng():
    def numbers(count, rng=None):
        assert rng is None
        yield from range(count)

    signature = ps.TensorSpec((), np.int64)
    ds = ps.Dataset.from_generator(numbers, output_signature=signature, args=(3,))
    assert list(ds) == [0, 1, 2]


def test_each_iteration_calls_the_function_anew():
    calls = []

    def generator():
        calls.append(1)
        yield from range(3)

    ds = ps.Dataset.from_generator(generator)
    assert calls == []
    assert_same([*ds, *ds, *ds.repeat(2)], [0, 1, 2] * 4)
    assert len(calls) == 4


@pytest.mark.parametrize(
    "wrap", [lambda ds: ds, lambda ds: ds.prefetch(2), lambda ds: ds.batch(4).unbatch()]
)
def test_an_array_may_be_used_again(wrap):
    def reusing():
        array = np.zeros(3)
        for i in range(8):
            array[:] = i
            yield array
            array[:] = -1

    assert_same(
        list(wrap(ps.Dataset.from_generator(reusing))), [np.full(3, float(i)) for i in range(8)]
    )


def test_a_generator_object_is_refused_with_advice():
    with pytest.raises(TypeError, match=r"from_generator: .*without calling it"):
        ps.Dataset.from_generator(letters())


@pytest.mark.parametrize("thing", [[1, 2], 3, None])
def test_what_cannot_be_called_is_refused_with_advice(thing):
    with pytest.raises(TypeError, match=r"from_generator: .*lambda: iterable"):
        ps.Dataset.from_generator(thing)


def test_a_function_that_returns_no_iterable_is_an_error():
    assert steps(iter(ps.Dataset.from_generator(lambda: 5))) == [
        Failure(
            "TypeError", "from_generator: the generator function must return an iterable, got 5"
        )
    ]


@pytest.mark.parametrize(
    ("spec", "bad"),
    [
        (ps.TensorSpec((), np.int64), "seven"),
        (ps.TensorSpec((), np.int64), [7, 7]),
        (ps.TensorSpec((2,), np.float32), [1.0, 2.0, 3.0]),
        (ps.TensorSpec((), str), 7777),
        ((ps.TensorSpec((), np.int64), ps.TensorSpec((), np.int64)), 7777),
        (ps.TensorSpec((2,), np.int64), [[1], [2, 3]]),
    ],
)
def test_a_value_that_does_not_match_the_signature_is_shown(spec, bad):
    def generator():
        yield bad

    came = steps(iter(ps.Dataset.from_generator(generator, output_signature=spec)))
    assert [f.kind for f in came] == ["TypeError"]
    assert repr(bad) in came[0].text
    assert came[0].text.startswith("from_generator: ")


def test_a_wrong_value_leaves_the_others():
    ds = ps.Dataset.from_generator(
        lambda: iter([1, "two", 3]), output_signature=ps.TensorSpec((), np.int64)
    )
    for variant in (ds, ds.prefetch(1), ds.map(lambda x: x, num_parallel_calls=2)):
        came = steps(iter(variant))
        assert came[0] == 1
        assert came[1].kind == "TypeError"
        assert came[2:] == [3]


def test_types_and_shapes_are_the_older_signature():
    ds = ps.Dataset.from_generator(
        lambda: iter([(1, [2, 3])]), output_types=(np.int32, np.float64), output_shapes=((), (2,))
    )
    assert_same(list(ds), [(np.int32(1), np.array([2.0, 3.0]))])
    assert ds.element_spec == (ps.TensorSpec((), np.int32), ps.TensorSpec((2,), np.float64))
    only_types = ps.Dataset.from_generator(lambda: iter([{"a": 1}]), output_types={"a": np.float32})
    assert_same(list(only_types), [{"a": np.float32(1)}])


@pytest.mark.parametrize(
    "arguments",
    [
        {"output_types": np.int64, "output_signature": ps.TensorSpec((), np.int64)},
        {"output_shapes": ()},
    ],
)
def test_contradicting_signatures_are_refused(arguments):
    with pytest.raises(TypeError, match="from_generator: output_"):
        ps.Dataset.from_generator(letters, **arguments)


@pytest.mark.parametrize("ahead", [None, 1, 3])
def test_an_exception_of_the_generator_comes_once_and_ends_the_data(ahead):
    def failing():
        yield 0
        yield 1
        raise Boom("in the generator")

    ds = ps.Dataset.from_generator(failing)
    ds = ds if ahead is None else ds.prefetch(ahead)
    it = iter(ds)
    assert steps(it) == [0, 1, Failure("Boom", "in the generator")]
    with pytest.raises(StopIteration):
        next(it)
    with pytest.raises(Boom) as error:
        list(ds)
    assert any("from_generator" in note for note in error.value.__notes__)


def test_a_failing_epoch_is_followed_by_the_next():
    def failing():
        yield 0
        raise Boom("x")

    ds = ps.Dataset.from_generator(failing).repeat(2)
    assert steps(iter(ds)) == [0, Failure("Boom", "x")] * 2


def test_closing_the_iterator_closes_the_generator():
    closed = []

    def generator():
        try:
            yield from range(100)
        finally:
            closed.append(1)

    for ds in (
        ps.Dataset.from_generator(generator),
        ps.Dataset.from_generator(generator).prefetch(2),
    ):
        closed.clear()
        with iter(ds) as it:
            next(it)
        assert closed == [1]


@pytest.mark.parametrize("bad", [(1, 2), {"a": 1}, "a", 1.5, np.zeros(2, np.float32)])
def test_the_first_value_fixes_structure_and_dtype(bad):
    ds = ps.Dataset.from_generator(lambda: iter([0, bad, 2]))
    for same in (ds, ds.prefetch(3), ds.map(lambda x: x, num_parallel_calls=2)):
        came = steps(iter(same))
        assert [came[0], came[2]] == [0, 2]
        assert came[1].kind == "TypeError"
        assert came[1].text.startswith("from_generator: ")


def shapes():
    for i in range(9):
        yield np.zeros(i % 3), "x" * i


class TestShapesMayChange(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_generator(shapes).prefetch(4))
    expected = list(shapes())

    def test_element_spec_accepts_every_element(self):
        super().test_element_spec_accepts_every_element()
        spec = self.build().element_spec
        assert spec == (ps.TensorSpec((None,), np.float64), ps.TensorSpec((), str))


def test_after_a_restore_the_first_value_is_still_the_standard():
    def rows():
        for i in range(6):
            yield {"another": i} if i == 3 else np.full(i % 2, i)

    ds = ps.Dataset.from_generator(rows)
    with iter(ds) as it:
        came = [next(it) for _ in range(3)]
        state = it.get_state()
    with iter(ds) as it:
        it.set_state(state)
        came += steps(it)
    assert_same(came, steps(iter(ds)))
    assert "element 3" in came[3].text


# --- passes without values ---


@pytest.mark.parametrize("ahead", [0, 2])
@pytest.mark.parametrize("epochs", ["two loops", "repeat"])
def test_a_pass_without_values_after_one_with_values_warns_once(epochs, ahead):
    values = iter(range(3))
    ds = ps.Dataset.from_generator(lambda: values)
    ds = (ds.prefetch(ahead) if ahead else ds).repeat(2 if epochs == "repeat" else 1)
    with pytest.warns(RuntimeWarning, match="from_generator: this pass has no values") as warned:
        assert [int(x) for _ in range(3) for x in ds] == [0, 1, 2]
    assert len(warned) == 1


def test_passes_that_never_have_values_do_not_warn(recwarn):
    ds = ps.Dataset.from_generator(lambda: [], output_signature=ps.TensorSpec((), np.int64))
    assert [list(ds) for _ in range(2)] == [[], []]
    again = ps.Dataset.from_generator(lambda: [1])
    assert [len(list(again.repeat(2))) for _ in range(2)] == [2, 2]
    left = iter(again.repeat())
    next(left)
    left.close()
    assert list(again) == [1]
    assert [str(each.message) for each in recwarn] == []


def test_a_loader_that_can_be_iterated_once_warns_under_its_name():
    loader = ps.prefetch(iter([1, 2]))
    assert list(loader) == [1, 2]
    with pytest.warns(RuntimeWarning, match="prefetch: this pass has no values"):
        assert list(loader) == []


class Counting:
    """An iterable with a state, which is also its own iterator."""

    pulled = []  # shared by all instances

    def __init__(self, values=200, kind=dict):
        self.at = 0
        self.values = values
        self.kind = kind

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == self.values:
            raise StopIteration
        self.at += 1
        self.pulled.append(self.at - 1)
        return self.at - 1

    def state_dict(self):
        return self.kind(at=self.at)

    def load_state_dict(self, state):
        self.at = state["at"]


class WithIterator:
    """An iterable whose iterator holds the state."""

    def __iter__(self):
        return Counting()


class OfBoth(Counting):
    """An iterable and an iterator with separate states."""

    def __iter__(self):
        while self.at < self.values:
            Counting.pulled.append(self.at)
            self.at += 1
            yield self.at - 1


def after(build, position):
    """Return the values of a restored iterator, and the values requested from its source."""
    it = iter(build())
    for _ in range(position):
        next(it)
    state = it.get_state()
    it.close()
    del Counting.pulled[:]
    restored = iter(build())
    restored.set_state(state, strict=False)
    return list(restored), list(Counting.pulled)


@pytest.mark.parametrize("source", [Counting, WithIterator, OfBoth])
@pytest.mark.parametrize("position", [0, 1, 50, 199, 200])
def test_an_iterable_is_restored_from_its_own_state(source, position):
    rest, pulled = after(lambda: ps.Dataset.from_generator(source), position)
    assert rest == pulled == list(range(position, 200))


BEFORE_CONSUMER = {
    "batch": lambda ds: ds.batch(7),
    "prefetch": lambda ds: ds.prefetch(8),
    "map": lambda ds: ds.map(lambda x: x + 1, num_parallel_calls=3).batch(3).prefetch(2),
    "shuffle": lambda ds: ds.shuffle(20, seed=1),
    "shapes": lambda ds: ds.map(lambda x: np.zeros(int(x) % 3)).ragged_batch(4),
    "interleave": lambda ds: ps.Dataset.range(2).interleave(lambda _: ds, num_parallel_calls=2),
}


@pytest.mark.parametrize("stages", BEFORE_CONSUMER)
@pytest.mark.parametrize("position", [0, 1, 5, 20])
def test_stages_after_an_iterable_with_a_state_are_restored(stages, position):
    def build():
        return BEFORE_CONSUMER[stages](ps.Dataset.from_generator(Counting))

    whole = list(build())
    rest, pulled = after(build, position)
    assert_same(rest, whole[position:])
    assert pulled


def test_a_state_moves_between_threads_and_worker_processes():
    def build(executor):
        return ps.Dataset.from_generator(Counting, executor=executor)

    it = iter(build("thread"))
    for _ in range(50):
        next(it)
    process = iter(build("process"))
    process.set_state(it.get_state(), strict=False)
    for _ in range(10):
        next(process)
    state = process.get_state()
    assert [int(x) for x in process] == list(range(60, 200))
    del Counting.pulled[:]
    thread = iter(build("thread"))
    thread.set_state(state, strict=False)
    assert [int(x) for x in thread] == list(range(60, 200))
    assert Counting.pulled == list(range(50, 200))


def opaque(at):
    return {"at": at, "what": object()}


def raises(at):
    raise ValueError("no state yet")


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (opaque, r"state_dict of Counting returned a value of type object at \['what'\]"),
        (raises, "state_dict of Counting raised ValueError: no state yet"),
    ],
)
@pytest.mark.parametrize("size", [0, 4])
def test_get_state_refuses_what_a_state_cannot_store(kind, why, size):
    ds = ps.Dataset.from_generator(lambda: Counting(kind=kind)).prefetch(size)
    it = iter(ds)
    got = [next(it) for _ in range(150)]
    with pytest.raises(ps.StateError, match=f"get_state: from_generator: {why}"):
        it.get_state()
    assert [*got, *it] == list(range(200))


def test_a_state_of_an_iterable_needs_its_methods():
    it = iter(ps.Dataset.from_generator(Counting))
    next(it)
    other = iter(ps.Dataset.from_generator(lambda: range(200)))
    other.set_state(it.get_state(), strict=False)
    with pytest.raises(ps.StateError, match="expected the same methods here"):
        next(other)


VALUES = {
    "numbers": [1, -(2**70), 0.5, True, None],
    "text": ["a", "\u00e4", b"\x00\xff", bytearray(b"x")],
    "containers": ((1, [2]), {3: {"a": (4,)}}, {5}, frozenset("b")),
    "arrays": [np.arange(6, dtype=np.int16).reshape(2, 3), np.float32(0.5), np.array("t")],
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_a_state_are_saved_as_they_are(name):
    read = decoded(encoded(VALUES[name]))
    assert repr(read) == repr(VALUES[name])
