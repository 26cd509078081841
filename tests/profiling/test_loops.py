"""Profiles of loops over loaders and other iterables."""

import json
import math
import pickle
import time
from collections import Counter

import pytest
from invented import seen, stage

import penstock as ps
from penstock.loaders import LoaderView
from penstock.profiling import Profile, loops
from penstock.profiling.loops import Seen

TWO = 2.0  # CPUs


class Photos:
    def __init__(self, count=12):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i >= self.count:
            raise IndexError(i)
        time.sleep(0.02)
        return i


def slow(x):
    time.sleep(0.02)
    return x


def generated():
    for i in range(12):
        time.sleep(0.02)
        yield i


def profiled(iterable, items=None):
    with ps.profile(iterable) as p:
        taken = list(p)
    if items is not None:
        assert len(taken) == items
    return p.result


def loader(workers=0, *, ours=False, processes=True, **settings):
    """Return the settings of an invented loader."""
    given = {"pin_memory": False, "persistent_workers": False, "dataset": Photos(), **settings}
    return LoaderView(ours=ours, num_workers=workers, processes=processes, **given)


def invented(view, **measured):
    """Return the profile of ten seconds with a hundred batches."""
    values = {"passes": 1, "batches": 100, "seconds": 10.0, "process_cpu": 1.0, **measured}
    return loops.LoopProfile(Seen(**values), view, "loop", TWO)


def changes(profile):
    return [each.change for each in profile.advice]


SLEEPS = {"wait": 9.0, "wait_cpu": 0.1, "loop_cpu": 0.2}
PYTHON = {"wait": 9.0, "wait_cpu": 8.9, "loop_cpu": 9.0, "process_cpu": 9.0, "gil": 0.9}
NUMPY = {"wait": 9.0, "wait_cpu": 8.9, "loop_cpu": 9.0, "process_cpu": 9.0, "gil": 0.05}


@pytest.mark.parametrize(
    ("iterable", "kind", "items"),
    [
        (lambda: ps.Dataset.range(12).map(slow), Profile, 12),
        (lambda: iter(ps.Dataset.range(12).map(slow)), Profile, 12),
        (lambda: ps.prefetch(generated), Profile, 12),
        (lambda: ps.DataLoader(ps.Dataset.range(12).map(slow), batch_size=3), Profile, 4),
        (lambda: ps.DataLoader(Photos(), batch_size=3), ps.LoopProfile, 4),
        (lambda: iter(ps.DataLoader(Photos(), batch_size=3)), ps.LoopProfile, 4),
        (lambda: ps.DataLoader(Photos(), batch_size=3, num_workers=2), ps.LoopProfile, 4),
        (generated, ps.LoopProfile, 12),
        (Photos, ps.LoopProfile, 12),
        (lambda: map(slow, range(12)), ps.LoopProfile, 12),
    ],
)
def test_a_loop_that_waits_for_files(iterable, kind, items):
    profile = profiled(iterable(), items)
    assert isinstance(profile, kind)
    assert profile.bottleneck.kind == "io"
    assert profile.input_bound > 0.5
    assert profile.advice
    assert "The reason is" in profile.verdict


def test_a_progress_bar_is_unwrapped():
    assert isinstance(profiled(ps.progress(ps.Dataset.range(9).map(slow)), 9), Profile)


def test_the_function_in_which_the_loop_waits_is_reported():
    profile = profiled(ps.DataLoader(Photos(), batch_size=3))
    place, share = profile.places[0]
    assert place.startswith("Photos.__getitem__ (test_loops.py:")
    assert share > 0.5
    assert place in str(profile)


def test_a_loop_that_does_not_wait():
    with ps.profile([1, 2, 3]) as p:
        for _ in p:
            time.sleep(0.01)
    assert p.bottleneck.kind == "consumer"
    assert p.advice == []


def test_several_passes_in_one_block():
    loading = ps.DataLoader(Photos(6), batch_size=3)
    with ps.profile(loading) as p:
        assert [len(list(p)), len(list(p))] == [2, 2]
        assert len(p) == 2
    assert p.elements == 4


def test_a_loop_without_a_block_is_one_pass():
    p = ps.profile(ps.DataLoader(Photos(6), batch_size=3))
    assert len(list(p)) == 2
    assert p.elements == 2
    with pytest.raises(ValueError, match="used before"):
        p.__enter__()


def test_the_original_iterable_used_directly_is_reported():
    loading = ps.DataLoader(Photos(6), batch_size=3)
    with pytest.raises(ValueError, match="iterate over the profile"), ps.profile(loading):
        list(loading)


def test_an_error_of_the_data_keeps_the_profile():
    def fails():
        yield 1
        raise KeyError("second")

    with pytest.raises(KeyError, match="second"), ps.profile(fails()) as p:
        list(p)
    assert p.elements == 1


def test_a_profile_can_be_saved_and_shown():
    profile = profiled(ps.DataLoader(Photos(), batch_size=3))
    found = json.loads(json.dumps(profile.to_dict()))
    assert found["bottleneck"]["kind"] == "io"
    assert found["elements"] == 4
    assert pickle.loads(pickle.dumps(profile)).verdict == profile.verdict
    assert "<pre>" in profile._repr_html_()
    assert repr(profile).startswith("<LoopProfile of 4 batches")


def test_sleeping_samples_need_threads_or_as_many_processes_as_cpus():
    torch, ours = (
        invented(loader(), **SLEEPS),
        invented(loader(ours=True, processes=False), **SLEEPS),
    )
    assert torch.bottleneck.kind == ours.bottleneck.kind == "io"
    drop_in, processes = changes(torch)
    assert drop_in.startswith("penstock.DataLoader(dataset, ..., num_workers=")
    assert processes == "num_workers=2"
    assert changes(ours)[0] == "num_workers=16"


def test_python_code_needs_processes():
    assert changes(invented(loader(), **PYTHON))[0] == "num_workers=2"
    ours = invented(loader(ours=True, processes=False), **PYTHON)
    assert changes(ours) == ['num_workers=2, worker_method="process"']
    assert "has a GIL" in ours.advice[0].why


def test_code_that_releases_the_gil_needs_threads():
    ours = invented(loader(ours=True, processes=False), **NUMPY)
    assert changes(ours)[0] == "num_workers=2"


@pytest.mark.parametrize("measured", [SLEEPS, PYTHON, NUMPY])
@pytest.mark.parametrize("ours", [False, True])
def test_processes_are_at_most_as_many_as_cpus(measured, ours):
    advice = changes(invented(loader(ours=ours, processes=not ours), **measured))
    for each in advice:
        if "process" in each or not (ours or "penstock" in each):
            assert "num_workers=2" in each


def test_more_worker_processes_than_cpus_are_reported():
    workers = {"workers_cpu": 18.0, "wait": 5.0}
    advice = changes(invented(loader(8), **workers))
    assert "num_workers=2" in advice


def test_workers_that_start_in_each_epoch():
    started = {"passes": 3, "first": 4.0, "wait": 5.0, "workers_cpu": 9.0}
    advice = invented(loader(2), **started).advice
    (found,) = (each for each in advice if each.change == "persistent_workers=True")
    assert "4 s for the first batch of 3 passes" in found.why
    assert math.isnan(found.gain)
    for other in (loader(2, persistent_workers=True), loader(0), loader(2, processes=False)):
        assert "persistent_workers=True" not in changes(invented(other, **started))


@pytest.mark.parametrize("accelerator", [False, True])
def test_pinned_memory_with_an_accelerator(monkeypatch, accelerator):
    monkeypatch.setattr(loops, "has_accelerator", lambda: accelerator)
    assert ("pin_memory=True" in changes(invented(loader(2), **SLEEPS))) == accelerator
    assert "pin_memory=True" not in changes(invented(loader(2, pin_memory=True), **SLEEPS))
    assert "pin_memory=True" not in changes(invented(loader(2, dataset=[1, 2]), **SLEEPS))


def test_a_plain_iterable_is_prefetched_or_divided():
    assert changes(invented(None, **SLEEPS)) == [
        "penstock.Dataset.from_generator(loop).map(load, num_parallel_calls=16)",
        "penstock.prefetch(loop)",
    ]
    indexed = loops.LoopProfile(
        Seen(passes=1, batches=100, seconds=10.0, **PYTHON), None, "photos", TWO, indexable=True
    )
    assert changes(indexed)[0] == (
        'penstock.DataLoader(photos, num_workers=2, worker_method="process")'
    )


def test_nothing_is_advised_where_nothing_waits():
    profile = invented(loader(), wait=0.1, places=Counter())
    assert profile.bottleneck.kind == "consumer"
    assert profile.advice == []


def indexable(**measured):
    """Return the profile of a `from_indexable` that is busy for all of the ten seconds."""
    own = stage("0.0", "from_indexable", **measured)
    observed = seen(stage("0", "prefetch", buffer_limit=2, input=10.0), own, waits=1.0, gil=0.95)
    return Profile(observed, {"0.0": {"obj": object()}}, TWO)


def test_rows_that_wait_are_read_in_parallel():
    profile = indexable(python=10.0, asleep=100)
    assert changes(profile)[0] == "from_indexable(obj, num_parallel_calls=64)"


@pytest.mark.parametrize("ready", [0.0, 5.0])
def test_rows_of_python_code_are_made_in_processes(ready):
    profile = indexable(python=10.0, cpu_python=9.8 - ready, ready=ready)
    assert changes(profile) == [
        'Dataset.range(len(obj)).map(obj.__getitem__, num_parallel_calls=2, executor="process") '
        "instead of from_indexable(obj)"
    ]


def test_sources_that_read_in_parallel_are_advised_by_their_own_name():
    own = stage("0.0", "HDF5Dataset", python=10.0, asleep=100)
    observed = seen(stage("0", "prefetch", buffer_limit=2, input=10.0), own, waits=1.0)
    profile = Profile(observed, {"0.0": {"part_of": "HDF5Dataset"}}, TWO)
    assert changes(profile)[0] == "HDF5Dataset(..., num_parallel_calls=64)"


def test_worker_threads_that_take_turns_at_the_gil_and_those_that_sleep():
    view = loader(2, ours=True, processes=False)
    held = {"wait": 9.0, "workers_cpu": 9.5, "workers_gil": 9.5, "gil": 0.95}
    assert invented(view, workers_blocked=0.2, **held).bottleneck.kind == "gil"
    busy = {"wait": 9.0, "workers_cpu": 1.0, "workers_gil": 1.0, "gil": 0.9}
    assert invented(view, workers_blocked=18.0, **busy).bottleneck.kind == "io"


def test_workers_that_start_are_named_as_the_reason():
    started = {"passes": 2, "first": 8.0, "wait": 9.0, "workers_cpu": 1.0}
    assert (
        "the loop waited 8 s for the first batch of 2 passes"
        in invented(loader(2), **started).verdict
    )
    assert "first batch" not in invented(loader(2), **{**started, "first": 1.0}).verdict
