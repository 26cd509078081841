"""Worker processes that hold an object of their own, which answers one request after the other."""

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

_GIVEN = 13  # the number of the socket for files in a worker
_UNFINISHED = 1.0  # maximum seconds for a request whose answer is no longer needed
STARTING = 60.0  # maximum seconds for a process to start, import and make its object
_ALIGN = 64
_ROUND = 1 << 40  # more requests than one user of a worker makes


class Respondent(Protocol):
    """What a worker holds."""

    def begin(self, what: Any) -> None:
        """Make it ready, in the worker."""

    def answer(self, what: Any) -> Any:
        """Return the answer to a request."""

    def end(self) -> None:
        """Let go of what else refers to it."""


class Failure(NamedTuple):
    """An exception instead of an answer.

    Attributes
    ----------
    pickled : bytes
        For `error`.
    unprepared : bool
        Whether the object could not be made, or not begin.
    """

    pickled: bytes
    unprepared: bool = False

    def error(self) -> BaseException:
        """Return the exception, with the worker's lines as its cause."""
        return unpickled_error(self.pickled)


class ObjectFile:
    """An object as bytes in a file without a name, which workers map: it is in memory once.

    Parameters
    ----------
    parcel : sequence of bytes-like
        As `packed` returns it.
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
        """Let go of it: the workers that have it keep it."""
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)

    def __del__(self, ends: Finalizing = finalizing) -> None:
        if not ends():
            self.close()


class AnsweringProcess:
    """A worker process, as its user sees it. Used by one thread at a time.

    Parameters
    ----------
    spawns : bool
        Start a new interpreter instead of forking from the server (penstock.workers.starting).

    Attributes
    ----------
    answers : list
        Those that have come and were not looked at.
    spawns : bool
        The argument.
    """

    def __init__(self, spawns: bool = False) -> None:
        self.spawns = spawns
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._worker = _core.AnsweringWorker(command(__name__, spawns), theirs.fileno())
        self._first = 0  # the number of this user's first request
        self._loaded_at = time.monotonic()  # when `load` was called
        self._after_load = 0  # the number of requests sent after it
        self.answers: list[Any] = []

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._worker.pid

    def fileno(self) -> int:
        """Return what can be waited for: it is ready when an answer is there, or no worker."""
        return self._worker.fileno()

    def load(self, file: ObjectFile, what: Any) -> bool:
        """Have it make the object of a file, and call its `begin`; false if it has ended."""
        self._first = next(_rounds) * _ROUND
        self._loaded_at, self._after_load = time.monotonic(), 0
        try:
            socket.send_fds(self._ours, [self._first.to_bytes(8, "little")], [file.file])
        except OSError:
            return False
        return self._worker.send(packed((self._first, "load", what), to_worker=True))

    def ask(self, number: int, what: Any) -> bool:
        """Send a request, unless one of that number, or a later one, was sent; false if it ended.

        Parameters
        ----------
        number : int
            From 0, of this user.
        what : object
            What its `answer` is called with.
        """
        return self._send((self._first + 1 + number, "ask", what))

    def receive(self) -> tuple[int, Any] | None:
        """Return the number of a request and its answer, None if the worker has ended.

        It stays to be received until `received` is called. Waits while there is none. The number is
        -1 for that of `load`, and less for what was asked for before.
        """
        if not self.answers and not self._worker.receive_into(self.answers):
            return None
        number, answer = unpacked(self.answers[0])
        return number - self._first - 1, answer

    def received(self) -> None:
        """Note that what `receive` returned is kept elsewhere."""
        del self.answers[0]

    def how_it_ended(self) -> str:
        """Say in words how the process has ended."""
        return self._worker.how_it_ended()

    def renew(self) -> None:
        """Begin another series of requests to the same object."""
        if self.starting:  # the object is still needed, so earlier requests are answered, too
            self.answers = []
        else:
            self._leave()
        self._first = next(_rounds) * _ROUND

    def give_back(self) -> None:
        """Drop its object, and let others use the process."""
        try:
            self._leave()
            if self._send((0, "drop", None)):
                self.rest()
        except (WorkerError, OSError):  # it is a parent's, or has ended
            return

    def rest(self) -> None:
        """Make the process available to `take`; it is ended after an idle time."""
        self._worker.rest()
        _idle.append(self)

    def kill(self) -> None:
        """End the process now."""
        self._worker.kill()

    def _leave(self) -> None:
        """Want no longer what was asked for and has not begun."""
        self.answers = []
        self._worker.want((self._first // _ROUND + 1) * _ROUND)

    def _send(self, request: tuple[int, str, Any]) -> bool:
        sent = self._worker.send(packed(request, to_worker=True))
        self._after_load += sent
        return sent

    @property
    def starting(self) -> bool:
        """Whether the process has not answered `load`: it still starts, imports or builds."""
        return self._worker.outstanding > self._after_load

    def finishes(self, seconds: float | None = None, starting: float = STARTING) -> bool:
        """Wait for the answers to earlier requests; false if the process is late or has ended.

        Parameters
        ----------
        seconds : float, optional
            The maximum for a request; None: 1 second.
        starting : float
            The maximum for `load`, from its call on.
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
        return not waiting.poll(0)  # else it has closed


def take(spawns: bool = False) -> tuple[AnsweringProcess, bool]:
    """Return an idle or new process, and whether it was used before.

    If the only idle process is still starting, wait for it: killing it would repeat its imports.

    Parameters
    ----------
    spawns : bool
        Whether the process is a new interpreter: see `AnsweringProcess`.
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
    """Remove and return the idle process that was used last."""
    for process in reversed([*_idle]):
        if process.spawns == spawns:
            with suppress(ValueError):  # another thread has taken it
                _idle.remove(process)
                return process
    return None


def serve() -> None:
    """Be a worker process until the process that has started this one ends."""
    begin_to_serve()
    try:
        _Server().run()
    except SystemExit as leaving:
        # At once: a thread ends this process, with no code of its own, when its files are closed.
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
        """Answer until there is no more to answer."""
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
            os.close(files[0])  # an interrupt came before the request of it

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
    os.register_at_fork(after_in_child=_idle.clear)  # they are the parent's


def _object_of(file: int) -> Any:
    """Return the object of an ObjectFile, whose memory is this process's to change."""
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
    """Return where each part begins, after a head of that size."""
    ends = itertools.accumulate(-(-size // _ALIGN) * _ALIGN for size in (head, *sizes))
    return [*ends][:-1]


def _write(file: int, view: memoryview, at: int) -> None:
    while view.nbytes:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written
