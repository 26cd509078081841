"""Counters of a DataLoader."""

import copy
import gc
import pickle

import pytest

import penstock as ps


class Squares:
    def __init__(self, fails=None):
        self.fails = fails

    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == self.fails:
            raise ValueError(f"no {i}")
        return i * i


def batches(loader):
    """Return the numbers of batches and errors of one pass."""
    found = {"elements": 0, "errors": 0}
    it = iter(loader)
    while True:
        try:
            next(it)
        except StopIteration:
            return found
        except ValueError:
            found["errors"] += 1
        else:
            found["elements"] += 1


WAYS = {
    "inline": {},
    "threads": {"num_workers": 2},
    "unordered": {"num_workers": 2, "in_order": False},
    "process": {"num_workers": 1, "worker_method": "process"},
}


@pytest.mark.parametrize("way", WAYS)
def test_counters_of_all_passes(way):
    loader = ps.DataLoader(Squares(fails=3), batch_size=2, **WAYS[way])
    (stage,) = loader.stats()
    assert (stage["elements"], stage["errors"], stage["wait_seconds"]) == (0, 0, 0.0)
    for _ in range(2):
        assert batches(loader) == {"elements": 2, "errors": 1}
    (stage,) = loader.stats()
    assert (stage["kind"], stage["function"]) == ("DataLoader", "Squares")
    assert (stage["elements"], stage["errors"]) == (4, 2)
    assert stage["wait_seconds"] > 0
    assert stage["busy_seconds"] > 0
    assert stage["parallelism"] == WAYS[way].get("num_workers", 0)
    keys = set(next(iter(_of_a_run())))
    assert set(stage) == keys


def _of_a_run():
    it = iter(ps.Dataset.range(1))
    next(it)
    return it.stats()


@pytest.mark.parametrize("way", ["inline", "threads", "unordered"])
def test_an_iterable_dataset_is_counted(way):
    loader = ps.DataLoader(ps.Dataset.range(6), batch_size=2, **WAYS[way])
    assert batches(loader) == {"elements": 3, "errors": 0}
    assert loader.metrics()[0]["elements_total"] == 3


def test_worker_processes_are_named():
    loader = ps.DataLoader(Squares(), batch_size=2, num_workers=1, worker_method="process")
    it = iter(loader)
    next(it)
    (worker,) = loader.stats()[0]["workers"]
    assert isinstance(worker["pid"], int)
    it.close()
    assert loader.stats()[0]["workers"] == []


def test_epochs_of_a_loader_have_one_label():
    loader = ps.DataLoader(Squares(), batch_size=2, num_workers=2)
    for _ in range(3):
        list(loader)
    lines = [
        line
        for line in ps.metrics.prometheus().splitlines()
        if line.startswith("penstock_elements_total{") and 'function="Squares"' in line
    ]
    (line,) = [line for line in lines if line.endswith(" 9")]
    assert 'kind="DataLoader"' in line
    del loader
    gc.collect()
    assert line not in ps.metrics.prometheus()


@pytest.mark.parametrize("again", [copy.copy, lambda loader: pickle.loads(pickle.dumps(loader))])
def test_a_copy_begins_at_zero(again):
    loader = ps.DataLoader(Squares(), batch_size=2)
    list(loader)
    other = again(loader)
    assert other.stats()[0]["elements"] == 0
    list(other)
    assert loader.stats()[0]["elements"] == other.stats()[0]["elements"] == 3
