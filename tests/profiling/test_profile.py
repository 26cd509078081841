"""Profiles of pipelines that run."""

import asyncio
import os
import pickle
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import penstock as ps
from penstock.profiling import Profile

ENDLESS = ps.Dataset.range(10**9)


def load(x):
    time.sleep(0.02)
    return x


def test_a_slow_reader_is_found():
    profile = ENDLESS.map(load).prefetch(2).profile(seconds=0.6, step=0.001)
    assert isinstance(profile, Profile)
    assert (profile.bottleneck.kind, profile.bottleneck.function) == ("io", "load")
    assert profile.stages[1].path == profile.bottleneck.stage == "0.0"
    assert profile.input_bound > 0.5
    assert "map(load)" in str(profile)
    assert profile.advice[0].change.startswith("map(load, num_parallel_calls=")


def test_a_slow_step_is_found():
    profile = ENDLESS.batch(4).prefetch(2).profile(seconds=0.4, step=lambda x: time.sleep(0.02))
    assert profile.bottleneck.kind == "consumer"
    assert profile.elements == pytest.approx(20, abs=15)


def test_a_short_dataset_is_repeated_and_keeps_its_paths():
    profile = ps.Dataset.range(4).map(load).prefetch(1).profile(seconds=0.6)
    assert [stage.path for stage in profile.stages] == ["0", "0.0", "0.0.0"]
    assert [stage.kind for stage in profile.stages] == ["prefetch", "map", "range"]
    assert profile.elements > 8


def test_the_iterator_of_a_loop():
    it = iter(ps.Dataset.range(60).map(load).prefetch(2))
    next(it)
    with ps.profile(it) as p:
        taken = sum(1 for _ in it)
    assert taken == 59
    assert p.elements == pytest.approx(59, abs=5)  # some were ready before or after
    assert p.bottleneck.function == "load"
    assert isinstance(p.result, Profile)
    assert "map(load)" in str(p)


def test_elements_and_states_are_those_of_a_run_that_is_not_watched():
    ds = (
        ps.Dataset.range(200)
        .shuffle(50, seed=3, reshuffle_each_iteration=False)
        .map(lambda x: x + 1, num_parallel_calls=3)
    )
    plain = [int(x) for x in ds]
    it = iter(ds)
    seen = []
    with ps.profile(it):
        seen += [int(next(it)) for _ in range(77)]
        state = it.get_state()
    assert seen + [int(x) for x in it] == plain
    other = iter(ds)
    other.set_state(state)
    with ps.profile(other):
        assert [int(x) for x in other] == plain[77:]


def test_an_error_in_the_block_is_not_hidden():
    it = iter(ps.Dataset.range(3))
    with pytest.raises(ZeroDivisionError), ps.profile(it):
        raise ZeroDivisionError(next(it))
    assert next(it) == 1


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_the_profile_of_a_block_that_fails_is_kept(error):
    it = iter(ENDLESS.map(load))
    with pytest.raises(error), ps.profile(it) as p:
        raise error(next(it))
    assert p.elements == 1
    with pytest.raises(error), ps.profile(it) as p:
        raise error
    with pytest.raises(ValueError, match="profile: nothing was taken"):
        p.result


def test_elements_are_what_the_loop_has_taken():
    it = iter(ENDLESS)
    next(it)
    for count in (300, 5):
        with ps.profile(it) as p:
            for _ in range(count):
                next(it)
        assert p.elements == count
        assert p.rate == pytest.approx(count / p.seconds)
    with ps.profile(it) as p:
        next(it)
        it.close()
    assert p.elements == 1


def test_a_profile_after_the_block_is_shown_and_pickled_as_one():
    it = iter(ENDLESS.map(load))
    watch = ps.profile(it)
    assert "the block has not ended" in repr(watch)
    with watch as p:
        next(it)
    assert repr(p) == repr(p.result)
    again = pickle.loads(pickle.dumps(p))
    assert isinstance(again, Profile)
    assert again.verdict == p.verdict


def test_handing_elements_over_is_no_waiting_for_files():
    profile = ENDLESS.batch(100).prefetch(2).profile(seconds=0.5)
    assert profile.bottleneck.kind != "io"


async def fetch(x):
    await asyncio.sleep(0.02)
    return x


@pytest.mark.parametrize("calls", [None, 8])
def test_coroutines_wait_in_their_stage(calls):
    profile = ENDLESS.map(fetch, num_parallel_calls=calls).prefetch(2).profile(seconds=0.6)
    found = profile.bottleneck
    assert (found.stage, found.kind, found.function) == ("0.0", "io", "fetch")
    stage = profile.stages[1]
    in_progress = stage.ongoing_seconds / profile.seconds
    assert (calls or 1) / 3 < in_progress < (calls or 1) * 1.5
    assert stage.blocked_seconds > stage.ongoing_seconds / 2
    assert stage.wait_input_seconds < stage.ongoing_seconds / 2
    advice = profile.advice[0]
    assert advice.change.startswith("map(fetch, num_parallel_calls=")
    assert advice.gain > 1.5
    assert not any("process" in each.change for each in profile.advice)
    if calls:
        assert stage.call_p50 > 0.02 * 7 / 8  # the percentiles are within an eighth
        assert stage.call_max >= stage.call_p99 >= stage.call_p50


def test_an_error_of_the_pipeline_ends_the_profile():
    def fails(x):
        raise ValueError("no such image")

    with pytest.raises(ValueError, match="no such image"):
        ENDLESS.map(fails).profile(seconds=0.2)


def test_wrong_uses_say_so():
    ds = ps.Dataset.range(3)
    with pytest.raises(ValueError, match="the dataset is empty"):
        ds.take(0).profile(seconds=0.1)
    with pytest.raises(ValueError, match="seconds must be above 0, got 0"):
        ds.profile(seconds=0)
    with pytest.raises(ValueError, match="step must be a callable, or seconds from 0 on, got -1"):
        ds.profile(seconds=0.1, step=-1)
    for bad, error, said in [
        ("a", TypeError, "profile: step must be a callable or seconds, got 'a'"),
        (float("inf"), ValueError, "profile: step must be finite, got inf"),
    ]:
        with pytest.raises(error, match=said):
            ds.profile(seconds=0.1, step=bad)
    with pytest.raises(TypeError, match="expected a dataset, a loader, another iterable"):
        ps.profile(3)
    it = iter(ds)
    watch = ps.profile(it)
    with pytest.raises(ValueError, match="the block has not ended"):
        watch.result
    it.close()
    with pytest.raises(ValueError, match="the iterator is closed"), watch:
        pass


def test_nothing_was_taken():
    it = iter(ps.Dataset.range(3))
    with pytest.raises(ValueError, match="nothing was taken"), ps.profile(it):
        pass
    assert list(it) == [0, 1, 2]
    with pytest.raises(ValueError, match="nothing was taken"), ps.profile(it):
        assert list(it) == []
    once = iter(range(1))
    with pytest.raises(ValueError, match="nothing was taken"):
        ps.Dataset.from_generator(lambda: once).profile(seconds=0.1)


def test_large_elements_have_their_bytes():
    ds = ENDLESS.map(lambda x: np.zeros(10_000, np.uint8)).batch(10)
    profile = ds.profile(seconds=0.3, step=0.001)
    assert profile.stages[0].bytes / profile.stages[0].elements == pytest.approx(100_000, rel=0.1)


def test_a_program_may_end_inside_a_block():
    program = """
        import sys, time
        import penstock as ps
        it = iter(ps.Dataset.range(10**9).map(lambda x: x).prefetch(2))
        watch = ps.profile(it)
        watch.__enter__()
        for _ in range(1000): next(it)
        time.sleep(0.1)
        sys.exit(3)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (3, b"")


def test_two_runs_are_told_apart():
    def slow(x):
        time.sleep(0.003)
        return x

    one, two = iter(ENDLESS.map(slow).prefetch(2)), iter(ENDLESS.map(load).prefetch(2))
    with ps.profile(one) as first, ps.profile(two) as second:
        for _ in range(30):
            next(one), next(two)
    assert {stage.function for stage in first.stages} == {None, "slow"}
    assert {stage.function for stage in second.stages} == {None, "load"}
    assert first.elements == pytest.approx(30, abs=5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_child_has_profiles_of_its_own():
    it = iter(ENDLESS.map(load).prefetch(2))
    with ps.profile(it):
        next(it)
        child = os.fork()
        if child == 0:
            profile = ENDLESS.map(load).profile(seconds=0.3)
            os._exit(0 if profile.bottleneck.function == "load" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
