"""Hints in tuning_moves about plain functions that could be native."""

import time

import numpy as np
import pytest

import penstock as ps
from penstock import hints

CALLS = []


def scaled(x):
    return np.sqrt(x * 2.0)


def positive(x):
    return x >= 0


def counted(x):
    CALLS.append(x)
    return x * 2.0


def chosen(x):
    return x if x > 1 else -x


def drawn(x, rng):
    return x + rng.random()


@pytest.fixture
def any_time(monkeypatch):
    """Let functions of any duration count."""
    monkeypatch.setattr(hints, "_LEAST_SECONDS", -1.0)
    monkeypatch.setattr(hints, "_LEAST_SHARE", -1.0)


def hints_of(ds):
    with iter(ds) as it:
        list(it)
        first = it.tuning_moves()
        assert it.tuning_moves() == first
    return [move for move in first if move["knob"] == "native"]


@pytest.mark.parametrize("calls", [None, 2])
def test_a_function_that_could_be_native_is_told(any_time, calls):
    ds = ps.Dataset.range(9).map(scaled, calls, name="roots").batch(2).prefetch(1)
    (hint,) = hints_of(ds)
    kind = "map" if calls is None else "parallel_map"
    assert (hint["stage"], hint["name"], hint["function"]) == (kind, "roots", "scaled")
    assert (hint["from"], hint["to"]) == (False, True)
    assert hint["seconds"] >= 0
    assert hint["reason"].startswith("map(scaled): this function can be @ps.native")
    (kept,) = hints_of(ps.Dataset.range(9).filter(positive))
    assert kept["reason"].startswith("filter(positive): ")


def test_it_is_told_once_per_function(any_time):
    numbers = ps.Dataset.range(9)
    both = ps.Dataset.zip(numbers.map(scaled), numbers.map(scaled), numbers.map(np.sqrt))
    assert sorted(hint["function"] for hint in hints_of(both)) == ["scaled", "sqrt"]


@pytest.mark.parametrize(
    "ds",
    [
        ps.Dataset.range(3).map(ps.native(scaled)),
        ps.Dataset.range(3).map(chosen),
        ps.Dataset.range(3).map(drawn),
        ps.Dataset.range(3).map(scaled, output_signature=ps.TensorSpec((), np.float32)),
        ps.Dataset.range(3).batch(2),
        ps.Dataset.range(3).flat_map(lambda x: ps.Dataset.range(x)),
    ],
)
def test_nothing_is_said_of_others(any_time, ds):
    assert hints_of(ds) == []


@pytest.mark.parametrize("calls", [2, ps.AUTOTUNE])
def test_the_time_of_parallel_calls_is_added_up(calls):
    it = iter(ps.Dataset.range(40).map(lambda x: time.sleep(0.005) or x, calls).batch(4))
    list(it)
    busy = {row["kind"]: row["busy_seconds"] for row in it.stats()}
    assert busy["parallel_map"] >= 0.2  # no sleep is shorter


def test_functions_are_not_called_more_often_to_find_out(any_time):
    CALLS.clear()
    ds = ps.Dataset.range(3).map(counted).map(scaled)
    assert hints_of(ds) == []  # the argument of scaled is unknown
    assert len(CALLS) == 3
    ds.element_spec  # calls each function once
    assert [hint["function"] for hint in hints_of(ds)] == ["scaled"]
    assert CALLS[5:] == [0, 1, 2]


def test_a_run_that_nobody_asks_is_not_looked_at(any_time, monkeypatch):
    monkeypatch.setattr(hints, "traceable", lambda stage: pytest.fail("it was traced"))
    assert len(list(ps.Dataset.range(9).map(scaled))) == 9


@pytest.mark.parametrize(
    ("seconds", "above", "told"),
    [(0.2, 0.3, True), (0.05, 0.06, False), (0.2, 9.0, False), (1.0, 9.0, True)],
)
def test_only_what_takes_time_is_told(seconds, above, told):
    ds = ps.Dataset.range(9).map(scaled).batch(2)
    rows = [
        {"path": path, "kind": kind, "name": None, "function": "scaled", "busy_seconds": busy}
        for path, kind, busy in [
            ("0", "batch", above),
            ("0.0", "map", seconds),
            ("0.0.0", "range", 0),
        ]
    ]
    mine = hints.Hints(ds)
    assert mine.of(lambda: []) == []
    assert bool(mine.of(lambda: rows)) == told
    for row in rows:
        row["busy_seconds"] = 2.0 if row["path"] != "0.0.0" else 1.9
    assert bool(mine.of(lambda: rows)) == told  # its input's time does not count
