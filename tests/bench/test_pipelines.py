"""The benchmarks against limits run, and the compared code does its work."""

import importlib
import time
from pathlib import Path

import pytest
from bench.peers.workloads.latency import WORKLOAD
from bench.pipelines import drop_in, latency, measure, scaling

FOLDER = Path(measure.__file__).parent
NAMES = sorted(file.stem for file in FOLDER.glob("[!_]*.py") if file.stem not in ("all", "measure"))
README = FOLDER.parent / "README.md"


@pytest.fixture
def brief(monkeypatch):
    """Run each case once, without real sleeps."""
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(0))
    monkeypatch.setattr(measure, "PATIENCE", 1)
    for module in (drop_in, latency, scaling):
        monkeypatch.setattr(module, "interleaved", lambda cases, repeats=1: once(cases))


def once(cases):
    return measure.Rounds([{name: case() for name, case in cases.items()}], 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_run_and_is_listed(name):
    assert callable(importlib.import_module(f"bench.pipelines.{name}").run)
    assert f"| `{name}` |" in README.read_text()


@pytest.mark.parametrize("name", WORKLOAD.cases)
def test_pipelines_that_sleep_are_compared_with_their_sleeps(name, brief):
    figure = latency.beside(WORKLOAD.task(name, Path(), Path()), name)
    asleep = sum(times * seconds for times, seconds in WORKLOAD.cases[name]["path"])
    assert f"{asleep * 1e3:.0f} were asked for" in figure.note
    assert figure.value.median > 0


def test_items_of_a_thread_are_those_of_the_generator():
    assert list(drop_in.in_a_thread(iter(range(10)))) == list(range(10))


@pytest.mark.slow
def test_what_prefetch_adds_is_bound_by_a_thread_made_by_hand(brief, monkeypatch):
    monkeypatch.setattr(drop_in, "PASS", 0.02)
    figures = drop_in.adds()
    assert len(figures) == 7
    assert all(figure.at_most >= 1.05 and "by hand" in figure.note for figure in figures)


def test_processors_that_a_part_could_keep_busy():
    part = measure.Spread(2e-6, 1e-6, 4e-6)
    figure = scaling.feeds("photos", 1e-3, part, 64, "the consumer")
    assert figure.value.median == pytest.approx(32_000)
    assert figure.met
    assert not scaling.feeds("rows", 1e-4, part, 1, "the input").met
