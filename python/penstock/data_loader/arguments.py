"""Argument checks of the DataLoader, and its default samplers."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from penstock.arguments.checks import MOST_THREADS
from penstock.columns import refuse_columns
from penstock.data_loader import samplers, torch_rules
from penstock.data_loader.samplers import BatchSampler
from penstock.stage import Stage

# No start method, not even "fork", forks this process: a process with threads cannot be forked
# safely. "fork" and "forkserver" fork from the fork server; "spawn" starts a new interpreter.
_CONTEXTS = ("fork", "forkserver", "spawn")


def check(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool) -> None:
    """Raise ValueError for invalid worker arguments."""
    if not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(f"DataLoader: num_workers must be an int >= 0, got {num_workers!r}")
    if num_workers > MOST_THREADS:
        raise ValueError(f"DataLoader: num_workers must be <= {MOST_THREADS}, got {num_workers}")
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout must be >= 0 seconds, got {timeout}")
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(f"DataLoader: prefetch_factor must be >= 1, got {prefetch_factor}")
    for name, asked in {
        "prefetch_factor": prefetch_factor is not None,
        "persistent_workers": persistent,
        "timeout": timeout > 0,
    }.items():
        if asked and num_workers == 0:
            raise ValueError(f"DataLoader: {name} needs num_workers > 0, got num_workers=0")


def method_of(method: str | None, context: Any, num_workers: int, dataset: Any) -> str:
    """Return the kind of workers; raise ValueError or TypeError for conflicting arguments."""
    if context is not None:
        if method == "thread":
            raise ValueError(
                f"DataLoader: multiprocessing_context={context!r} needs worker processes, got "
                "worker_method='thread'; pass only one of them"
            )
        if start_method(context) not in _CONTEXTS:
            raise (ValueError if isinstance(context, str) else TypeError)(
                f"DataLoader: multiprocessing_context must be one of {', '.join(_CONTEXTS)}, or a "
                f"context of one of these, got {context!r:.200}"
            )
        if num_workers == 0:
            raise ValueError(
                "DataLoader: multiprocessing_context needs num_workers > 0, got num_workers=0"
            )
    if method is None:
        method = "thread" if context is None else "process"
    check_method(method, num_workers, dataset)
    _warn_of_many(num_workers, method)
    return method


def start_method(context: Any) -> str | None:
    """Return the name of the start method that `context` selects; None if it is not a context."""
    if isinstance(context, str):
        return context
    # A context exists only where its module has been imported.
    contexts = sys.modules.get("multiprocessing.context")
    if contexts is None or not isinstance(context, contexts.BaseContext):
        return None
    name: str = context.get_start_method()
    return name


def check_method(method: str, num_workers: int, dataset: Any) -> None:
    """Raise ValueError if worker processes do not support the platform or the dataset."""
    if method == "thread" or num_workers == 0:
        return
    if sys.platform != "linux":
        raise ValueError(
            "DataLoader: worker_method='process' needs Linux; leave it out, and workers are threads"
        )
    if isinstance(dataset, Stage):
        raise ValueError(
            "DataLoader: worker_method='process' gives each worker a copy of the dataset, and this "
            "one is a pipeline that works in parallel itself; leave worker_method out, and give "
            "executor='process' to its map"
        )


def _warn_of_many(num_workers: int, method: str) -> None:
    """Warn if there are more workers than CPU cores."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    if num_workers > cores:
        # The text begins and ends like PyTorch's, so that filters for that warning match this one.
        kind = "processes" if method == "process" else "threads"
        warnings.warn(
            f"This DataLoader will create {num_workers} worker {kind} in total, and {cores} CPU "
            "cores are available: excessive worker creation might get DataLoader running slow or "
            "even freeze",
            stacklevel=5,
        )


def is_iterable(dataset: Any, has_sampler: bool) -> bool:
    """Return whether a dataset can only be iterated; raise TypeError if it is not a dataset."""
    if torch_rules.is_a("IterableDataset", dataset):
        return True
    # penstock datasets are iterated: they run their own stages and define their own order.
    if isinstance(dataset, Stage) and not has_sampler:
        return True
    if hasattr(dataset, "__getitem__") and (hasattr(dataset, "__len__") or has_sampler):
        if not has_sampler:
            refuse_columns("DataLoader", dataset)
        return False
    if hasattr(dataset, "__iter__"):
        return True
    raise TypeError(
        "DataLoader: a dataset with __getitem__ and __len__, or with __iter__, was expected, got "
        f"{dataset!r:.200}"
    )


def check_order(
    iterable: bool, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: Any
) -> None:
    """Raise ValueError for arguments that conflict, TypeError for invalid samplers."""
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if iterable and value is not None:
            raise ValueError(
                "DataLoader: an iterable dataset decides the order of its samples, got "
                f"{name}={value!r:.200}; leave it out, and order them in the dataset"
            )
    if sampler is not None and shuffle:
        raise ValueError("DataLoader: sampler and shuffle exclude each other; give one of them")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last; "
                "leave them out"
            )
    elif batch_size is None and drop_last:
        raise ValueError("DataLoader: batch_size=None makes no batches, drop_last must be False")
    for name, value in {"sampler": sampler, "batch_sampler": batch_sampler}.items():
        if not (value is None or hasattr(value, "__iter__") or hasattr(value, "__getitem__")):
            raise TypeError(f"DataLoader: {name} must be iterable, got {value!r:.200}")
    if batch_size is not None:
        BatchSampler((), batch_size, drop_last)  # checks both arguments


def choose_samplers(
    dataset: Any, batch_size: Any, shuffle: Any, drop_last: Any, generator: Any, given: Any = None
) -> tuple[Any, Any]:
    """Return the sampler and batch sampler of a map-style dataset; the latter may be None."""
    # With PyTorch datasets, scripts expect samplers of PyTorch's classes.
    of_torch = generator is None and torch_rules.is_a("Dataset", dataset)
    kinds = torch_rules.data() if of_torch or torch_rules.is_generator(generator) else None
    if given is not None:
        sampler = given
    elif not shuffle:
        sampler = (kinds or samplers).SequentialSampler(dataset)
    elif kinds is not None:
        sampler = kinds.RandomSampler(dataset, generator=generator)
    else:
        sampler = samplers.RandomSampler(dataset, generator)
    if batch_size is None:
        return sampler, None
    return sampler, (kinds or samplers).BatchSampler(sampler, batch_size, drop_last)
