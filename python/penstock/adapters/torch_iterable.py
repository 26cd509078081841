"""A dataset as a torch.utils.data.IterableDataset that shards itself among DataLoader workers."""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import Any

from penstock import random
from penstock.adapters.batches import BatchIterator, position_of
from penstock.adapters.torch_tensors import Tensors
from penstock.dataset import Dataset
from penstock.errors import StateError
from penstock.stages.prefetch import is_prefetched

_BEGINNING = {"penstock": None}
_ENDED, _PASSES = "ended", "passes"  # stored with the position of the latest epoch


class _TorchIterable:
    """The class without its base IterableDataset, which is imported on first use.

    Parameters
    ----------
    dataset : Dataset
        The dataset to iterate.
    prefetch : int
        Number of elements to prefetch.
    """

    def __init__(self, dataset: Dataset, prefetch: int) -> None:
        self._dataset = dataset
        self._prefetch = prefetch
        self._pass: BatchIterator | None = None  # the latest one
        self._begun_here = 0  # number of passes begun in this process
        self._next: dict[str, Any] | None = None  # where the next pass starts
        self._strict = True  # the `strict` for _next

    def __iter__(self) -> BatchIterator:
        import torch

        worker = torch.utils.data.get_worker_info()
        dataset = self._share_of(worker)
        if not is_prefetched(self._dataset):
            dataset = dataset.prefetch(self._prefetch)
        form = Tensors(torch, "to_torch_iterable").of_element
        saved, self._next = self._next or {}, None
        ended = saved.get(_ENDED, False)
        if saved:
            self._begun_here = saved.get(_PASSES, 1) - (not ended)
        if ended:
            # That pass is finished, but the pass and seed numbering continues. The state of another
            # pipeline (another number of workers) has none, so this is the first pass.
            with BatchIterator(iter(dataset), form) as last, contextlib.suppress(StateError):
                last.load_state_dict(saved)
        if worker is not None:
            # All workers use the same seed in a pass, because they must agree on the order.
            random.set_seed(worker.seed - worker.id + self._begun_here)
        self._begun_here += 1
        begun = BatchIterator(iter(dataset), form)
        if saved and not ended:
            begun.load_state_dict(saved, self._strict)
        self._pass = begun
        return begun

    def _share_of(self, worker: Any) -> Dataset:
        """Return the worker's shard, or the whole dataset outside of workers."""
        if worker is None:
            return self._dataset
        if worker.id == 0 and not self._begun_here:
            warnings.warn(
                f"to_torch_iterable: DataLoader was given num_workers={worker.num_workers}, and "
                "each runs the whole pipeline; it has threads of its own: num_workers=0 is faster",
                RuntimeWarning,
                stacklevel=2,
            )
        return self._dataset.shard(worker.num_workers, worker.id)

    def __len__(self) -> int:
        return len(self._dataset)

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the last element of the latest pass."""
        if self._next is not None:
            return self._next
        if self._pass is None or (self._pass.ended and self._pass.closed):
            return _BEGINNING
        return {
            **self._pass.state_dict(),
            _ENDED: self._pass.ended,
            _PASSES: self._begun_here,
        }

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Start the next pass where `state_dict` was called.

        Raises
        ------
        ValueError
            If `state` is not the result of `state_dict`.
        StateError
            At the start of the pass, under the conditions of `Iterator.set_state`.
        """
        self._strict = strict
        self._next = None if position_of(state) is None else state
        self._pass = None

    def __repr__(self) -> str:
        return f"<IterableDataset of {self._dataset!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return torch_iterable, (self._dataset, self._prefetch, self._next, self._strict)


@functools.cache
def _class() -> type:
    from torch.utils.data import IterableDataset

    return type("TorchIterable", (_TorchIterable, IterableDataset), {})


def torch_iterable(
    dataset: Any, prefetch: int, state: dict[str, Any] | None = None, strict: bool = True
) -> Any:
    """Return the IterableDataset of a dataset; also called by unpickling."""
    iterable = _class()(dataset, prefetch)
    if state is not None:
        iterable.load_state_dict(state, strict)
    return iterable
