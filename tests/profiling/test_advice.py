"""Advice for stages that read or make their elements sequentially."""

import pytest
from invented import seen, stage

from penstock.encode import Reader
from penstock.profiling import Profile

FOUR = 4.0  # CPUs


def files(_):
    raise NotImplementedError


def gen():
    raise NotImplementedError


def opening(kind, buffer_limit=0, parallelism=0):
    """Return stages whose inner datasets sleep for the whole ten seconds."""
    inputs = {"buffer_limit": buffer_limit, "parallelism": parallelism}
    asleep = 100 * max(parallelism, 1)
    return [
        stage("0", "prefetch", buffer_limit=2, input=10.0),
        stage("0.0", kind, "files", input=0.1),
        stage("0.0.*", f"{kind} inputs", "files", python=9.9, asleep=asleep, **inputs),
        stage("0.0.*.0", "range"),
        stage("0.0.0", "range"),
    ]


def profile_of(stages, given):
    return Profile(seen(*stages, waits=1.0), {"0.0": given}, FOUR)


@pytest.mark.parametrize("kind", ["interleave", "flat_map"])
def test_datasets_that_wait_are_read_at_the_same_time(kind):
    profile = profile_of(opening(kind), {"map_func": files, "cycle_length": 3})
    assert (profile.bottleneck.stage, profile.bottleneck.kind) == ("0.0.*", "io")
    advice = profile.advice[0]
    assert advice.stage == "0.0"
    assert advice.change == "interleave(files, cycle_length=64, num_parallel_calls=64)"
    assert advice.gain > 30
    for named in (kind, "files", "0.0"):
        eight = profile.what_if(num_parallel_calls={named: 8})
        assert eight == pytest.approx(8 * profile.rate, rel=0.1)


def test_more_threads_for_an_interleave_that_has_some():
    profile = profile_of(opening("interleave", 2, 2), {"map_func": files, "cycle_length": 2})
    four = profile.what_if(num_parallel_calls={"interleave": 4})
    assert four == pytest.approx(2 * profile.rate, rel=0.1)


def test_files_that_are_read_slowly():
    profile = profile_of(opening("flat_map"), {"map_func": Reader("tf_record", {})})
    assert profile.advice[0].change.startswith("num_parallel_reads=64 where the files are read")


def test_a_generator_that_waits_shall_only_say_what_to_load():
    stages = [
        stage("0", "prefetch", buffer_limit=2, input=10.0),
        stage("0.0", "from_generator", "gen", python=10.0, asleep=100),
    ]
    profile = profile_of(stages, {"generator": gen})
    assert profile.advice[0].change == "from_generator(gen).map(load, num_parallel_calls=64)"
    assert "only says what to load" in profile.verdict


def test_a_stage_has_one_name_though_its_inputs_have_it_too():
    profile = profile_of(opening("interleave"), {"map_func": files})
    with pytest.raises(ValueError, match="no stage is 'interleave inputs'"):
        profile.what_if(num_parallel_calls={"interleave inputs": 2})
