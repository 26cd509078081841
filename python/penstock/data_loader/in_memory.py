"""Fast path for datasets whose rows are stored in arrays: gather a whole batch in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.data_loader import torch_rules

Gather = Callable[[Any], Any]  # from indices (array, range or list) to a batch


def gather_of(dataset: Any, tensors: bool) -> Gather | None:
    """Return a function that gathers and collates rows in one call.

    The result is the same as that of default_collate on the rows.

    Parameters
    ----------
    dataset : object
        Any dataset.
    tensors : bool
        Whether batches are PyTorch tensors, whatever the type of the rows.

    Returns
    -------
    callable or None
        None if the rows of this dataset must be fetched individually.
    """
    if type(dataset) in (np.ndarray, np.memmap):
        return _of_array(dataset, tensors)
    if torch_rules.is_a("TensorDataset", dataset):
        return _of_tensors(dataset)
    if torch_rules.is_a("Subset", dataset):
        return _of_subset(dataset, tensors)
    return None


def _of_array(rows: Any, tensors: bool) -> Gather | None:
    array = np.asarray(rows)
    if array.ndim == 0 or array.dtype.kind not in ("biufc" if tensors else "biufcmM"):
        return None  # its rows are collated by other rules
    if tensors and not (
        torch_rules.collates_as_shipped(type(rows), "collate_numpy_array_fn")
        if array.ndim > 1
        else torch_rules.collates_as_shipped(array.dtype.type, "collate_numpy_scalar_fn")
    ):
        return None

    def gather(indices: Any) -> Any:
        if _is_run(indices, len(array)):
            batch = array[indices.start : indices.stop].copy()
        else:
            batch = array.take(_positions(indices), 0)
        return torch_rules.torch().from_numpy(batch) if tensors else batch

    return gather


def _of_tensors(dataset: Any) -> Gather | None:
    cls = torch_rules.data().TensorDataset
    torch = torch_rules.torch()
    own = type(dataset).__getitem__ is cls.__getitem__ and not hasattr(dataset, "__getitems__")
    if not own or not all(
        type(tensor) is torch.Tensor and tensor.layout == torch.strided and tensor.is_cpu
        for tensor in dataset.tensors
    ):
        return None
    if not (
        torch_rules.collates_as_shipped(torch.Tensor, "collate_tensor_fn")
        and torch_rules.collates_as_shipped(tuple, None)
    ):
        return None

    def gather(indices: Any) -> Any:
        if _is_run(indices, len(dataset)):
            run = slice(indices.start, indices.stop)
            return [t[run].clone(memory_format=torch.contiguous_format) for t in dataset.tensors]
        chosen = torch.as_tensor(_positions(indices))
        try:
            return [tensor.index_select(0, chosen) for tensor in dataset.tensors]
        except IndexError:  # index_select rejects negative indices
            return [tensor[chosen].contiguous() for tensor in dataset.tensors]

    return gather


def _of_subset(dataset: Any, tensors: bool) -> Gather | None:
    cls = torch_rules.data().Subset
    changed = any(
        getattr(type(dataset), name) is not getattr(cls, name)
        for name in ("__getitem__", "__getitems__")
    )
    gather = None if changed else gather_of(dataset.dataset, tensors)
    if gather is None:
        return None
    inner = gather
    try:
        rows = np.asarray(dataset.indices)
    except (TypeError, ValueError):
        return None
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        return None

    def gather_rows(indices: Any) -> Any:
        if _is_run(indices, len(rows)):
            return inner(rows[indices.start : indices.stop])
        return inner(rows[_positions(indices)])

    return gather_rows


def _is_run(indices: Any, rows: int) -> bool:
    """Return whether a slice selects these rows: a custom sampler may yield any range."""
    forward = type(indices) is range and indices.step == 1
    return forward and 0 <= indices.start <= indices.stop <= rows


def _positions(indices: Any) -> Any:
    if type(indices) is np.ndarray:
        return indices
    positions = np.asarray(indices)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise TypeError(
            f"DataLoader: a list of ints was expected from the sampler for each batch, got "
            f"{indices!r:.200}"
        )
    return positions
