"""interleave: datasets read alternately; sequential and parallel runs have the same order."""

import itertools
import random
import threading

import pytest

import oracle
import penstock as ps
from compare import assert_same, assert_same_unordered
from contract import Boom, DatasetContract, Failure, assert_frees_threads, steps


def reference(lists, cycle, block):
    return list(oracle.interleave(lists, cycle, block))


def numbers():
    return ps.Dataset.range(8)


def some(n):
    """Return a dataset of n % 5 elements that identify their origin."""
    return ps.Dataset.range(n % 5).map(lambda x: 100 * n + x)


def some_list(n):
    return [100 * n + x for x in range(n % 5)]


SOME = reference([some_list(n) for n in range(8)], 3, 2)


class TestInterleave(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.interleave(some, cycle_length=3, block_length=2))
    expected = SOME


class TestParallelInterleave(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.interleave(
            some, cycle_length=8, block_length=2, num_parallel_calls=num_parallel_calls
        )
    )
    expected = reference([some_list(n) for n in range(8)], 8, 2)


class TestAutotunedInterleave(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.interleave(some, 3, 2, num_parallel_calls=ps.AUTOTUNE))
    expected = SOME


class TestReadingFarAhead(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds: ds.interleave(
            some, 3, 2, num_parallel_calls=3, buffer_output_elements=9, prefetch_input_elements=6
        )
    )
    expected = SOME


class TestReadingHardlyAhead(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds: ds.interleave(
            some, 3, 2, num_parallel_calls=2, buffer_output_elements=1, prefetch_input_elements=0
        )
    )
    expected = SOME


class TestUnordered(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds: ds.interleave(some, 3, 2, num_parallel_calls=2, deterministic=False)
    )
    expected = SOME
    ordered = False


class TestNestedInterleave(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(6))
    apply = staticmethod(
        lambda ds: ds.interleave(
            lambda n: ps.Dataset.range(n, 6).interleave(
                lambda m: (
                    ps.Dataset.from_tensors(10 * n + m)
                    .repeat(2)
                    .map(lambda x: x, num_parallel_calls=2)
                ),
                cycle_length=2,
                num_parallel_calls=2,
            ),
            cycle_length=2,
            num_parallel_calls=2,
        )
    )
    expected = reference(
        [reference([[10 * n + m] * 2 for m in range(n, 6)], 2, 1) for n in range(6)], 2, 1
    )
    pickles = False


@pytest.mark.parametrize("calls", [None, 1, 2, ps.AUTOTUNE])
def test_the_example_of_tf_data(calls):
    ds = ps.Dataset.range(1, 6).interleave(
        lambda x: ps.Dataset.from_tensors(x).repeat(6),
        cycle_length=2,
        block_length=4,
        num_parallel_calls=calls,
    )
    wanted = [1] * 4 + [2] * 4 + [1] * 2 + [2] * 2 + [3] * 4 + [4] * 4 + [3] * 2 + [4] * 2 + [5] * 6
    assert_same(list(ds), wanted)


@pytest.mark.parametrize("seed", range(12))
def test_any_lengths_come_in_the_order_of_the_reference(seed):
    draw = random.Random(seed)
    lengths = [draw.choice([0, 0, 1, 1, 2, 3, 5, 9]) for _ in range(draw.randrange(12))]
    lists = [[100 * i + j for j in range(n)] for i, n in enumerate(lengths)]

    def opened(i):
        ds = ps.Dataset.range(100 * i, 100 * i + lengths[i])
        # With and without an end that is known with the last element.
        return ds if seed % 2 else ds.filter(lambda x: True)

    for cycle, block in itertools.product((1, 2, 3, 5, 16), (1, 2, 4)):
        wanted = reference(lists, cycle, block)
        for calls in {None, 1, cycle, ps.AUTOTUNE, min(2, cycle)}:
            ds = ps.Dataset.range(len(lengths)).interleave(opened, cycle, block, calls)
            came = list(ds)
            assert came == wanted, (lengths, cycle, block, calls)
            unordered = ps.Dataset.range(len(lengths)).interleave(
                opened, cycle, block, calls, False
            )
            assert_same_unordered(list(unordered), wanted)


@pytest.mark.parametrize("calls", [1, 2, 4, ps.AUTOTUNE])
@pytest.mark.parametrize("cycle", [4, 5])
def test_errors_keep_their_places_in_parallel(calls, cycle):
    def opened(n):
        if n in (1, 6):
            raise Boom(f"outer {n}")
        return ps.Dataset.range(n % 4).map(lambda x: inner(n, x))

    def inner(n, x):
        if (n + x) % 3 == 0:
            raise Boom(f"inner {n} {x}")
        return 10 * n + x

    def make(num_parallel_calls):
        return ps.Dataset.range(9).interleave(
            opened, cycle_length=cycle, num_parallel_calls=num_parallel_calls
        )

    assert steps(iter(make(calls))) == steps(iter(make(None)))


def test_an_error_inside_leaves_the_rest_of_its_dataset():
    def inner(x):
        if x == 1:
            raise Boom("one")
        return x

    ds = ps.Dataset.range(2).interleave(lambda n: ps.Dataset.range(3).map(inner), cycle_length=2)
    came = steps(iter(ds))
    assert sorted(s for s in came if not isinstance(s, Failure)) == [0, 0, 2, 2]
    assert came.count(Failure("Boom", "one")) == 2


def test_all_datasets_of_the_cycle_are_read_at_once():
    meeting = threading.Barrier(3)

    def opened(n):
        def generator():
            meeting.wait(60)
            yield int(n)

        return ps.Dataset.from_generator(generator)

    ds = ps.Dataset.range(3).interleave(opened, cycle_length=3, num_parallel_calls=3)
    assert_same(list(ds), [0, 1, 2])


def test_unordered_passes_over_a_dataset_that_is_not_ready():
    held = threading.Event()

    def opened(n):
        def generator():
            if n == 0:
                assert held.wait(60)
            yield int(n)

        return ps.Dataset.from_generator(generator)

    ds = ps.Dataset.range(2).interleave(opened, 2, num_parallel_calls=2, deterministic=False)
    with iter(ds) as it:
        assert next(it) == 1
        held.set()
        assert_same(list(it), [0])


def test_what_is_finished_flows_on_behind_a_dataset_that_takes_long():
    held = threading.Event()

    def opened(n):
        def generator():
            if n == 1:
                assert held.wait(60)
            yield from (10 * int(n) + i for i in range(3))

        return ps.Dataset.from_generator(generator)

    def make():
        return ps.Dataset.range(300).interleave(
            opened, 3, num_parallel_calls=3, deterministic=False
        )

    with iter(make()) as it:
        came = [next(it) for _ in range(3 * 299)]
        state = it.get_state()
        held.set()
        assert_same(list(it), [10, 11, 12])
    others = [n for n in range(300) if n != 1]
    assert_same_unordered(came, [10 * n + i for n in others for i in range(3)])
    resumed = iter(make())
    resumed.set_state(state)
    assert_same(list(resumed), [10, 11, 12])


def test_the_defaults_do_not_depend_on_the_machine():
    ds = ps.Dataset.range(10).interleave(lambda n: ps.Dataset.from_tensors(n).repeat(2))
    assert_same(list(ds), reference([[n, n] for n in range(10)], 8, 1))


def test_huge_numbers_take_what_there_is():
    ds = ps.Dataset.range(3).interleave(
        some, 2, 2**62, 2, buffer_output_elements=2**62, prefetch_input_elements=2**62
    )
    assert_same(list(ds), reference([some_list(n) for n in range(3)], 2, 2**62))
    ds = ps.Dataset.range(3).interleave(some, 2, 2**62, 2)
    assert_same(list(ds), reference([some_list(n) for n in range(3)], 2, 2**62))


def test_infinite_datasets_are_closed():
    ds = ps.Dataset.range(10**9).interleave(
        lambda n: ps.Dataset.from_tensors(n).repeat(), 4, num_parallel_calls=4
    )
    assert_same(list(ds.take(6)), [0, 1, 2, 3, 0, 1])
    assert_frees_threads(lambda: list(ds.take(6)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cycle_length": 0}, "cycle_length must be >= 1, got 0"),
        ({"cycle_length": -2}, "cycle_length must be >= 1, got -2"),
        ({"block_length": 0}, "block_length must be >= 1, got 0"),
        ({"num_parallel_calls": 0}, "num_parallel_calls must be >= 1, got 0"),
        ({"num_parallel_calls": -3}, "num_parallel_calls must be >= 1, got -3"),
        ({"buffer_output_elements": 2}, "buffer_output_elements is about reading ahead"),
        ({"prefetch_input_elements": 0}, "prefetch_input_elements is about reading ahead"),
        (
            {"num_parallel_calls": 1, "buffer_output_elements": 0},
            "buffer_output_elements must be >= 1, got 0",
        ),
        (
            {"num_parallel_calls": 1, "prefetch_input_elements": -1},
            "prefetch_input_elements must be >= 0, got -1",
        ),
        (
            {"cycle_length": 2, "num_parallel_calls": 3},
            "num_parallel_calls must be at most cycle_length",
        ),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, words):
    with pytest.raises(ValueError, match=f"interleave: {words}"):
        ps.Dataset.range(3).interleave(some, **arguments)


def test_a_parallel_interleave_of_an_endless_dataset_counts_as_endless():
    ds = ps.Dataset.range(2).repeat()
    opened = ds.interleave(ps.Dataset.range, num_parallel_calls=2)
    assert opened.cardinality() == ps.INFINITE_CARDINALITY
    assert ds.interleave(ps.Dataset.range).cardinality() == ps.UNKNOWN_CARDINALITY


@pytest.mark.parametrize("saved_failing", [True, False])
def test_a_dataset_opened_ahead_may_fail_only_sometimes(saved_failing):
    """A failure may exist only when the state is saved, or only after it is restored."""
    failing = saved_failing
    opened = []

    def opens(x):
        opened.append(int(x))
        if failing and x == 2:
            raise OSError("unreachable")
        return ps.Dataset.range(10 * x, 10 * x + 3)

    ds = ps.Dataset.range(4).interleave(
        ps.ignored(opens), cycle_length=1, num_parallel_calls=1, prefetch_input_elements=2
    )
    it = iter(ds)
    assert [next(it), next(it)] == [0, 1]
    assert 2 in opened
    state = it.get_state()
    failing = not saved_failing
    again = iter(ds)
    again.set_state(state)
    rest = [next(again) for _ in range(4)]
    assert rest == [2, 10, 11, 12]
    if not saved_failing:
        with pytest.raises(OSError, match="unreachable"):
            next(again)
        assert list(again) == [30, 31, 32]
    else:
        assert list(again) == [20, 21, 22, 30, 31, 32]
