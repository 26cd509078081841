"""The fork server: it imports the modules of workers, forks them, and starts no thread."""

from __future__ import annotations

import errno
import fcntl
import gc
import importlib
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from penstock import _core

# The same numbers as Worker::kSocketFile and following.
_OURS = 10
_GIVEN = range(10, 14)


def serve(preload: Sequence[str]) -> None:
    """Fork a worker for each request of the parent process, until that exits.

    Parameters
    ----------
    preload : sequence of str
        Modules to import first. Modules that cannot be imported are skipped: a worker that needs
        one raises the error.
    """
    channel = socket.socket(fileno=os.dup(_OURS))
    for number in _GIVEN:  # reserve these numbers
        os.dup2(0, number, inheritable=False)
    with _ending_with(channel):
        for name in preload:
            with suppress(Exception):
                importlib.import_module(name)
    safe = _can_fork()
    gc.collect()
    gc.freeze()  # so workers do not write to pages of imported modules
    try:
        while _answer(channel, safe):
            pass
    except OSError:  # the other end has closed in the meantime
        pass
    os._exit(0)


def _answer(channel: socket.socket, safe: bool) -> bool:
    """Fork for the next request; return False if there is none."""
    request, files, *_ = socket.recv_fds(channel, 256, 8)
    if not request:
        return False
    pid = 0
    if safe:
        pid = -errno.EMFILE if len(files) < 5 else _forked()
        if pid == 0:
            channel.close()
            _be_worker(request[8:].decode(), files)  # the name follows its length
    for file in files:
        os.close(file)
    # If there is no process, the other end spawns one.
    channel.send(struct.pack("<Qi", 4, max(pid, 0)))
    return True


@contextmanager
def _ending_with(channel: socket.socket) -> Iterator[None]:
    """Exit this process when the other end of a socket closes, without a watcher thread."""

    def look(*_: object) -> None:
        waiting = select.poll()
        waiting.register(channel, select.POLLRDHUP)
        if waiting.poll(0):
            os._exit(0)

    flags = fcntl.fcntl(channel, fcntl.F_GETFL)
    former = signal.signal(signal.SIGIO, look)  # also sent for each request
    fcntl.fcntl(channel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(channel, fcntl.F_SETFL, flags | fcntl.FASYNC)
    look()
    yield
    fcntl.fcntl(channel, fcntl.F_SETFL, flags)
    signal.signal(signal.SIGIO, former)


def _forked() -> int:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    return _core.fork_sibling()


def _can_fork() -> bool:
    """Return whether this process can be forked safely: one thread, and no GPU in use."""
    torch = sys.modules.get("torch")
    uses_gpu = torch is not None and torch.cuda.is_initialized()
    return len(os.listdir("/proc/self/task")) == 1 and not uses_gpu  # noqa: PTH208


def _be_worker(entry: str, files: Sequence[int]) -> None:
    """Run a module's `serve` in a new process with these files, and exit."""
    os.setpgid(0, 0)  # so Ctrl-C in a terminal reaches only the parent process
    above = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _GIVEN.stop) for file in files]
    for file in files:
        os.close(file)
    for number, file in zip((1, 2, *_GIVEN), above, strict=False):
        os.dup2(file, number, inheritable=number < _OURS)
        os.close(file)
    if len(files) < 6:
        os.close(_GIVEN[-1])
    if "numpy.random" in sys.modules:
        import numpy as np

        np.random.seed()  # otherwise workers would draw the same numbers
    importlib.import_module(entry).serve()
    os._exit(0)
