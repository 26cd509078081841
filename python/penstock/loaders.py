"""Recognise datasets, their conversions for trainers, and data loaders in a program.

PyTorch loaders are found through modules that the program has imported. This module imports no
framework.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.dataset import Dataset
from penstock.stages.prefetch import is_prefetched

_TORCH = "torch.utils.data"
_OURS = "penstock.data_loader"
_MOST_WRAPPERS = 10


class LoaderView(NamedTuple):
    """The settings of a PyTorch DataLoader or a penstock DataLoader.

    Attributes
    ----------
    ours : bool
        Whether it is a `penstock.DataLoader`.
    dataset : object
        The dataset of the loader.
    num_workers : int
        Number of workers. 0 means that the thread that requests a batch loads it.
    processes : bool
        Whether its workers are processes.
    pin_memory, persistent_workers : bool
        The arguments of the loader.
    """

    ours: bool
    dataset: Any
    num_workers: int
    processes: bool
    pin_memory: bool
    persistent_workers: bool

    def __str__(self) -> str:
        name = "ps.DataLoader" if self.ours else "DataLoader"
        method = "" if not self.ours or not self.num_workers else ", worker_method="
        kind = repr("process" if self.processes else "thread") if method else ""
        return f"{name}(num_workers={self.num_workers}{method}{kind})"

    @property
    def pipeline(self) -> Dataset | None:
        """The penstock dataset that the loader iterates, or None."""
        return pipeline_of(self.dataset)

    @property
    def in_memory(self) -> bool:
        """Whether samples are rows of tensors or arrays, which load instantly."""
        dataset = self.dataset
        for _ in range(_MOST_WRAPPERS):
            if type(dataset).__name__ in ("TensorDataset", "ndarray", "Tensor", "range", "list"):
                return True
            dataset = getattr(dataset, "dataset", None)  # of a Subset
        return False


def loader_of(value: Any) -> LoaderView | None:
    """Return the settings of a DataLoader, also from one of its iterators; otherwise None."""
    passes, ours = sys.modules.get(f"{_OURS}.passes"), sys.modules.get(f"{_OURS}.loader")
    loader = value._loader if passes is not None and isinstance(value, passes.Pass) else value
    if ours is not None and isinstance(loader, ours.DataLoader):
        return LoaderView(
            *(True, loader.dataset, loader.num_workers, loader.worker_method == "process"),
            *(loader.pin_memory, loader.persistent_workers),
        )
    if _is_of_torch(value, f"{_TORCH}", "DataLoader"):
        prefix = ""
    elif _is_of_torch(value, f"{_TORCH}.dataloader", "_BaseDataLoaderIter"):
        prefix = "_"
    else:
        return None

    def setting(name: str, default: Any) -> Any:
        return getattr(value, prefix + name, default)

    return LoaderView(
        *(False, setting("dataset", None), setting("num_workers", 0), True),
        *(bool(setting("pin_memory", False)), bool(setting("persistent_workers", False))),
    )


def pipeline_of(value: Any) -> Dataset | None:
    """Return a dataset, or the one that a conversion for trainers or `prefetch` iterates."""
    if isinstance(value, Dataset):
        return value
    compat = sys.modules.get("penstock.compat.dataset")  # wraps datasets of this package
    if compat is not None and isinstance(value, compat.Dataset):
        inner: Dataset = value._inner
        return inner
    prefetch = sys.modules.get("penstock.sources.prefetch")
    if prefetch is not None and isinstance(value, prefetch._Prefetched):
        made: Dataset = value._dataset
        return made
    batches = sys.modules.get("penstock.adapters.batches")
    keras = sys.modules.get("penstock.adapters.keras_data")
    iterable = sys.modules.get("penstock.adapters.torch_iterable")
    if batches is not None and isinstance(value, batches.Batches):
        source: Dataset = value._source
    elif iterable is not None and isinstance(value, iterable._TorchIterable):
        source = value._dataset
    elif keras is not None and isinstance(value, keras._Data):
        source = value._feed._source
    else:
        return None
    return source if is_prefetched(source) else source.prefetch(1)  # conversions prefetch


def is_loader(value: Any) -> bool:
    """Return whether a value is a dataset or loader, not an iterator of one."""
    known = pipeline_of(value) is not None or loader_of(value) is not None
    return known and not hasattr(type(value), "__next__")


def outermost(values: dict[str, Any]) -> dict[str, Any]:
    """Return the datasets and loaders that are not part of another one."""
    inside = {id(part) for value in values.values() for part in _parts_of(value)}
    return {name: value for name, value in values.items() if id(value) not in inside}


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield the nested parts of a loader or conversion."""
    for _ in range(_MOST_WRAPPERS):
        if isinstance(value, Dataset):
            return
        for name in ("_source", "_dataset", "dataset", "_feed", "_inner"):
            if (inner := getattr(value, "__dict__", {}).get(name)) is not None:
                value = inner
                yield inner
                break
        else:
            return


def has_accelerator() -> bool:
    """Return whether PyTorch is imported and has a CUDA device, for which it can pin memory."""
    torch = sys.modules.get("torch")
    try:
        return bool(torch is not None and torch.cuda.is_available())
    except Exception:  # a build without CUDA, or a driver that fails
        return False


def unwrapped(value: Any) -> Any:
    """Return the iterable inside a progress bar or a similar wrapper."""
    for _ in range(_MOST_WRAPPERS):
        inner = getattr(value, "iterable", getattr(value, "_iterable", None))  # tqdm, ps.progress
        if inner is None or inner is value or isinstance(inner, bool):
            return value
        value = inner
    return value


def _is_of_torch(value: Any, module: str, name: str) -> bool:
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and isinstance(value, found)
