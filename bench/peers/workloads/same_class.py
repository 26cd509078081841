"""One map-style class, with the arguments of PyTorch's `DataLoader`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect
from bench.peers.workloads.gil import hold

SIDE = 224
ROW = 75_000  # of float64: 600 kB
KINDS = 8  # number of distinct images and rows


class SameClass(Workload):
    title = "The same Dataset class"
    summary = (
        "The script of a user of PyTorch: a class with __len__ and __getitem__, and a DataLoader "
        "over it with as many persistent workers as there are processors, the default collate "
        "function and batches of 8. Samples of pure Python, which hold the GIL for some 2 ms; "
        "JPEGs of 500 x 375 decoded by Pillow to 224 x 224 float32; rows of 600 kB of an array in "
        "memory."
    )
    unit = "samples/s"
    limit = ""
    bound = "The class itself, on two processors."
    cases = {
        "pure Python": {"n": 400, "batch": 8},
        "decoded images": {"n": 400, "batch": 8},
        "rows of 600 kB": {"n": 800, "batch": 8},
    }
    tiny = {"n": 16}
    seconds = 2.0

    def count(self, element: Any, task: Task) -> int:
        return len(element[1])

    def check(self, elements: Iterator[Any], task: Task) -> None:
        numbers: list[int] = []
        wanted = samples(task)
        for values, places in elements:
            for value, place in zip(np.asarray(values), np.asarray(places), strict=True):
                expect("sample", bool(np.array_equal(value, wanted[int(place)][0])), True)
                numbers.append(int(place))
        expect("numbers", numbers, list(range(task.n)))


class _Samples:
    """A map-style dataset."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n


class Counts(_Samples):
    """Pure Python."""

    def __getitem__(self, i: int) -> Any:
        return hold(i), i


class Rows(_Samples):
    """Rows of an array."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.rows = np.random.default_rng(0).random((KINDS, ROW))

    def __getitem__(self, i: int) -> Any:
        return self.rows[i % KINDS], i


class Images(_Samples):
    """Decoded images."""

    def __init__(self, n: int) -> None:
        from PIL import Image

        super().__init__(n)
        random = np.random.default_rng(0)
        self.files = []
        for _ in range(KINDS):
            coarse = Image.fromarray(random.integers(0, 256, (24, 32, 3), np.uint8))
            file = io.BytesIO()
            coarse.resize((500, 375), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())

    def __getitem__(self, i: int) -> Any:
        from PIL import Image

        image = Image.open(io.BytesIO(self.files[i % KINDS])).convert("RGB")
        image = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        return np.asarray(image).astype(np.float32) / np.float32(255), i


def samples(task: Task) -> Any:
    """Return the dataset of a case."""
    kinds = {"pure Python": Counts, "decoded images": Images, "rows of 600 kB": Rows}
    return kinds[task.case](task.n)


WORKLOAD = SameClass()
