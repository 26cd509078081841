"""Accelerate leaves a loader unchanged, so no process trains on all data by accident."""

import os
import socket
import subprocess
import sys
import types

import pytest

import penstock as ps

PROCESS = """
import accelerate
import torch

import penstock as ps

accelerator = accelerate.Accelerator(cpu=True)
rows = [torch.tensor(float(i)) for i in range(8)]
loader = accelerator.prepare(ps.DataLoader(rows, batch_size=2))
try:
    list(loader)
except RuntimeError as error:
    assert "sampler=torch.utils.data.DistributedSampler" in str(error), error
else:
    raise AssertionError("the loader gave everything to every process")
sampler = torch.utils.data.DistributedSampler(rows, shuffle=False)
loader = accelerator.prepare(ps.DataLoader(rows, batch_size=2, sampler=sampler))
own = [int(x) for batch in loader for x in batch.to(accelerator.device)]
assert own == list(range(accelerator.process_index, 8, 2)), own
ds = ps.Dataset.range(8).shard_for_torch().batch(2).to_torch(accelerator.device)
assert [int(x) for batch in ds for x in batch] == own
"""


@pytest.fixture
def processes(monkeypatch):
    state = types.SimpleNamespace(PartialState=types.SimpleNamespace(_shared_state={}))
    monkeypatch.setitem(sys.modules, "accelerate.state", state)
    return state.PartialState._shared_state


def test_a_loader_that_nobody_divides_is_refused(processes):
    loader = ps.DataLoader(list(range(4)), batch_size=2)
    assert len(list(loader)) == 2
    processes["num_processes"] = 1
    assert len(list(loader)) == 2
    processes["num_processes"] = 2
    with pytest.raises(RuntimeError, match=r"2 processes .*DistributedSampler"):
        iter(loader)


def test_an_order_that_was_given_is_taken(processes):
    processes["num_processes"] = 2
    assert len(list(ps.DataLoader(list(range(4)), sampler=[1, 3]))) == 2
    assert len(list(ps.DataLoader(list(range(4)), batch_sampler=[[1, 3]]))) == 1


def test_an_iterable_dataset_warns(processes):
    processes["num_processes"] = 2
    with pytest.warns(RuntimeWarning, match="shard_for_torch"):
        assert len(list(ps.DataLoader(ps.Dataset.range(4)))) == 4


@pytest.mark.slow
def test_two_processes_of_accelerate():
    pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    started = []
    for rank in range(2):
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "ACCELERATE_USE_CPU": "true"}
        env = {**os.environ, **place, **where}
        started.append(subprocess.Popen([sys.executable, "-P", "-c", PROCESS], env=env))
    assert [p.wait(timeout=100) for p in started] == [0, 0]
