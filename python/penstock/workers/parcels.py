"""Serialisation of objects, with the memory of their arrays separate from the pickle."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from penstock.workers import shared_tensors
from penstock.workers.arrays import of_file
from penstock.workers.by_value import cloudpickle
from penstock.workers.main_module import loads, main_file, names_main
from penstock.workers.starting import note_needs

Parcel = list[Any]  # the pickle, then the buffers that it refers to

_NAMED = (type, FunctionType, ModuleType)
_FEW = 4097  # bytes; smaller arrays are part of the pickle


def packed(value: Any, to_worker: bool = False) -> Parcel:
    """Return a pickle of `value`, and the memory of its arrays and tensors without a copy.

    Parameters
    ----------
    value : object
        The object. With cloudpickle installed, objects that cannot be pickled by name (lambdas,
        local classes) are pickled by value.
    to_worker : bool
        Whether to send classes and functions of the main module by value, too, since a worker
        process has another main module.

    Returns
    -------
    list of bytes-like
        The argument of `unpacked`.
    """
    try:
        parcel = _packed_by(_Pickler, value)
        if not (to_worker and names_main(parcel[0])) or cloudpickle() is None:
            return parcel
    except Exception:
        if cloudpickle() is None:
            raise
    return _packed_by(_pickler_of(cloudpickle()), value)


def packed_by_value(value: Any, least: float = _FEW) -> Parcel:
    """Return the same for a new process, which has another main module.

    Objects of the main module are sent by value if cloudpickle is installed. Memory-mapped arrays
    are sent as file names, and PyTorch tensors in shared memory stay shared.

    Parameters
    ----------
    value : object
        As in `packed`.
    least : float
        Minimum size in bytes of arrays to keep separate from the pickle; infinity for none.
    """
    base: Any = _by_value() or _Pickler
    named: list[Any] = []

    # Without cloudpickle, objects of the main module are pickled by name.
    lost = main_file() is None and cloudpickle() is None

    class Pickler(base):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, _NAMED):
                named.append(obj)
            if lost and isinstance(obj, (type, FunctionType)) and obj.__module__ == "__main__":
                raise pickle.PicklingError(
                    f"worker processes cannot import {obj.__qualname__}, because the main module "
                    "is no file"
                )
            if type(obj) in (np.ndarray, np.memmap) and (made := of_file(obj)) is not None:
                return made
            if (made := shared_tensors.reduced(obj)) is not NotImplemented:
                return made
            return super().reducer_override(obj)

    parcel = _packed_by(Pickler, value, least)
    if names_main(parcel[0]):
        named.append(sys.modules["__main__"])  # workers may import it
    note_needs(named)
    return parcel


def unpacked(parcel: Sequence[Any]) -> Any:
    """Return the object passed to `packed`; its arrays use the memory of the parcel."""
    return loads(parcel[0], parcel[1:])


def _packed_by(pickler: Callable[..., Any], value: Any, least: float = _FEW) -> Parcel:
    buffers: list[Any] = []

    def keep_aside(buffer: pickle.PickleBuffer) -> bool:
        memory = buffer.raw()
        if memory.nbytes < least:
            return True
        buffers.append(memory)
        return False

    file = io.BytesIO()
    pickler(file, protocol=5, buffer_callback=keep_aside).dump(value)
    return [file.getbuffer(), *buffers]


def _reduced(value: Any) -> Any:
    """Return the reduction of an array or tensor, NotImplemented for other objects."""
    kind = type(value)
    if kind is np.ndarray:
        if value.flags.forc or value.dtype.hasobject:
            return NotImplemented
        return np.ascontiguousarray(value).__reduce_ex__(5)
    torch = sys.modules.get("torch")
    if torch is None or kind is not getattr(torch, "Tensor", None) or not _is_plain(torch, value):
        return NotImplemented
    # Use bytes: NumPy does not support all dtypes of PyTorch.
    flat = value.detach().contiguous().reshape(-1).view(torch.uint8)
    return _tensor, (pickle.PickleBuffer(flat.numpy()), value.dtype, tuple(value.shape))


def _is_plain(torch: Any, tensor: Any) -> bool:
    """Return whether a tensor has no state beyond its values."""
    return bool(
        tensor.layout == torch.strided
        and not tensor.is_nested
        and tensor.is_cpu
        and not tensor.requires_grad
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and tensor.numel() > 0
    )


def _tensor(memory: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return the tensor stored in a buffer."""
    import torch

    return torch.frombuffer(memory, dtype=dtype).reshape(shape)


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        return _reduced(value)


def _by_value() -> Callable[..., Any] | None:
    module = cloudpickle()
    return None if module is None else _pickler_of(module)


@cache
def _pickler_of(module: Any) -> Callable[..., Any]:
    class ByValue(module.Pickler):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            made = _reduced(value)
            return super().reducer_override(value) if made is NotImplemented else made

    return ByValue
