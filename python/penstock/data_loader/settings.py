"""The current arguments of a DataLoader, which may be changed between epochs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.data_loader.counts import Counts
from penstock.data_loader.draws import Draws


class Settings:
    """Base class of the DataLoader: its arguments, most of which may be changed between epochs."""

    dataset: Any
    batch_size: int | None
    drop_last: bool
    sampler: Any
    batch_sampler: Any
    num_workers: int
    collate_fn: Callable[[Any], Any]
    pin_memory: bool
    timeout: float
    worker_init_fn: Callable[[int], object] | None
    multiprocessing_context: Any
    generator: Any
    prefetch_factor: int | None
    in_order: bool
    persistent_workers: bool
    worker_method: str

    _iterable: bool  # whether the dataset can only be read from start to end
    _follows_torch: bool  # whether random draws follow PyTorch's loader
    _draws: Draws
    _counts: Counts  # over all epochs
    _announced: float = math.inf  # batches of an iterable dataset, once `len` was called

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        samples = len(self.dataset)
        size = self.batch_size or 1
        batches = samples // size if self.drop_last else -(-samples // size)
        self._announced = batches
        return batches

    @property
    def _in_processes(self) -> bool:
        return self.worker_method == "process" and self.num_workers > 0

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler
