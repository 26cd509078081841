"""tf.keras.utils.PyDataset: batches by number, which a loop reads sequentially."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.compat.listing import listing


class PyDataset:
    """Base class of datasets of batches; subclasses define `__getitem__` and `__len__`.

    Parameters
    ----------
    workers, use_multiprocessing, max_queue_size : object
        Stored without effect; use `tf.data.Dataset.from_generator` and `prefetch` to prefetch.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> class Squares(tf.keras.utils.PyDataset):
    ...     def __len__(self):
    ...         return 3
    ...
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> list(Squares())
    [0, 1, 4]
    """

    def __init__(
        self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10
    ) -> None:
        self.workers = workers
        self.use_multiprocessing = use_multiprocessing
        self.max_queue_size = max_queue_size

    def __getitem__(self, index: int) -> Any:
        """Return the batch with this number."""
        raise NotImplementedError

    @property
    def num_batches(self) -> int | None:
        """Number of batches: `__len__()`; None if infinite."""
        return len(self) if hasattr(self, "__len__") else None

    def __iter__(self) -> Iterator[Any]:
        number, count = 0, self.num_batches
        while count is None or number < count:
            yield self[number]
            number += 1

    def on_epoch_begin(self) -> None:
        """Do nothing; subclasses may override it."""

    def on_epoch_end(self) -> None:
        """Do nothing; subclasses may override it."""


Sequence = PyDataset

__dir__ = listing(globals())
