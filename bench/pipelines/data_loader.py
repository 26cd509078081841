"""ps.DataLoader, compared with manual slicing and PyTorch's `DataLoader`.

Rows in memory: batches of 64 from 50,000 rows of 16 float32, shuffled. Manual slicing means
``X[perm[i : i + 64]]`` with a permutation for each pass. PyTorch's loader (``num_workers=0``) gets
the same dataset: an array, a ``TensorDataset``, and subclasses of PyTorch's ``Dataset`` with
``__getitem__`` or ``__getitems__``. Without PyTorch, its figures are omitted.

Two workers, threads compared with PyTorch's persistent processes, from the second pass on: items
that sleep for 2 ms, like disk or network access; and images of (224, 224, 3) uint8 that NumPy flips
and converts to float32. Items in pure Python, which threads cannot make in parallel, are also
shown, without a bound.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed
from bench.pipelines.parallel_map import counting

ROWS = 50_000
WIDTH = 16
BATCH = 64
BATCHES = -(-ROWS // BATCH)
SLEEP = 0.002  # seconds
ITEMS = 128  # number of sleeping items
IMAGES = 256
IMAGE = (224, 224, 3)
IMAGE_BATCH = 16


class Rows:
    """Rows of an array and their numbers, one per call."""

    def __init__(self) -> None:
        self.rows = np.random.default_rng(1).random((ROWS, WIDTH), np.float32)
        self.labels = np.arange(ROWS)

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        return self.rows[i], self.labels[i]


class ManyRows(Rows):
    """The same rows, many per call."""

    def __getitems__(self, indices: list[int]) -> list[tuple[Any, Any]]:
        return list(zip(self.rows[indices], self.labels[indices], strict=True))


class Sleeping:
    def __len__(self) -> int:
        return ITEMS

    def __getitem__(self, i: int) -> int:
        time.sleep(SLEEP)
        return i


class Images:
    def __init__(self) -> None:
        self.images = np.random.default_rng(1).integers(0, 256, (16, *IMAGE), np.uint8)

    def __len__(self) -> int:
        return IMAGES

    def __getitem__(self, i: int) -> Any:
        image = self.images[i % 16][:, ::-1].astype(np.float32)
        image -= 127.5
        image /= 127.5
        return image


class Counting:
    """Items made in pure Python."""

    def __init__(self) -> None:
        self.work = counting(1000)

    def __len__(self) -> int:
        return ITEMS

    def __getitem__(self, i: int) -> int:
        self.work(1)
        return i


def gathering(take: Callable[[Any], object], permute: Callable[[], Any]) -> Iterator[object]:
    order = permute()
    for i in range(0, ROWS, BATCH):
        yield take(order[i : i + BATCH])


def by_hand() -> list[Figure]:
    rows = np.random.default_rng(1).random((ROWS, WIDTH), np.float32)
    permute = np.random.default_rng(2)
    loader = ps.DataLoader(rows, BATCH, shuffle=True, generator=3)

    def hand() -> None:
        drain(gathering(lambda part: rows[part], lambda: permute.permutation(ROWS)))

    rounds = interleaved(
        {"hand": timed(hand, BATCHES), "loader": timed(lambda: drain(loader), BATCHES)}
    )
    return [against("shuffled rows of an array: time / slicing by hand", rounds, "hand", 1.2)]


def against(name: str, rounds: Any, other: str, at_most: float) -> Figure:
    us = {case: rounds.seconds(case).median * 1e6 for case in ("loader", other)}
    note = f"{us['loader']:.1f} against {us[other]:.1f} us per batch"
    return Figure(name, rounds.ratio("loader", other), "x", at_most=at_most, note=note)


def beside_torch(torch: Any) -> list[Figure]:
    data = torch.utils.data
    rows = Rows()
    tensors = data.TensorDataset(torch.from_numpy(rows.rows), torch.from_numpy(rows.labels))

    class Items(Rows, data.Dataset):  # type: ignore[misc]
        pass

    class Many(ManyRows, data.Dataset):  # type: ignore[misc]
        pass

    figures = []
    for name, dataset, at_least in (
        ("rows of an array", rows.rows, 3),
        ("TensorDataset", tensors, 3),
        ("rows by __getitems__", Many(), 3),
        ("rows by __getitem__", Items(), 1),
        ("rows by __getitem__, no class of PyTorch's", Rows(), 1),
    ):
        rounds = interleaved(
            {
                "loader": timed(
                    passing(ps.DataLoader(dataset, BATCH, shuffle=True)), -(-ROWS // BATCH)
                ),
                "torch": timed(
                    passing(data.DataLoader(dataset, BATCH, shuffle=True)), -(-ROWS // BATCH)
                ),
            }
        )
        figures.append(faster(f"{name}, shuffled: speed / PyTorch's", rounds, at_least))

    def gather(part: Any) -> list[Any]:
        return [tensor[part] for tensor in tensors.tensors]

    loader = ps.DataLoader(tensors, BATCH, shuffle=True)
    rounds = interleaved(
        {
            "hand": timed(
                lambda: drain(gathering(gather, lambda: torch.randperm(ROWS))), len(loader)
            ),
            "loader": timed(passing(loader), BATCHES),
        }
    )
    figures.append(against("TensorDataset, shuffled: time / indexing by hand", rounds, "hand", 1.2))
    for name, dataset, size, bound in (
        ("items that sleep 2 ms", Sleeping(), 8, 1),
        ("images flipped and scaled by NumPy", Images(), IMAGE_BATCH, 1),
        ("items of 1 ms of pure Python", Counting(), 8, None),
    ):
        options: dict[str, Any] = {"num_workers": 2, "persistent_workers": True}
        collate = data.default_collate  # tensors on both sides
        count = -(-len(dataset) // size)
        rounds = interleaved(
            {
                "loader": timed(
                    passing(ps.DataLoader(dataset, size, collate_fn=collate, **options)), count
                ),
                "torch": timed(passing(data.DataLoader(dataset, size, **options)), count),
            }
        )
        figures.append(faster(f"{name}, two workers: speed / PyTorch's", rounds, bound))
    return figures


def passing(loader: Any) -> Callable[[], None]:
    return lambda: drain(loader)


def faster(name: str, rounds: Any, at_least: float | None) -> Figure:
    us = {case: rounds.seconds(case).median * 1e6 for case in ("loader", "torch")}
    note = f"{us['loader']:.1f} against {us['torch']:.1f} us per batch"
    return Figure(name, rounds.ratio("torch", "loader"), "x", at_least=at_least, note=note)


def run() -> list[Figure]:
    figures = by_hand()
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: its figures are left out", file=sys.stderr)
        return figures
    return figures + beside_torch(torch)


if __name__ == "__main__":
    main(run, __doc__)
