"""Worker processes that hold an object, which answers requests sequentially."""

from __future__ import annotations

import itertools
import mmap
import os
import pickle
import select
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from penstock import _core
from penstock.closing import Finalizing, finalizing
from penstock.errors import WorkerError
from penstock.workers.objects import pickled_error, unpickled_error
from penstock.workers.parcels import packed, unpacked
from penstock.workers.process_function import begin_to_serve, enter, surroundings
from penstock.workers.starting import command

_GIVEN = 13  # file descriptor number, in a worker, of the socket for files
_UNFINISHED = 1.0  # maximum seconds for a request whose answer is no longer needed
STARTING = 60.0  # maximum seconds for a process to start, import and create its object
_ALIGN = 64
_ROUND = 1 << 40  # more requests than one user of a worker ever makes


class Respondent(Protocol):
    """The object that a worker holds."""

    def begin(self, what: Any) -> None:
        """Prepare the object, in the worker."""

    def answer(self, what: Any) -> Any:
        """Return the answer to a request."""

    def end(self) -> None:
        """Release resources that refer to the object."""


class Failure(NamedTuple):
    """An exception in place of an answer.

    Attributes
    ----------
    pickled : bytes
        The pickled exception, for `error`.
    unprepared : bool
        Whether creating the object, or its `begin`, failed.
    """

    pickled: bytes
    unprepared: bool = False

    def error(self) -> BaseException:
        """Return the exception, with the worker's traceback as its cause."""
        return unpickled_error(self.pickled)


class ObjectFile:
    """A pickled object in an anonymous file, which workers map, so it is in memory once.

    Parameters
    ----------
    parcel : sequence of bytes-like
        The result of `packed`.
    """

    def __init__(self, parcel: Sequence[Any]) -> None:
        around = pickle.dumps((*surroundings(), Path.cwd(), dict(os.environ), sys.argv))
        views = [memoryview(part).cast("B") for part in (around, *parcel)]
        sizes = [view.nbytes for view in views]
        head = pickle.dumps(sizes)
        starts = _starts(len(head), sizes)
        self.file = os.memfd_create("penstock", os.MFD_CLOEXEC)
        try:
            for start, view in zip((0, *starts), (memoryview(head), *views), strict=True):
                _write(self.file, view, start)
        except OSError as error:
            self.close()
            raise MemoryError(
                f"worker processes: {sum(sizes)} bytes of shared memory were expected for what "
                f"they are sent: {error}"
            ) from error

    def close(self) -> None:
        """Close the file; workers that have mapped it keep it."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)

    def __del__(self, ends: Finalizing = finalizing) -> None:
        if not ends():
            self.close()


class AnsweringProcess:
    """A worker process, as seen by its user. Must not be used by two threads concurrently.

    Parameters
    ----------
    spawns : bool
        Whether to start a new interpreter instead of forking from the server
        (penstock.workers.starting).

    Attributes
    ----------
    answers : list
        Answers received but not processed yet.
    spawns : bool
        The argument.
    """

    def __init__(self, spawns: bool = False) -> None:
        self.spawns = spawns
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._worker = _core.AnsweringWorker(command(__name__, spawns), theirs.fileno())
        self._first = 0  # number of this user's first request
        self._loaded_at = time.monotonic()  # when `load` was called
        self._after_load = 0  # number of requests sent after it
        self.answers: list[Any] = []

    @property
    def pid(self) -> int:
        """Process ID."""
        return self._worker.pid

    def fileno(self) -> int:
        """Return a file descriptor that is readable if an answer arrived or the worker ended."""
        return self._worker.fileno()

    def load(self, file: ObjectFile, what: Any) -> bool:
        """Make the worker create the object of a file and begin; return False if it has ended."""
        self._first = next(_rounds) * _ROUND
        self._loaded_at, self._after_load = time.monotonic(), 0
        try:
            socket.send_fds(self._ours, [self._first.to_bytes(8, "little")], [file.file])
        except OSError:
            return False
        return self._worker.send(packed((self._first, "load", what), to_worker=True))

    def ask(self, number: int, what: Any) -> bool:
        """Send a request, unless one with this or a later number was sent; False if it has ended.

        Parameters
        ----------
        number : int
            Number of the request, from 0 for each user.
        what : object
            The argument of the object's `answer`.
        """
        return self._send((self._first + 1 + number, "ask", what))

    def receive(self) -> tuple[int, Any] | None:
        """Return the number of a request and its answer, None if the worker has ended.

        Waits for an answer, and does not remove it: call `received` for that. The number of the
        answer to `load` is -1; answers to earlier requests have lower numbers.
        """
        if not self.answers and not self._worker.receive_into(self.answers):
            return None
        number, answer = unpacked(self.answers[0])
        return number - self._first - 1, answer

    def received(self) -> None:
        """Remove the answer that `receive` returned."""
        del self.answers[0]

    def how_it_ended(self) -> str:
        """Describe how the process ended."""
        return self._worker.how_it_ended()

    def renew(self) -> None:
        """Start another series of requests to the same object."""
        if self.starting:  # the object is still needed, so earlier requests are also answered
            self.answers = []
        else:
            self._leave()
        self._first = next(_rounds) * _ROUND

    def give_back(self) -> None:
        """Drop the object, and release the process for other uses."""
        try:
            self._leave()
            if self._send((0, "drop", None)):
                self.rest()
        except (WorkerError, OSError):  # it belongs to the parent, or has ended
            return

    def rest(self) -> None:
        """Make the process available to `take`; it ends after an idle time."""
        self._worker.rest()
        _idle.append(self)

    def kill(self) -> None:
        """End the process immediately."""
        self._worker.kill()

    def _leave(self) -> None:
        """Cancel requests that have not started."""
        self.answers = []
        self._worker.want((self._first // _ROUND + 1) * _ROUND)

    def _send(self, request: tuple[int, str, Any]) -> bool:
        sent = self._worker.send(packed(request, to_worker=True))
        self._after_load += sent
        return sent

    @property
    def starting(self) -> bool:
        """Whether the process has not answered `load`: it is starting, importing or unpickling."""
        return self._worker.outstanding > self._after_load

    def finishes(self, seconds: float | None = None, starting: float = STARTING) -> bool:
        """Wait for the answers to earlier requests; False if the process is late or has ended.

        Parameters
        ----------
        seconds : float, optional
            Maximum time for a request in seconds; None: 1 second.
        starting : float
            Maximum time for `load` in seconds, counted from its call.
        """
        if not self._worker.wake():
            return False
        waiting = select.poll()
        waiting.register(self, select.POLLIN)
        while self._worker.outstanding:
            left = _UNFINISHED if seconds is None else seconds
            if self.starting:
                left = max(self._loaded_at + starting - time.monotonic(), 0)
            if not waiting.poll(left * 1000):
                return False
            if not self._worker.receive_into([]):
                return False
        return not waiting.poll(0)  # otherwise it has closed its socket


def take(spawns: bool = False) -> tuple[AnsweringProcess, bool]:
    """Return an idle or new process, and whether it was used before.

    If the only idle process is still starting, wait for it: replacing it would repeat its imports.

    Parameters
    ----------
    spawns : bool
        Whether the process is a new interpreter; see `AnsweringProcess`.
    """
    starting: list[AnsweringProcess] = []
    try:
        while (process := _claimed(spawns)) is not None:
            if process.finishes(starting=0):
                return process, True
            if process.starting:
                starting.append(process)
            else:
                process.kill()
        while starting:
            if starting[0].finishes():
                return starting.pop(0), True
            starting.pop(0).kill()
    finally:
        for process in reversed(starting):
            process.rest()
    return AnsweringProcess(spawns), False


def _claimed(spawns: bool) -> AnsweringProcess | None:
    """Remove and return the most recently used idle process."""
    for process in reversed([*_idle]):
        if process.spawns == spawns:
            with suppress(ValueError):  # another thread has taken it
                _idle.remove(process)
                return process
    return None


def serve() -> None:
    """Run as a worker process until the parent process ends."""
    begin_to_serve()
    try:
        _Server().run()
    except SystemExit as leaving:
        # Exit immediately: once this process closes its files, a thread would end it with another
        # exit status.
        sys.stdout.flush()
        os._exit(leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None))


class _Server:
    def __init__(self) -> None:
        self._requests = _core.requests_of_parent()
        self._files = socket.socket(fileno=_GIVEN)
        self._held: Respondent | None = None
        self._broken: Failure | None = None
        self._last = -1

    def run(self) -> None:
        """Answer requests until there are no more."""
        while self._next():
            pass

    def _next(self) -> bool:
        parcel = self._requests.receive()
        if parcel is None:
            return False
        number, kind, what = unpacked(parcel)
        del parcel
        answer: Any = None
        if kind == "drop":
            self._drop()
        elif number > self._last and number >= self._requests.wanted:
            self._last = number
            answer = self._load(number, what) if kind == "load" else self._answer(what)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        return self._send(number, answer)

    def _load(self, number: int, what: Any) -> Failure | None:
        self._drop()
        try:
            self._held = _object_of(self._file(number))
            self._held.begin(what)
        except (Exception, SystemExit) as error:
            self._broken = Failure(pickled_error(error), unprepared=True)
        return self._broken

    def _drop(self) -> None:
        if self._held is not None:
            self._held.end()
        self._held = self._broken = None

    def _file(self, number: int) -> int:
        while True:
            told, files, *_ = socket.recv_fds(self._files, 8, 1)
            if int.from_bytes(told, "little") == number:
                return files[0]
            os.close(files[0])  # an interrupt prevented the request that belongs to it

    def _answer(self, what: Any) -> Any:
        if self._broken is not None:
            return self._broken
        assert self._held is not None
        try:
            return self._held.answer(what)
        except (Exception, SystemExit) as error:
            return Failure(pickled_error(error))

    def _send(self, number: int, answer: Any) -> bool:
        try:
            return self._requests.send(packed((number, answer)))
        except Exception as error:
            failure = TypeError(
                "worker processes: results that can be pickled, and memory for them, were "
                f"expected ({type(error).__name__}: {error})"
            )
            return self._requests.send(packed((number, Failure(pickled_error(failure)))))


_rounds: Iterator[int] = itertools.count(1)
_idle: list[AnsweringProcess] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # the processes belong to the parent


def _object_of(file: int) -> Any:
    """Return the object of an ObjectFile, in a private copy-on-write mapping."""
    try:
        whole = memoryview(mmap.mmap(file, 0, flags=mmap.MAP_PRIVATE))
    finally:
        os.close(file)
    sizes = pickle.loads(whole)
    starts = _starts(len(pickle.dumps(sizes)), sizes)
    around, *parcel = [whole[at : at + size] for at, size in zip(starts, sizes, strict=True)]
    path, main, folder, environ, argv = pickle.loads(around)
    with suppress(OSError):
        os.chdir(folder)
    if dict(os.environ) != environ:
        os.environ.clear()
        os.environ.update(environ)
        os.environ.update(_core.library_thread_limits())
    sys.argv[:] = argv
    enter(path, main)
    return unpacked(parcel)


def _starts(head: int, sizes: Sequence[int]) -> list[int]:
    """Return the offset of each part, after a head of the given size."""
    ends = itertools.accumulate(-(-size // _ALIGN) * _ALIGN for size in (head, *sizes))
    return [*ends][:-1]


def _write(file: int, view: memoryview, at: int) -> None:
    while view.nbytes:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written
