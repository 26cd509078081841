"""PyTorch's default_collate, with NumPy's arrays and numbers stacked before they become tensors."""

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
    """Return what PyTorch's ``default_collate`` returns for a batch.

    It goes by PyTorch's own function and its table of types, which programs may change. Where that
    makes a tensor of each array to stack those, arrays are stacked and make one tensor.
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
    """Have tensors stacked in the memory of batches; `module` is PyTorch's with `collate`.

    In a worker, where PyTorch's own function takes memory from ``/dev/shm``.
    """
    theirs = getattr(module, "collate_tensor_fn", None)
    table = getattr(module, "default_collate_fn_map", {})
    tensor = torch_rules.torch().Tensor
    if table.get(tensor) is not theirs or theirs is None or type(theirs) is _Stacking:
        return
    module.collate_tensor_fn = table[tensor] = _Stacking(theirs)


class _Stacking:
    """PyTorch's ``collate_tensor_fn`` with another memory for plain tensors."""

    def __init__(self, theirs: Callable[..., Any]) -> None:
        self._theirs = theirs

    def __call__(self, batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
        torch = torch_rules.torch()
        first = batch[0]
        if first.is_nested:  # it has no shape
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
    """Return arrays of one shape, of one dimension or more, stacked in C order whatever theirs."""
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
