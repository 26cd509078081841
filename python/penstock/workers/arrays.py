"""Large arrays of functions, in memory or files that all workers map."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from penstock.closing import Finalizing, finalizing

LARGE = 1 << 16  # bytes; smaller arrays are copied into each worker
_STEP = 1 << 20  # number of bytes to compare in one step


class SharedArrays:
    """Copies of buffers, stored consecutively in an anonymous, sealed file.

    Parameters
    ----------
    buffers : sequence of memoryview
        Contiguous buffers of bytes.
    """

    def __init__(self, buffers: Sequence[memoryview]) -> None:
        import fcntl

        self.spans = _spans(buffers)
        self._size = self.spans[-1][1]
        self.file = -1
        try:
            self.file = os.memfd_create("penstock", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.posix_fallocate(self.file, 0, self._size)
            for buffer, (begin, end) in zip(buffers, self.spans, strict=True):
                done = 0
                while begin + done < end:
                    done += os.pwrite(self.file, buffer[done:], begin + done)
        except OSError as error:
            raise OSError(
                error.errno,
                f"executor='process': {self._size} bytes of shared memory for the arrays of the "
                f"function were expected, and refused ({error.strerror})",
            ) from error
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        fcntl.fcntl(self.file, fcntl.F_ADD_SEALS, seals)

    def __del__(self, ends: Finalizing = finalizing) -> None:
        if self.file >= 0 and not ends():
            os.close(self.file)

    def holds(self, buffers: Sequence[memoryview]) -> bool:
        """Return whether these buffers, of the same sizes, have the same contents."""
        with mmap.mmap(self.file, self._size, prot=mmap.PROT_READ) as mapped:
            kept = np.frombuffer(mapped, np.uint8)
            same = all(
                np.array_equal(np.frombuffer(buffer, np.uint8)[at : at + _STEP], part)
                for buffer, (begin, end) in zip(buffers, self.spans, strict=True)
                for at in range(0, end - begin, _STEP)
                for part in [kept[begin + at : min(begin + at + _STEP, end)]]
            )
            del kept
        return same


# By the addresses and sizes of the buffers, so that functions and epochs with the same arrays share
# a file.
_shared: WeakValueDictionary[tuple[tuple[int, int], ...], SharedArrays] = WeakValueDictionary()


def shared(buffers: Sequence[memoryview]) -> SharedArrays | None:
    """Return the shared copies of the buffers; None if there are no buffers."""
    if not buffers:
        return None
    key = tuple((np.frombuffer(each, np.uint8).ctypes.data, each.nbytes) for each in buffers)
    found = _shared.get(key)
    if found is None or not found.holds(buffers):
        found = _shared[key] = SharedArrays(buffers)
    return found


def mapped(file: int, spans: Sequence[tuple[int, int]]) -> list[memoryview]:
    """Return the buffers of a `SharedArrays` in a worker; writes to them stay private.

    The file is closed.
    """
    if not spans:
        return []
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    whole = memoryview(mmap.mmap(file, spans[-1][1], mmap.MAP_PRIVATE, protection))
    os.close(file)
    return [whole[begin:end] for begin, end in spans]


def _spans(buffers: Sequence[memoryview]) -> list[tuple[int, int]]:
    """Return the start and end of each buffer in the file, aligned to pages."""
    spans: list[tuple[int, int]] = []
    at = 0
    for buffer in buffers:
        spans.append((at, at + buffer.nbytes))
        at += -(-buffer.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    return spans


def of_file(array: np.ndarray[Any, Any]) -> tuple[Any, ...] | None:
    """Return a reduction that maps an array's file again; None for arrays not backed by a file."""
    if array.nbytes < LARGE or array.dtype.hasobject:
        return None
    owner: Any = array
    while isinstance(owner, np.ndarray) and not isinstance(owner.base, mmap.mmap):
        owner = owner.base
    # Changes in mode "c" are not written to the file.
    if not isinstance(owner, np.memmap) or owner.mode == "c" or owner.filename is None:
        return None
    memory: Any = owner.base
    beginning = np.frombuffer(memory, np.uint8).ctypes.data
    path = Path(owner.filename).absolute()
    try:
        status = path.stat()
    except OSError:
        return None
    if status.st_ino != _inode_at(beginning):
        return None
    steps = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    low = array.ctypes.data + sum(min(step, 0) for step in steps)
    high = array.ctypes.data + sum(max(step, 0) for step in steps) + array.itemsize
    position = owner.offset - owner.offset % mmap.ALLOCATIONGRANULARITY + low - beginning
    window = (str(path), (status.st_dev, status.st_ino), position, high - low)
    form = (array.shape, array.dtype, array.ctypes.data - low, array.strides)
    return _map_again, (*window, *form, array.flags.writeable, type(array))


def _inode_at(address: int) -> int:
    """Return the inode of the file that is mapped at an address; 0 if there is none."""
    with Path("/proc/self/maps").open() as lines:
        for line in lines:
            bounds, _, _, _, inode, *_ = line.split()
            begin, end = (int(each, 16) for each in bounds.split("-"))
            if begin <= address < end:
                return int(inode)
    return 0


def _map_again(
    path: str,
    identity: tuple[int, int],
    position: int,
    size: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    offset: int,
    strides: tuple[int, ...],
    writeable: bool,
    kind: type[np.ndarray[Any, Any]],
) -> np.ndarray[Any, Any]:
    """Return the array passed to `of_file` in a worker; writes to it stay private."""
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) != identity:
            raise RuntimeError(
                f"executor='process': the function refers to an array of the file {path}, which "
                "was replaced after the dataset was made; make the dataset again"
            )
        begin = position - position % mmap.ALLOCATIONGRANULARITY
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writeable else 0)
        window = mmap.mmap(
            file.fileno(), position - begin + size, mmap.MAP_PRIVATE, protection, offset=begin
        )
    array = np.ndarray(shape, dtype, window, position - begin + offset, strides)
    return array if kind is np.ndarray else array.view(kind)
