"""The shared tests of every dataset: a subclass sets `build` and `expected`."""

import dataclasses
import functools
import inspect
import itertools
import os
import pickle
import threading
import time
from typing import NamedTuple

import pytest

import penstock as ps
from compare import assert_fits, assert_same, assert_same_unordered
from nightly import NIGHTLY
from spoiling import spoiled

MOST_STATE = 4096  # bytes
MOST_STEPS = 10_000  # bounds infinite iterators
BOOM = 4  # index of the failing element in error tests
STATES = 6  # states that a test saves, evenly spaced; nightly runs save one at every step


class Variant(NamedTuple):
    """The settings of a run: num_parallel_calls of the tested stage, and a prefetch after it."""

    calls: int | None = None
    ahead: int | None = None

    def __str__(self):
        return f"calls={self.calls}" if self.ahead is None else f"prefetch={self.ahead}"


AHEAD = [Variant(), Variant(ahead=1), Variant(ahead=3)]
PARALLEL = [Variant(calls=1), Variant(calls=2), Variant(calls=8)]


class Boom(Exception):
    """The error that failing functions in tests raise."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """An error at its position among the elements."""

    kind: str
    text: str


def fail_at(bad):
    """Return a function that raises `Boom` for the (index, element) pair with index `bad`."""
    return functools.partial(_fail_at, bad)


def _fail_at(bad, number, element):
    if number == bad:
        raise Boom(f"element {bad}")
    return element


def _keep_all_but(bad, fails, number, element):
    if number == bad and fails:
        raise Boom(f"element {bad}")
    return number != bad


def _second(number, element):
    return element


def _same(*parts):
    return parts[0] if len(parts) == 1 else parts


def _came(*parts):
    return spoiled(_same(*parts))[0]


def without(bad, fails=False):
    """Return a function of datasets that drops element `bad`, or makes it fail.

    The stages are the same in both cases, so that random orders after them are identical.
    """
    keep = functools.partial(_keep_all_but, bad, fails)
    return lambda ds: ds.enumerate().filter(keep).map(_second)


def needs(attribute):
    """Collect a test only for classes where this attribute is true; conftest.py applies it."""

    def mark(test):
        test.needs = attribute
        return test

    return mark


def steps(iterator, most=MOST_STEPS):
    """List all steps until the end: elements, and errors as `Failure`."""
    came = []
    while len(came) < most:
        try:
            came.append(next(iterator))
        except StopIteration:
            return came
        except Exception as error:
            came.append(Failure(type(error).__name__, str(error)))
    raise AssertionError(f"no end after {most} steps: {came[-3:]!r}")


def step(iterator):
    """Return the next element, or its `Failure`."""
    try:
        return next(iterator)
    except StopIteration:
        raise
    except Exception as error:
        return Failure(type(error).__name__, str(error))


def threads():
    """Return all threads of this process, including native ones."""
    return set(os.listdir("/proc/self/task"))  # noqa: PTH208


def saved_steps(items):
    """Return the steps at which a test saves a state, as numbers of preceding items."""
    if NIGHTLY:
        return range(len(items) + 1)
    failures = (i for i, item in enumerate(items) if isinstance(item, Failure))
    spaced = {round(i * len(items) / (STATES - 1)) for i in range(STATES)}
    return spaced | {next(failures, 0) + 1}


def assert_frees_threads(run, seconds=5.0):
    """Fail if repeated calls of `run` leak threads.

    Idle threads are kept for a while for the next run, so the test compares their numbers.
    """
    runs = 8
    for _ in range(3):
        run()
    before = len(threads())
    for _ in range(runs):
        run()
    pause = threading.Event()
    deadline = time.monotonic() + seconds
    while len(threads()) >= before + runs and time.monotonic() < deadline:
        pause.wait(0.005)
    left = len(threads()) - before
    assert left < runs, f"{left} threads more after {runs} runs: {threading.enumerate()}"


class DatasetContract:
    """Base class for the tests of one source or transformation.

    A subclass sets ``expected``, the list of elements (or a function that returns it), and either

    - ``build``, a staticmethod without arguments, or with ``num_parallel_calls``, that returns a
      new Dataset; or
    - ``source`` (like `build`) and ``apply``, a staticmethod that takes a dataset (and perhaps
      ``num_parallel_calls``) and returns the transformed one. Errors are then also tested upstream.
      By default ``apply`` must return the same elements as for the source without the failed
      element, plus one error; override `expected_around_error` to change this.
    """

    expected = None
    source = None
    apply = None
    ordered = True  # False: any order is correct (deterministic=False)
    reshuffles = False  # every epoch has a different order
    pickles = True
    errors_upstream = 1  # number of errors that the failed element causes

    # --- derived from the subclass ---

    @classmethod
    def takes_calls(cls):
        function = cls.apply or cls.build
        return "num_parallel_calls" in inspect.signature(function).parameters

    @classmethod
    def make(cls, variant, upstream=None):
        calls = {"num_parallel_calls": variant.calls} if cls.takes_calls() else {}
        if cls.apply:
            source = cls.source()
            ds = cls.apply(upstream(source) if upstream else source, **calls)
        else:
            ds = cls.build(**calls)
        return ds if variant.ahead is None else ds.prefetch(variant.ahead)

    @classmethod
    def wanted(cls):
        return cls.expected() if callable(cls.expected) else cls.expected

    def expected_around_error(self):
        """Return the expected elements when element `BOOM` of the source fails."""
        return list(self.make(Variant(), without(BOOM)))

    def check(self, came, wanted):
        (assert_same if self.ordered else assert_same_unordered)(came, wanted)

    def check_steps(self, came, wanted):
        """Compare lists that may contain errors."""

        def elements(items):
            return [item for item in items if not isinstance(item, Failure)]

        self.check(elements(came), elements(wanted))
        if self.ordered:
            assert [i for i, s in enumerate(came) if isinstance(s, Failure)] == [
                i for i, s in enumerate(wanted) if isinstance(s, Failure)
            ]
        assert [s for s in came if isinstance(s, Failure)] == [
            s for s in wanted if isinstance(s, Failure)
        ]

    @classmethod
    def variants(cls):
        """List the variants to test. The last one uses threads."""
        if NIGHTLY:
            return AHEAD + PARALLEL if cls.takes_calls() else AHEAD
        return [Variant(), Variant(calls=2) if cls.takes_calls() else Variant(ahead=3)]

    def pytest_generate_tests(self, metafunc):
        if "variant" in metafunc.fixturenames:
            metafunc.parametrize("variant", self.variants(), ids=str)
        if "threaded" in metafunc.fixturenames:
            threaded = self.variants() if NIGHTLY else self.variants()[-1:]
            metafunc.parametrize("threaded", threaded, ids=str)
        if "after" in metafunc.fixturenames:
            metafunc.parametrize("after", [0, 1, 3] if NIGHTLY else [1])

    # --- elements ---

    def test_elements_are_as_expected(self, variant):
        self.check(list(self.make(variant)), self.wanted())

    def test_a_second_iteration_gives_the_same(self, variant):
        ds = self.make(variant)
        first, second = list(ds), list(ds)
        if self.reshuffles:
            assert_same_unordered(second, first)
        else:
            self.check(second, first)

    def test_what_is_written_to_an_element_is_seen_nowhere_else(self, variant):
        ds = self.make(variant)
        first = [spoiled(x) for x in ds]  # keeps all of them alive
        self.check([x for x, _ in first], self.wanted())
        if not self.reshuffles:
            self.check(list(ds), self.wanted())
        read, written = (
            list(self.make(variant).map(function, num_parallel_calls=variant.calls))
            for function in (_same, _came)
        )
        self.check(written, read)

    def test_the_end_comes_again_and_again(self):
        it = iter(self.make(Variant()))
        steps(it)
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(it)

    def test_two_iterators_do_not_disturb_each_other(self):
        ds = self.make(Variant())
        one, other = iter(ds), iter(ds)
        pairs = list(zip(one, other, strict=False))
        self.check([a for a, _ in pairs], self.wanted())
        if not self.reshuffles:
            self.check([b for _, b in pairs], self.wanted())

    # --- static properties ---

    def test_cardinality_is_the_count_when_it_is_known(self):
        ds = self.make(Variant())
        count = ds.cardinality()
        if count == ps.UNKNOWN_CARDINALITY:
            with pytest.raises(TypeError, match="length"):
                len(ds)
        else:
            assert count == len(ds) == len(self.wanted())

    def test_repr_is_stable_and_short(self):
        assert repr(self.make(Variant())) == repr(self.make(Variant()))
        assert len(repr(self.make(Variant()))) < 2000

    @needs("expected")
    def test_element_spec_accepts_every_element(self):
        ds = self.make(Variant())
        spec = ds.element_spec
        for element in ds:
            assert_fits(spec, element)

    @needs("pickles")
    def test_a_pickled_dataset_gives_the_same(self):
        copy = pickle.loads(pickle.dumps(self.make(Variant())))
        self.check(list(copy), self.wanted())

    # --- states ---

    def check_states(self, make):
        """Save, resume in a new iterator, save there again and resume again."""
        it = iter(make())
        rest = steps(iter(make()))
        before, saved = [], saved_steps(rest)
        while True:
            if len(before) in saved:
                self.check_state(it.get_state(), make, before, rest)
            try:
                before.append(step(it))
            except StopIteration:
                break
            if self.ordered:
                self.check_steps(before[-1:], rest[len(before) - 1 : len(before)])
        assert len(before) == len(rest)

    def check_state(self, state, make, before, rest):
        assert len(state) < MOST_STATE, f"the state has {len(state)} bytes"
        resumed = iter(make())
        resumed.set_state(state)
        again = resumed.get_state()
        self.check_steps([*before, *steps(resumed)], rest)
        second = iter(make())
        second.set_state(again)
        continued = list(before)
        if len(before) < len(rest):
            continued.append(step(second))
        third = iter(make())
        third.set_state(second.get_state())
        self.check_steps([*continued, *steps(third)], rest)
        second.close()

    def test_a_state_saved_at_any_element_gives_the_same_tail(self, variant):
        self.check_states(lambda: self.make(variant))

    # --- errors ---

    def test_an_error_behind_it_leaves_the_others(self, variant):
        def failing():
            return self.make(variant).enumerate().map(fail_at(2))

        wanted = self.wanted()
        came = steps(iter(failing()))
        if self.ordered:
            error = Failure("Boom", "element 2")
            self.check_steps(came, [error if i == 2 else x for i, x in enumerate(wanted)])
        assert len(came) == len(wanted)

    def failing(self, variant):
        return self.make(variant, without(BOOM, fails=True))

    @needs("apply")
    def test_an_error_upstream_leaves_the_others(self, variant):
        came = steps(iter(self.failing(variant)))
        self.check([s for s in came if not isinstance(s, Failure)], self.expected_around_error())
        errors = [s for s in came if isinstance(s, Failure)]
        assert errors == [Failure("Boom", f"element {BOOM}")] * self.errors_upstream

    @needs("apply")
    def test_states_work_across_an_error_upstream(self, variant):
        self.check_states(lambda: self.failing(variant))

    # --- ending early ---

    def close_after(self, variant, count):
        it = iter(self.make(variant))
        for _, _ in zip(range(count), it, strict=False):
            pass
        it.close()
        assert list(it) == []

    def test_a_closed_iterator_has_ended(self):
        for variant, count in itertools.product(self.variants(), (0, 1, 3)):
            self.close_after(variant, count)

    def test_closing_frees_all_threads(self, threaded, after):
        assert_frees_threads(lambda: self.close_after(threaded, after))

    def test_dropping_frees_all_threads(self, threaded):
        assert_frees_threads(lambda: next(iter(self.make(threaded)), None))
