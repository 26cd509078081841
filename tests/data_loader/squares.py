"""A map-style dataset of squares, its variants, and the worker settings to test loaders with."""

import sys

import numpy as np
import pytest

THREADS = [
    {},
    {"num_workers": 1},
    {"num_workers": 3},
    {"num_workers": 2, "prefetch_factor": 5, "timeout": 30},
]
PROCESSES = [
    {"num_workers": 2, "worker_method": "process"},
    {"num_workers": 3, "worker_method": "process", "persistent_workers": True, "timeout": 30},
]
if sys.platform != "linux":
    PROCESSES = []
threads = pytest.mark.parametrize("workers", THREADS, ids=repr)
workers = pytest.mark.parametrize("workers", THREADS + PROCESSES, ids=repr)


class Squares:
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(f"no row {i}")
        return {"i": i, "square": np.full(2, i * i)}


class Many(Squares):
    """Rows that are fetched in one call."""

    def __init__(self, n=10):
        super().__init__(n)
        self.asked = []

    def __getitem__(self, i):
        raise AssertionError("one by one")

    def __getitems__(self, indices):
        self.asked.append(indices)
        return [Squares.__getitem__(self, i) for i in indices]
