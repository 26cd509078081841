"""The cost of saving the state of an iterator, and of resuming from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect

SEED = 7


class Checkpoint(Workload):
    title = "Checkpoints"
    summary = (
        "A million integers, shuffled (with a buffer of 10,000 where the loader has one), each "
        "plus one, in batches of 100. `save`: the state after each of 50 batches, in memory or in "
        "a file, as the loader does it. `restore`: from making an iterator to its first batch "
        "after 50, which is checked to be the right one."
    )
    unit = "ms"
    limit = (
        "to save, pickle of a position and a seed; to restore, unpickling them, NumPy's "
        "permutation of the 10,000 numbers of a buffer, and a batch of them"
    )
    bound = (
        "In `save`, an account of the pipeline, which the first state of an iterator makes in up "
        "to 1 ms; each of the others is some hundred bytes from all stages, written while they go "
        "on. In `restore`, drawing the choices of the shuffle buffer again up to the position."
    )
    rate = False
    scale = 1e3
    cases = {
        case: {"n": 1_000_000, "buffer": 10_000, "batch": 100, "steps": 50, "times": 10}
        for case in ("save", "restore")
    }
    tiny = {"n": 5000, "buffer": 1000, "steps": 5, "times": 2}
    together = True

    def check(self, elements: Iterator[Any], task: Task) -> None:
        """Do nothing: `measured` checks each restored iterator."""


def measured(
    task: Task,
    start: Callable[[], Any],
    save: Callable[[Any], Any],
    restore: Callable[[Any], Any],
) -> float:
    """Return the seconds of a save, or of a restore up to the first batch.

    Parameters
    ----------
    task : Task
        The case.
    start : callable
        Returns a new iterator.
    save : callable
        Takes an iterator, returns its state.
    restore : callable
        Takes a state, returns an iterator that resumes from it.
    """
    clock = time.perf_counter
    spent = 0.0
    iterator = start()
    for _ in range(task.steps):
        next(iterator)
        begin = clock()
        state = save(iterator)
        spent += clock() - begin
    wanted = [np.asarray(next(iterator)).tolist() for _ in range(2)]
    restoring = 0.0
    for _ in range(task.times):
        begin = clock()
        iterator = restore(state)
        found = [next(iterator)]
        restoring += clock() - begin
        found.append(next(iterator))
        expect("batches behind a restore", [np.asarray(b).tolist() for b in found], wanted)
    return spent / task.steps if task.case == "save" else restoring / task.times


WORKLOAD = Checkpoint()
