"""PyTorch's default_collate, but stacking NumPy arrays before converting them to tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.data_loader import batch_memory, torch_rules

SHAPE = operator.attrgetter("shape")
DTYPE = operator.attrgetter("dtype")

_NUMBERS = (np.bool_, np.number, np.object_)  # the key of numbers in PyTorch's table


def collate(batch: Any) -> Any:
    """Return the result of PyTorch's ``default_collate`` for a batch.

    PyTorch's own function and its table of types, which programs may change, define the result. If
    the table would convert each array to a tensor and stack the tensors, the arrays are stacked
    first and converted once.
    """
    rules = torch_rules.collate_module()
    if rules is None:
        return torch_rules.data().default_collate(batch)
    table = rules.default_collate_fn_map
    own = {
        kind: function
        for kind, function, theirs in (
            (np.ndarray, _arrays, rules.collate_numpy_array_fn),
            (_NUMBERS, _numbers, rules.collate_numpy_scalar_fn),
        )
        if table.get(kind) is theirs
    }
    return rules.collate(batch, collate_fn_map={**table, **own})


def _arrays(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    first, n = batch[0], len(batch)
    dtype, shape = first.dtype, first.shape
    if (
        shape
        and dtype.kind in "biufc"
        and dtype.isnative
        and [*map(type, batch)].count(np.ndarray) == n
        and [*map(SHAPE, batch)].count(shape) == n
        and [*map(DTYPE, batch)].count(dtype) == n
    ):
        return torch_rules.torch().from_numpy(stacked(batch, dtype))
    return torch_rules.collate_module().collate_numpy_array_fn(batch, collate_fn_map=collate_fn_map)


def replace_tensors(module: Any) -> None:
    """Make PyTorch stack tensors in the memory of batches.

    For worker processes: PyTorch's own function allocates from ``/dev/shm``. `module` is PyTorch's
    module with the function ``collate``.
    """
    theirs = getattr(module, "collate_tensor_fn", None)
    table = getattr(module, "default_collate_fn_map", {})
    tensor = torch_rules.torch().Tensor
    if table.get(tensor) is not theirs or theirs is None or type(theirs) is _Stacking:
        return
    module.collate_tensor_fn = table[tensor] = _Stacking(theirs)


class _Stacking:
    """PyTorch's ``collate_tensor_fn`` with other memory for plain tensors."""

    def __init__(self, theirs: Callable[..., Any]) -> None:
        self._theirs = theirs

    def __call__(self, batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
        torch = torch_rules.torch()
        first = batch[0]
        if first.is_nested:  # nested tensors have no shape
            return self._theirs(batch, collate_fn_map=collate_fn_map)
        dtype, shape = first.dtype, first.shape
        if not first.numel() or not all(
            type(each) is torch.Tensor
            and each.layout == torch.strided
            and each.is_cpu
            and not each.requires_grad
            and each.dtype == dtype
            and each.shape == shape
            for each in batch
        ):
            return self._theirs(batch, collate_fn_map=collate_fn_map)
        size = len(batch) * first.numel() * first.element_size()
        made = torch.frombuffer(batch_memory.empty((size,), np.uint8), dtype=dtype)
        return torch.stack(batch, 0, out=made.view(len(batch), *shape))


def stacked(arrays: Sequence[Any], dtype: Any) -> npt.NDArray[Any]:
    """Return arrays of one shape (not 0-d) stacked in C order, whatever their own order."""
    n, (rows, *rest) = len(arrays), arrays[0].shape
    made = batch_memory.empty((n, rows, *rest), dtype)
    np.concatenate(arrays, out=made.reshape(n * rows, *rest))
    return made


def _numbers(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    kind = type(batch[0])
    alike = [*map(type, batch)].count(kind) == len(batch)
    if alike and issubclass(kind, (np.bool_, np.number)):
        return torch_rules.torch().from_numpy(np.array(batch))
    return torch_rules.collate_module().collate_numpy_scalar_fn(
        batch, collate_fn_map=collate_fn_map
    )
