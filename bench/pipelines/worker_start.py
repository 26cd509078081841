"""The first batch of two worker processes that import PyTorch, against PyTorch's DataLoader.

Each result is measured in a separate process that has imported PyTorch and penstock: the seconds
until the first batch, and the CPU time of the process and its workers until then. PyTorch forks the
process itself, with its memory. penstock forks its workers from a fork server. In the first pass,
the server starts and imports PyTorch once ("first pass"). If it is running, workers only fork
("later pass"). With `multiprocessing_context="spawn"` each worker imports PyTorch ("new
interpreters"). The benchmark needs PyTorch.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

from bench.pipelines.measure import Figure, interleaved, main

PROGRAM = """
import glob, json, os, sys, time
import torch
import penstock as ps
from penstock import _core

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((4,), float(i))

def cpu():
    total, pids = 0, [os.getpid()]
    for pid in pids:
        with open(f"/proc/{pid}/stat") as file:
            total += sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
        for name in glob.glob(f"/proc/{pid}/task/*/children"):
            with open(name) as file:
                pids += map(int, file.read().split())
    return total / os.sysconf("SC_CLK_TCK")

def first_batch(make):
    before, start = cpu(), time.perf_counter()
    batches = iter(make())
    next(batches)
    taken = time.perf_counter() - start, cpu() - before
    list(batches)
    return taken

if __name__ == "__main__":
    way = sys.argv[1]
    if way == "torch":
        make = lambda: torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2)
    else:
        context = "spawn" if way == "spawned" else "forkserver"
        make = lambda: ps.DataLoader(
            Rows(), batch_size=4, num_workers=2, multiprocessing_context=context
        )
    if way == "later":
        first_batch(make)
        _core.end_idle_workers()
    print(json.dumps(first_batch(make)))
"""
WAYS = {
    "torch": "PyTorch, forked",
    "first": "penstock, first pass",
    "later": "penstock, later pass",
    "spawned": "penstock, new interpreters",
}


def _program(way: str, cpu: dict[str, list[float]]) -> Callable[[], float]:
    def run() -> float:
        command = [sys.executable, "-c", PROGRAM, way]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        seconds, used = json.loads(done.stdout)
        cpu[way].append(used)
        return float(seconds)

    return run


def run() -> list[Figure]:
    cpu: dict[str, list[float]] = {way: [] for way in WAYS}
    rounds = interleaved({way: _program(way, cpu) for way in WAYS})
    return [
        Figure(
            f"first batch of two workers: {name}",
            rounds.seconds(way),
            "s",
            note=f"{sorted(cpu[way])[len(cpu[way]) // 2]:.2f} s of CPU time",
        )
        for way, name in WAYS.items()
    ]


if __name__ == "__main__":
    main(run, __doc__)
