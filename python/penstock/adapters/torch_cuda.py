"""Elements on a CUDA device, copied there while the consumer works."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from penstock.adapters.torch_tensors import Array, Path, Tensors, map_numbers
from penstock.structure import map_leaves

SLABS = 2  # one is filled while the other is being copied
_ALIGNED = 64  # bytes; suitable for any dtype
_SMALLEST = 1 << 16  # bytes


class _Slab:
    """Page-locked memory, and the event after the last copy from it.

    The memory comes from PyTorch's allocator, which does not reuse it before copies from it have
    finished. The allocator would not track memory that was page-locked elsewhere.
    """

    def __init__(self) -> None:
        self.memory: Any = None  # a uint8 tensor
        self.bytes: Array = np.empty(0, np.uint8)  # the same memory, as a writeable array
        self.copied: Any = None

    def reserve(self, torch: Any, size: int) -> None:
        """Wait until no copy reads from the slab; make room for `size` bytes."""
        if self.copied is not None:
            self.copied.synchronize()
            self.copied = None
        if self.bytes.size < size:
            room = max(_SMALLEST, 1 << (size - 1).bit_length())  # PyTorch allocates this much
            self.memory = torch.empty(room, dtype=torch.uint8, device="cpu", pin_memory=True)
            self.bytes = self.memory.numpy()


class PinnedCopies:
    """Copy elements to a CUDA device through page-locked memory, on a separate stream.

    `begin` runs in the producer thread: it fills a slab and starts the copies. `end` runs in the
    consumer's thread and makes its stream wait for them. No thread waits for a copy, except that
    `begin` waits for the previous copy from its slab.

    Parameters
    ----------
    torch : module
        PyTorch.
    device : torch.device
        The device, including its index.
    tensors : Tensors
        Converts dtypes.
    """

    def __init__(self, torch: Any, device: Any, tensors: Tensors) -> None:
        self._torch = torch
        self._device = device
        self._tensors = tensors
        self._stream = torch.cuda.Stream(device)
        self._slabs = deque(_Slab() for _ in range(SLABS))  # least recently used first
        self._lock = threading.Lock()  # concurrent runs of a dataset share the slabs

    def begin(self, element: Any) -> tuple[Any, Any]:
        """Start copying an element; return it with tensors on the device, and an event."""
        sizes: list[int] = []
        map_numbers(lambda array, path: sizes.append(_room(array)), element)
        with self._lock:
            slab = self._slabs[0]
            slab.reserve(self._torch, sum(sizes))
            self._slabs.rotate(-1)
            event = self._torch.cuda.Event()
            with self._torch.cuda.stream(self._stream):
                try:
                    return self._copy(element, slab), event
                finally:  # also after an error: copies that already started read from the slab
                    event.record(self._stream)
                    slab.copied = event

    def end(self, begun: tuple[Any, Any]) -> Any:
        """Make the consumer's stream wait for the copies; return the element on the device."""
        element, event = begun
        stream = self._torch.cuda.current_stream(self._device)
        stream.wait_event(event)

        def used_there(leaf: Any) -> Any:
            # The tensor was allocated for the other stream. Without this, its memory could be
            # reused for the next copy while queued work of the consumer still reads it.
            if isinstance(leaf, self._torch.Tensor):
                leaf.record_stream(stream)
            return leaf

        return map_leaves(used_there, element)

    def _copy(self, element: Any, slab: _Slab) -> Any:
        end = 0

        def copy(array: Array, path: Path) -> Any:
            nonlocal end
            dtype = self._tensors.dtype_of(array, path)
            if array.size == 0:
                return self._torch.empty(array.shape, dtype=dtype, device=self._device)
            begin, last = end, end + array.nbytes
            end += _room(array)
            np.copyto(slab.bytes[begin:last].view(array.dtype).reshape(array.shape), array)
            # Copy from the tensor that owns the memory, so that PyTorch's allocator tracks the
            # copy.
            source = slab.memory[begin:last].view(dtype).view(array.shape)
            return source.to(self._device, non_blocking=True)

        return map_numbers(copy, element)


def _room(array: Array) -> int:
    return -(-array.nbytes // _ALIGNED) * _ALIGNED
