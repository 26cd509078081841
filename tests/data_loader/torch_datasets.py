"""PyTorch datasets and samplers, and a comparison of loader outputs."""

import collections
import sys

import numpy as np
import torch
from torch.utils import data

Point = collections.namedtuple("Point", ["x", "y"])
N = 23


def nested(i):
    return {
        "image": torch.full((2, 3), float(i)),
        "array": np.arange(3, dtype=np.float32) * i,
        "point": Point(i, float(i)),
        "pair": (i % 2 == 0, np.float32(i)),
        "list": [str(i), bytes([i]), np.int16(i)],
        "scalar": np.array(i, np.uint8),
    }


class Nested(data.Dataset):
    def __len__(self):
        return N

    def __getitem__(self, i):
        return nested(i)


class Bulk(Nested):
    def __getitems__(self, indices):
        return [nested(i) for i in indices]


class Plain:
    """Not a PyTorch `Dataset`, but its samples contain tensors."""

    def __len__(self):
        return N

    def __getitem__(self, i):
        return torch.tensor([i, i]), i


class Rows(data.Dataset):
    def __init__(self, n=N):
        self.rows = np.random.default_rng(0).random((n, 4), np.float32)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], i


class Stream(data.IterableDataset):
    def __init__(self, n=N, start=0):
        self.n, self.start = n, start

    def __iter__(self):
        for i in range(self.start, self.start + self.n):
            yield {"i": i, "x": torch.tensor([i])}


class SizedStream(Stream):
    def __len__(self):
        return self.n


def tensors():
    x = torch.arange(N * 4, dtype=torch.float32).reshape(N, 4)
    return data.TensorDataset(x, torch.arange(N), torch.arange(N) % 2 == 0)


def array():
    return np.arange(N * 2).reshape(N, 2)


DATASETS = {
    "nested": Nested,
    "bulk": Bulk,
    "plain": Plain,
    "rows": Rows,
    "tensors": tensors,
    "subset": lambda: data.Subset(Nested(), list(range(20, 3, -1))),
    "subset of tensors": lambda: data.Subset(tensors(), [5, -1, 3, 3, 0, 7]),
    "subset of a subset": lambda: data.Subset(data.Subset(tensors(), range(3, 20)), [1, 5, 2, 9]),
    "subset of an array": lambda: data.Subset(array(), [4, 2, 9]),
    "random_split": lambda: data.random_split(
        tensors(), [15, 8], generator=torch.Generator().manual_seed(3)
    )[0],
    "concatenated": lambda: data.ConcatDataset([Rows(5), Rows(9)]),
    "stack": lambda: data.StackDataset(a=Rows(), b=Plain()),
}
STREAMS = {
    "stream": Stream,
    "sized": SizedStream,
    "chain": lambda: data.ChainDataset([Stream(4), Stream(7, 10)]),
    "empty": lambda: SizedStream(0),
}
WEIGHTS = [0.1 * (i + 1) for i in range(N)]
SAMPLERS = {
    "weighted": lambda: data.WeightedRandomSampler(WEIGHTS, 40),
    "weighted, seeded": lambda: data.WeightedRandomSampler(
        WEIGHTS, 40, generator=torch.Generator().manual_seed(1)
    ),
    "subset": lambda: data.SubsetRandomSampler(range(3, 17)),
    "replacement": lambda: data.RandomSampler(range(N), replacement=True, num_samples=50),
    "fewer": lambda: data.RandomSampler(range(N), num_samples=11),
    "random": lambda: data.RandomSampler(range(N)),
    "random, seeded": lambda: data.RandomSampler(
        range(N), generator=torch.Generator().manual_seed(1)
    ),
    "sequential": lambda: data.SequentialSampler(range(N)),
    "distributed": lambda: data.DistributedSampler(range(N), num_replicas=3, rank=1),
    "list": lambda: [3, 1, 4, 1, 5, 9],
    "tensor": lambda: torch.tensor([3, 1, 4]),
}
WORKERS = [{}, {"num_workers": 1}, {"num_workers": 3, "prefetch_factor": 3}]
PROCESSES = [
    {"num_workers": 2, "worker_method": "process"},
    {"num_workers": 2, "worker_method": "process", "persistent_workers": True},
]
if sys.platform != "linux":
    PROCESSES = []


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
    else:
        assert a == b
