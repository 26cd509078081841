"""The stage and the kind of bottleneck that a profile names, from invented measurements."""

import json

import pytest
from invented import seen, stage, times

from penstock.profiling import Profile

PREFETCH = stage("0", "prefetch", buffer_limit=2, input=8.0)
SOURCE = stage("0.0.0", "range")
TWO = 2.0  # CPUs


def f(x):
    return x


def profile_of(middle, more=None, **observed):
    last = more or PREFETCH
    arguments = {"0.0": {"map_func": f}}
    return Profile(seen(last, middle, SOURCE, **observed), arguments, TWO)


def test_a_consumer_that_never_waits_is_itself_the_reason():
    profile = profile_of(stage("0.0", "map", "f", python=1.0, cpu_python=1.0), waits=0.01)
    assert profile.bottleneck.kind == "consumer"
    assert profile.advice == []
    assert "No change of how data is loaded would make it faster" in profile.verdict


def test_a_sequential_function_that_sleeps_is_io():
    profile = profile_of(stage("0.0", "map", "f", python=10.0, asleep=50), waits=0.8)
    assert (profile.bottleneck.stage, profile.bottleneck.kind) == ("0.0", "io")
    assert profile.bottleneck.function == "f"
    assert profile.headspace == pytest.approx(5)
    best = profile.advice[0]
    assert best.change.startswith("map(f, num_parallel_calls=")
    assert best.rate > 1.5 * profile.rate
    assert best.change in profile.verdict


def test_a_sequential_function_that_computes_without_the_gil_is_serial():
    middle = stage("0.0", "map", "f", python=10.0, cpu_python=9.8)
    profile = profile_of(middle, waits=0.8, gil=0.02)
    assert profile.bottleneck.kind == "serial"
    assert "num_parallel_calls=2" in profile.advice[0].change


def test_calls_that_wait_for_the_gil_are_told_to_go_to_processes():
    middle = stage(
        "0.0", "parallel_map", "f", parallelism=4, python=38.0, cpu_python=9.5, locked=90, lock=2.0
    )
    profile = profile_of(middle, waits=0.8, gil=0.99)
    assert profile.bottleneck.kind == "gil"
    assert profile.stages[1].gil_seconds == pytest.approx(9.5, rel=0.01)
    assert 'executor="process"' in profile.advice[0].change
    assert profile.advice[0].gain > 1.5


def test_the_gil_may_be_what_the_step_waits_for():
    middle = stage("0.0", "map", "f", python=10.0, cpu_python=9.5)
    step = times(run=9.0, cpu_run=0.2, locked=80, asleep=20)
    profile = profile_of(middle, waits=0.1, gil=0.98, step=step)
    assert profile.bottleneck.kind == "gil"
    assert "for the GIL that the pipeline holds" in profile.verdict
    assert profile.input_bound > 0.5


def test_busy_processors():
    middle = stage(
        "0.0", "parallel_map", "f", parallelism=4, python=38.0, cpu_python=18.0, ready=20
    )
    profile = profile_of(middle, waits=0.8, cpu=1.9)
    assert profile.bottleneck.kind == "cpu"


def test_processors_that_others_keep_busy():
    middle = stage("0.0", "map", "f", python=10.0, cpu_python=4.0, ready=6.0)
    assert profile_of(middle, waits=0.8, cpu=0.5).bottleneck.kind == "cpu"


def test_what_sleeps_is_io_although_it_also_waits_for_a_processor():
    middle = stage("0.0", "map", "f", python=10.0, cpu_python=0.3, ready=2.4, asleep=9)
    assert profile_of(middle, waits=0.8, cpu=0.2).bottleneck.kind == "io"


def test_calls_that_wait_for_each_other():
    middle = stage("0.0", "parallel_map", "f", parallelism=4, python=38.0, locked=75, asleep=25)
    assert profile_of(middle, waits=0.8).bottleneck.kind == "lock"


def test_a_buffer_that_is_too_small():
    last = stage("0", "prefetch", buffer_limit=2, input=3.0, room=4.0, waited=3.0)
    middle = stage("0.0", "map", "f", python=5.0, asleep=50)
    profile = profile_of(middle, last, waits=0.3)
    assert profile.bottleneck.kind == "buffer"
    assert profile.advice[0].change == "prefetch(8)"
    assert profile.advice[0].stage == "0"


def test_a_budget_that_stops_threads_is_named_where_it_begins():
    last = stage("0", "prefetch", buffer_limit=2, input=3.0, memory=5.0)
    middle = stage("0.0", "parallel_map", "f", parallelism=4, python=20.0, asleep=9, memory=4.0)
    profile = profile_of(middle, last, waits=0.5)
    assert (profile.bottleneck.stage, profile.bottleneck.kind) == ("0.0", "memory")
    assert "memory_limit" in profile.verdict


def test_without_a_prefetch_one_is_advised():
    last = stage("0", "map", "f", python=5.0, asleep=50)
    source = stage("0.0", "range")
    observed = seen(last, source, waits=0.5, step=times(run=5.0, asleep=10))
    profile = Profile(observed, {"0": {"map_func": f}}, TWO)
    assert profile.bottleneck.kind == "io"
    ahead = next(each for each in profile.advice if each.change == "prefetch(2)")
    assert ahead.stage == ""
    assert ahead.gain == pytest.approx(2, rel=0.1)


def test_what_worker_processes_compute_counts_as_theirs():
    middle = stage("0.0", "parallel_map", "f", parallelism=2, worker=19.0, workers_cpu=18.0)
    profile = profile_of(middle, waits=0.9, cpu=0.1)
    assert profile.cpu_share == pytest.approx(0.95)
    assert profile.stages[1].cpu_seconds == 18.0
    assert profile.bottleneck.kind == "cpu"


def test_everything_goes_into_json():
    profile = profile_of(stage("0.0", "map", "f", python=10.0, asleep=50), waits=1.0)
    data = json.loads(json.dumps(profile.to_dict(), allow_nan=False))
    assert data["headspace"] is None  # infinite
    assert [each["path"] for each in data["stages"]] == ["0", "0.0", "0.0.0"]
    assert data["stages"][0]["inputs"] == ["0.0"]
    assert data["threads"][0]["spans"][0] == [0.0, 10.0, "0", "input", 0]
    assert data["history"]["rate"] == [10.0, 10.0]
    assert data["history"]["buffers"] == {"0": [0, 0]}


def test_it_is_shown_as_a_table():
    profile = profile_of(stage("0.0", "map", "f", python=10.0, asleep=50), waits=0.8)
    assert "map(f)" in str(profile)
    assert "io (f)" in repr(profile)
    assert "<script" not in profile._repr_html_()


def test_what_if_names_its_stages():
    profile = profile_of(stage("0.0", "map", "f", python=10.0, asleep=50), waits=0.8)
    by_path = profile.what_if(num_parallel_calls={"0.0": 4})
    assert profile.what_if(num_parallel_calls={"f": 4}) == by_path
    assert profile.what_if(num_parallel_calls={"map": 4}) == by_path
    with pytest.raises(ValueError, match=r"no stage is 'g'; there are 0 \(prefetch\)"):
        profile.what_if(num_parallel_calls={"g": 4})
    with pytest.raises(ValueError, match="cpus must be above 0, got 0"):
        profile.what_if(cpus=0)
    with pytest.raises(ValueError, match="cpus must be finite, got an int that no float can be"):
        profile.what_if(cpus=10**400)
    for bad, error, said in [
        ({"f": 0}, ValueError, r"num_parallel_calls of 'f' must be >= 1, got 0"),
        ({"f": 10**30}, ValueError, "'f': an int of 64 bits was expected"),
        ({"f": 1.5}, TypeError, "'f' must be an int, got 1.5"),
        ({4: 4}, TypeError, "stages in num_parallel_calls are named by a str, got 4"),
        (4, TypeError, "num_parallel_calls must be a dict of stages and their calls.*got 4"),
        ("x", TypeError, "num_parallel_calls must be a dict of stages and their calls.*got 'x'"),
        ({"0": 4}, ValueError, "prefetch makes no calls at the same time"),
        ({"range": 4}, ValueError, "range makes no calls at the same time"),
    ]:
        with pytest.raises(error, match=said):
            profile.what_if(num_parallel_calls=bad)
    for bad, error in [(float("inf"), ValueError), (float("nan"), ValueError), ("x", TypeError)]:
        with pytest.raises(error, match="what_if: cpus must be"):
            profile.what_if(cpus=bad)


def test_what_is_shown_of_a_stage_names_it():
    middle = stage("0.0", "parallel_map", "<lambda>", parallelism=2, python=10.0, asleep=50)
    middle["name"] = "aa"
    profile = profile_of(middle, waits=0.8)
    assert "map(<lambda>, name='aa')" in str(profile)
    assert "map(<lambda>, name='aa')" in profile.verdict
    assert all("name='aa'" in each.change for each in profile.advice if "map(" in each.change)
    by_path = profile.what_if(num_parallel_calls={"0.0": 4})
    for named in ("aa", "<lambda>", "map", "parallel_map", "map(<lambda>, name='aa')"):
        assert profile.what_if(num_parallel_calls={named: 4}) == by_path
    with pytest.raises(ValueError, match=r"0.0 \(map\(<lambda>, name='aa'\)\)"):
        profile.what_if(num_parallel_calls={"bb": 4})


def test_threads_are_not_advised_for_what_holds_the_gil():
    middle = stage("0.0", "map", "f", python=9.5, cpu_python=9.5)
    profile = profile_of(middle, waits=1.0, gil=0.7)  # as measured for short calls
    assert profile.bottleneck.function == "f"
    assert ["process" in each.change for each in profile.advice] == [True]
    free = profile_of(middle, waits=1.0, gil=0.1)
    assert ["process" in each.change for each in free.advice] == [False]


def test_what_if_of_more_processors():
    middle = stage(
        "0.0", "parallel_map", "f", parallelism=4, python=38.0, cpu_python=18.0, ready=20
    )
    profile = profile_of(middle, waits=0.9, cpu=1.9)
    assert profile.what_if(cpus=4) > 1.5 * profile.rate
    assert profile.what_if() == pytest.approx(profile.rate, rel=0.01)


def test_what_is_rounded_below_nothing_counts_as_nothing():
    middle = stage(
        *("0.0", "parallel_map", "f"),
        parallelism=2,
        python=0.1 + 0.2,
        cpu_python=0.3,
        locked=7,
        asleep=0,
    )
    profile = profile_of(middle, waits=0.8)
    assert profile.stages[1].blocked_seconds >= 0
    shared = stage("0.0.0", "range", run=0.1 + 0.2, cpu_run=0.3)
    assert Profile(seen(PREFETCH, middle, shared, waits=0.5), {}, TWO).rate == 10


def test_a_stage_that_waits_for_the_slow_one_after_it_is_no_small_buffer():
    early = stage("0.0.0", "parallel_map", "light", parallelism=2, buffer_limit=4, room=18.0)
    middle = stage("0.0", "map", "f", python=10.0, cpu_python=9.8)
    observed = seen(PREFETCH, middle, early, stage("0.0.0.0", "range"), waits=0.8)
    found = Profile(observed, {"0.0": {"map_func": f}}, TWO).bottleneck
    assert (found.kind, found.function) == ("serial", "f")
