"""Objects as bytes and back, with the memory of their arrays beside the pickle."""

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

Parcel = list[Any]  # the pickle, then the memory that it refers to

_NAMED = (type, FunctionType, ModuleType)
_FEW = 4097  # bytes; the memory of smaller arrays is in the pickle


def packed(value: Any, to_worker: bool = False) -> Parcel:
    """Return `value` as a pickle, and the memory of its arrays and tensors, which is not copied.

    Parameters
    ----------
    value : object
        What cannot be pickled by name (lambdas, local classes) goes by value where cloudpickle is
        installed.
    to_worker : bool
        Also send classes and functions of the main module by value, since a worker process has
        another one.

    Returns
    -------
    list of bytes-like
        For `unpacked`.
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

    Objects of the main module are sent by value if cloudpickle is installed. Memory-mapped
    arrays are sent as file names, and PyTorch tensors in shared memory stay shared.

    Parameters
    ----------
    value : object
        As in `packed`.
    least : float
        Bytes of the arrays whose memory is beside the pickle; infinity: none is.
    """
    base: Any = _by_value() or _Pickler
    named: list[Any] = []

    # Without cloudpickle what is of the main module goes as its name.
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
    """Return what `packed` was given; its arrays lie in the memory of the parcel."""
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
    """Return how arrays and tensors are made again, NotImplemented for all else."""
    kind = type(value)
    if kind is np.ndarray:
        if value.flags.forc or value.dtype.hasobject:
            return NotImplemented
        return np.ascontiguousarray(value).__reduce_ex__(5)
    torch = sys.modules.get("torch")
    if torch is None or kind is not getattr(torch, "Tensor", None) or not _is_plain(torch, value):
        return NotImplemented
    # Whatever the dtype is: NumPy does not have them all.
    flat = value.detach().contiguous().reshape(-1).view(torch.uint8)
    return _tensor, (pickle.PickleBuffer(flat.numpy()), value.dtype, tuple(value.shape))


def _is_plain(torch: Any, tensor: Any) -> bool:
    """Return whether a tensor is no more than its numbers."""
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
    """Return the tensor that lies in some memory."""
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
