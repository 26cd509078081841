"""PyTorch tensors in shared memory: worker processes share them, as PyTorch's do."""

from __future__ import annotations

import os
import sys
from typing import Any


def reduced(value: Any) -> Any:
    """Reduce a tensor to a handle of its shared memory; NotImplemented for other objects.

    The memory is opened through this process, which must keep the tensor until then.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, (torch.Tensor, torch.UntypedStorage)):
        return NotImplemented
    if isinstance(value, torch.Tensor):
        if (
            type(value) not in (torch.Tensor, torch.nn.Parameter)
            or value.layout != torch.strided
            or not value.is_cpu
            or value.is_quantized
            or value.is_conj()
            or value.is_neg()
            or not value.is_shared()
            or (value.requires_grad and not value.is_leaf)
        ):
            return NotImplemented
        place = (value.storage_offset(), value.size(), value.stride(), value.requires_grad)
        return _tensor, (type(value), value.untyped_storage(), value.dtype, place)
    if value.device.type != "cpu" or not value.is_shared():
        return NotImplemented
    if torch.multiprocessing.get_sharing_strategy() == "file_system":
        return _storage_by_name, value._share_filename_cpu_()
    file, size = value._share_fd_cpu_()
    return _storage_of_file, (os.getpid(), file, size)


def _tensor(kind: Any, storage: Any, dtype: Any, place: Any) -> Any:
    import torch
    from torch.multiprocessing.reductions import rebuild_tensor

    typed = torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
    return rebuild_tensor(kind, typed, place)


def _storage_of_file(process: int, file: int, size: int) -> Any:
    import torch

    own = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
    try:
        return torch.UntypedStorage._new_shared_fd_cpu(own, size)
    finally:
        os.close(own)


def _storage_by_name(manager: bytes, name: bytes, size: int) -> Any:
    import torch

    return torch.UntypedStorage._new_shared_filename_cpu(manager, name, size)
