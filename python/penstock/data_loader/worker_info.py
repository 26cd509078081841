"""Worker identity: number, seed and dataset of the worker that runs the calling code."""

from __future__ import annotations

import dataclasses
import importlib.machinery
import random
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from penstock.random import set_seed


@dataclasses.dataclass(frozen=True)
class WorkerInfo:
    """Number, seed and dataset of a `DataLoader` worker.

    Attributes
    ----------
    id : int
        Number of the worker, from 0 to ``num_workers - 1``.
    num_workers : int
        Number of workers.
    seed : int
        A seed that differs between workers and epochs. Worker processes seed their random
        generators with it; threads share the program's generators.
    dataset : object
        The dataset; in a worker process, the worker's copy.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None
_thread = threading.local()  # `info`: the WorkerInfo of a worker thread


def get_worker_info() -> WorkerInfo | None:
    """Return the number, seed and dataset of the current `DataLoader` worker.

    Returns
    -------
    WorkerInfo or None
        None outside of workers. ``torch.utils.data.get_worker_info()`` returns the same.

    Notes
    -----
    A single thread that reads an iterable dataset is worker 0 of 1: it reads everything.

    Examples
    --------
    >>> class Numbers:
    ...     def __iter__(self):
    ...         info = ps.get_worker_info()
    ...         first, step = (0, 1) if info is None else (info.id, info.num_workers)
    ...         return iter(range(first, 10, step))
    >>> [int(x) for x in ps.DataLoader(Numbers(), batch_size=None)]
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    return _info if _info is not None else getattr(_thread, "info", None)


def enter(info: WorkerInfo) -> WorkerInfo | None:
    """Register the calling thread as a worker, also with PyTorch; return its previous info."""
    before: WorkerInfo | None = getattr(_thread, "info", None)
    worker = sys.modules.get("torch.utils.data._utils.worker")
    if worker is not None and not hasattr(worker, _NAME):
        _ask_threads(worker)
    _thread.info = info
    return before


def leave(before: WorkerInfo | None) -> None:
    """Restore the calling thread's previous info, which `enter` returned."""
    _thread.info = before


def _ask_threads(worker: Any) -> None:
    """Make PyTorch's `get_worker_info` also find the worker threads of this module.

    Programs may have imported the function by name, so it must stay the same object. It reads a
    PyTorch global variable, which all threads share.
    """

    def of_thread() -> Any:
        info = getattr(_thread, "info", None)
        return None if info is None else worker.WorkerInfo(**vars(info))

    setattr(worker, _NAME, of_thread)
    source = f"def get_worker_info():\n    return _worker_info or {_NAME}()\n"
    made: dict[str, Any] = {}
    exec(source, made)
    worker.get_worker_info.__code__ = made["get_worker_info"].__code__


_NAME = "_penstock_thread_info"


def be(number: int, workers: int, base_seed: int, dataset: Any) -> None:
    """Make this process the worker `number`, with generators seeded as in PyTorch workers."""
    global _info
    seed = (base_seed + number) % 2**64
    _info = WorkerInfo(number, workers, seed, dataset)
    random.seed(seed)
    entropy = [number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(entropy).generate_state(4))
    set_seed(seed)
    for name, then in _AFTER_IMPORT.items():
        module = sys.modules.get(name)
        if module is not None:
            then(module)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def end() -> None:
    """Stop being a worker."""
    global _info
    _info = None
    worker = sys.modules.get("torch.utils.data._utils.worker")
    if worker is not None:
        worker._worker_info = None  # type: ignore[attr-defined]
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def _seed_torch(torch: Any) -> None:
    assert _info is not None
    torch.manual_seed(_info.seed)


def _tell_torch(worker: Any) -> None:
    assert _info is not None
    worker._worker_info = worker.WorkerInfo(
        id=_info.id, num_workers=_info.num_workers, seed=_info.seed, dataset=_info.dataset
    )


def _collate_in_memory_of_batches(module: Any) -> None:
    from penstock.data_loader import torch_collate

    torch_collate.replace_tensors(module)


# The dataset may import PyTorch at any time, or never.
_AFTER_IMPORT: dict[str, Callable[[Any], None]] = {
    "torch": _seed_torch,
    "torch.utils.data._utils.worker": _tell_torch,
    "torch.utils.data._utils.collate": _collate_in_memory_of_batches,
}


class _Finder:
    """Run the hooks of `_AFTER_IMPORT` after their module is imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        then = _AFTER_IMPORT.get(name)
        spec = None if then is None else importlib.machinery.PathFinder.find_spec(name, path)
        if then is None or spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_then(module: ModuleType) -> None:
            load(module)
            then(module)

        spec.loader.exec_module = load_and_then  # type: ignore[method-assign]
        return spec


_FINDER = _Finder()
