"""What is done as PyTorch does it, where PyTorch has been imported; nothing here imports it."""

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
    """Return the module of PyTorch with the functions of `default_collate`, if it has them."""
    module = sys.modules.get("torch.utils.data._utils.collate")
    parts = ("collate", "default_collate_fn_map", "collate_numpy_array_fn")
    if all(hasattr(module, name) for name in (*parts, "collate_numpy_scalar_fn")):
        return module
    return None


def collates_as_shipped(kind: type, function: str | None) -> bool:
    """Return whether `default_collate` has that function of its module for values of a type.

    Programs may change its table, of which the first entry counts that fits. None: it has none, as
    for containers.
    """
    module = sys.modules.get("torch.utils.data._utils.collate")
    table = getattr(module, "default_collate_fn_map", None)
    if table is None:  # PyTorch before 2.0 has none that could be changed
        return True
    found = table.get(kind) or next((f for of, f in table.items() if issubclass(kind, of)), None)
    return found is (function and getattr(module, function, None))


def is_a(name: str, value: Any) -> bool:
    """Return whether `value` is an instance of the class of that name in ``torch.utils.data``."""
    cls = getattr(data(), name, None)
    return cls is not None and isinstance(value, cls)


def is_exactly(name: str, value: Any) -> bool:
    """Return whether `value` is of that class of ``torch.utils.data``, and of no subclass."""
    return type(value) is getattr(data(), name, object())


def pipe_in_order(dataset: Any, shuffle: Any) -> tuple[Any, Any]:
    """Apply ``shuffle`` to the shufflers of a data pipe, as PyTorch's loader does.

    Returns
    -------
    tuple
        The dataset, and the ``shuffle`` that is left for the loader.
    """
    if shuffle is None or not is_a("IterDataPipe", dataset):
        return dataset, shuffle
    settings = sys.modules["torch.utils.data.graph_settings"]
    return settings.apply_shuffle_settings(dataset, shuffle=shuffle), None


def divide_pipe(dataset: Any, number: int, workers: int, seed: int | None) -> None:
    """Select one worker's share of a data pipe that divides its elements (`sharding_filter`).

    Parameters
    ----------
    number, workers : int
        The index of the worker, and the number of workers of this process.
    seed : int or None
        The seed of the pipe's shufflers. All workers use the same seed, because they divide one
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
    """Return whether there is a tensor of PyTorch anywhere in a sample."""
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
    """Return whether batches can be pinned; warn, as PyTorch does, if they cannot but should."""
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
    if isinstance(batch, (UserDict, UserList)):  # and what derives from them: copies keep the rest
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
    """Return the state of a ``torch.Generator``, as text so that it can be saved as JSON."""
    return base64.b85encode(zlib.compress(generator.get_state().numpy().tobytes(), 1)).decode()


def set_state_of(generator: Any, state: str) -> None:
    """Give a ``torch.Generator`` the state that `state_of` returned."""
    module = torch()
    data = bytearray(zlib.decompress(base64.b85decode(state)))
    generator.set_state(module.frombuffer(data, dtype=module.uint8))


def random_integer(generator: Any = None) -> int:
    """Draw a seed as PyTorch's loader and sampler do; None: from the global generator."""
    module = torch()
    return int(module.empty((), dtype=module.int64).random_(generator=generator).item())
