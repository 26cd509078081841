"""Elements on a CUDA device, copied there beside the work of the consumer."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from penstock.adapters.torch_tensors import Array, Path, Tensors, map_numbers
from penstock.structure import map_leaves

SLABS = 2  # one is filled while the other one is copied
_ALIGNED = 64  # bytes; any dtype can begin there
_SMALLEST = 1 << 16  # bytes


class _Slab:
    """Page-locked memory, and the event after the last copy out of it.

    The memory is PyTorch's own: its allocator knows which copies read from it and hands it to
    no one else before they are done. It would not watch memory that others have locked.
    """

    def __init__(self) -> None:
        self.memory: Any = None  # a tensor of bytes
        self.bytes: Array = np.empty(0, np.uint8)  # the same memory, to be written to
        self.copied: Any = None

    def reserve(self, torch: Any, size: int) -> None:
        """Wait until nothing is copied out of the slab any more; make room for `size` bytes."""
        if self.copied is not None:
            self.copied.synchronize()
            self.copied = None
        if self.bytes.size < size:
            room = max(_SMALLEST, 1 << (size - 1).bit_length())  # what is locked for it anyway
            self.memory = torch.empty(room, dtype=torch.uint8, device="cpu", pin_memory=True)
            self.bytes = self.memory.numpy()


class PinnedCopies:
    """Copies elements through page-locked memory to a CUDA device, on a stream of its own.

    `begin` runs in the thread that works ahead: it fills a slab and starts the copies. `end` runs
    in the thread of the consumer and lets its stream wait for them; no thread waits for a copy,
    but `begin` for the one that read from the slab before.

    Parameters
    ----------
    torch : module
        PyTorch.
    device : torch.device
        With its index.
    tensors : Tensors
        Knows the dtypes of torch.
    """

    def __init__(self, torch: Any, device: Any, tensors: Tensors) -> None:
        self._torch = torch
        self._device = device
        self._tensors = tensors
        self._stream = torch.cuda.Stream(device)
        self._slabs = deque(_Slab() for _ in range(SLABS))  # the one used longest ago in front
        self._lock = threading.Lock()  # two runs of one dataset take turns with the slabs

    def begin(self, element: Any) -> tuple[Any, Any]:
        """Start to copy an element; give it with tensors on the device, and the event after."""
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
                finally:  # also after an error: what was started before it reads from the slab
                    event.record(self._stream)
                    slab.copied = event

    def end(self, begun: tuple[Any, Any]) -> Any:
        """Let the consumer's stream wait for the copies; give the element on the device."""
        element, event = begun
        stream = self._torch.cuda.current_stream(self._device)
        stream.wait_event(event)

        def used_there(leaf: Any) -> Any:
            # It was allocated for the other stream. Without this, its memory could be given to the
            # next copy while work that the consumer has queued still reads it.
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
            # Out of the tensor that owns the memory, so that PyTorch's allocator sees the copy.
            source = slab.memory[begin:last].view(dtype).view(array.shape)
            return source.to(self._device, non_blocking=True)

        return map_numbers(copy, element)


def _room(array: Array) -> int:
    return -(-array.nbytes // _ALIGNED) * _ALIGNED
