"""Helpers that follow PyTorch's behaviour if PyTorch is imported; this module never imports it."""

from __future__ import annotations

import base64
import copy
import sys
import warnings
import zlib
from collections import UserDict, UserList
from collections.abc import Mapping
from typing import Any

from penstock.structure import is_nested, map_parts


def torch() -> Any:
    """Return the module ``torch`` if the program has imported it, else None."""
    return sys.modules.get("torch")


def data() -> Any:
    """Return ``torch.utils.data`` if the program has imported it, else None."""
    return sys.modules.get("torch.utils.data")


def collate_module() -> Any:
    """Return PyTorch's collate module if it has the functions needed here, else None."""
    module = sys.modules.get("torch.utils.data._utils.collate")
    parts = ("collate", "default_collate_fn_map", "collate_numpy_array_fn")
    if all(hasattr(module, name) for name in (*parts, "collate_numpy_scalar_fn")):
        return module
    return None


def collates_as_shipped(kind: type, function: str | None) -> bool:
    """Return whether PyTorch's `default_collate` still uses its original function for a type.

    Programs may change PyTorch's table of functions; its first matching entry is used.

    Parameters
    ----------
    kind : type
        The type of the values.
    function : str or None
        Name of the original function in PyTorch's module. None: the table has no entry, as for
        containers.
    """
    module = sys.modules.get("torch.utils.data._utils.collate")
    table = getattr(module, "default_collate_fn_map", None)
    if table is None:  # PyTorch before 2.0 has no such table
        return True
    found = table.get(kind) or next((f for of, f in table.items() if issubclass(kind, of)), None)
    return found is (function and getattr(module, function, None))


def is_a(name: str, value: Any) -> bool:
    """Return whether `value` is an instance of the class `name` of ``torch.utils.data``."""
    cls = getattr(data(), name, None)
    return cls is not None and isinstance(value, cls)


def is_exactly(name: str, value: Any) -> bool:
    """Return whether `value` is an instance of that PyTorch class, but not of a subclass."""
    return type(value) is getattr(data(), name, object())


def pipe_in_order(dataset: Any, shuffle: Any) -> tuple[Any, Any]:
    """Apply ``shuffle`` to the shufflers of a data pipe, as PyTorch's loader does.

    Returns
    -------
    tuple
        The dataset, and the ``shuffle`` argument that remains for the loader.
    """
    if shuffle is None or not is_a("IterDataPipe", dataset):
        return dataset, shuffle
    settings = sys.modules["torch.utils.data.graph_settings"]
    return settings.apply_shuffle_settings(dataset, shuffle=shuffle), None


def divide_pipe(dataset: Any, number: int, workers: int, seed: int | None) -> None:
    """Select one worker's share of a data pipe with a `sharding_filter`.

    Parameters
    ----------
    number, workers : int
        Index of the worker, and number of workers of this process.
    seed : int or None
        Seed of the pipe's shufflers. All workers use the same seed, because they divide a common
        order.
    """
    if not (is_a("IterDataPipe", dataset) or is_a("MapDataPipe", dataset)):
        return
    settings = sys.modules["torch.utils.data.graph_settings"]
    processes, rank = 1, 0
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        processes, rank = distributed.get_world_size(), distributed.get_rank()
    settings.apply_sharding(dataset, workers * processes, number * processes + rank)
    if seed is not None:
        settings.apply_random_seed(dataset, torch().Generator().manual_seed(seed % 2**63))


def is_generator(value: Any) -> bool:
    """Return whether `value` is a ``torch.Generator``."""
    module = torch()
    return module is not None and isinstance(value, module.Generator)


def holds_tensors(sample: Any) -> bool:
    """Return whether a sample contains a PyTorch tensor at any depth."""
    module = torch()
    return module is not None and _holds(sample, module.Tensor)


def _holds(sample: Any, tensor: type) -> bool:
    if isinstance(sample, tensor):
        return True
    if isinstance(sample, Mapping):
        return any(_holds(part, tensor) for part in sample.values())
    if isinstance(sample, (tuple, list)):
        return any(_holds(part, tensor) for part in sample)
    return False


def pins(pin_memory: bool) -> bool:
    """Return whether to pin batches; warn, as PyTorch does, if pinning is not possible."""
    if not pin_memory:
        return False
    module = torch()
    if module is not None and module.accelerator.is_available():
        return bool(module.accelerator.current_accelerator().type != "mps")
    warnings.warn(
        "DataLoader: pin_memory=True has no effect: PyTorch is not imported, or finds no "
        "accelerator",
        stacklevel=4,
    )
    return False


def pinned(batch: Any) -> Any:
    """Return a batch with its tensors in pinned memory."""
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, (UserDict, UserList)):  # copies keep other attributes of subclasses
        copied = copy.copy(batch)
        copied.data = pinned(batch.data)
        return copied
    if isinstance(batch, list):
        return [pinned(part) for part in batch]
    return map_parts(lambda _, part: pinned(part), batch) if is_nested(batch) else batch


def random_state() -> str | None:
    """Return the state of PyTorch's global generator; None without PyTorch."""
    module = torch()
    return None if module is None else state_of(module.default_generator)


def state_of(generator: Any) -> str:
    """Return the state of a ``torch.Generator`` as a string, which can be saved as JSON."""
    return base64.b85encode(zlib.compress(generator.get_state().numpy().tobytes(), 1)).decode()


def set_state_of(generator: Any, state: str) -> None:
    """Set a ``torch.Generator`` to a state returned by `state_of`."""
    module = torch()
    data = bytearray(zlib.decompress(base64.b85decode(state)))
    generator.set_state(module.frombuffer(data, dtype=module.uint8))


def random_integer(generator: Any = None) -> int:
    """Draw a seed as PyTorch's loader and samplers do; None: from the global generator."""
    module = torch()
    return int(module.empty((), dtype=module.int64).random_(generator=generator).item())
