"""Worker threads that each read a copy of an iterable dataset that divides itself."""

from __future__ import annotations

import copy
import os
import queue
import select
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType
from typing import Any

from penstock.closing import Finalizing, finalizing
from penstock.data_loader import worker_info
from penstock.data_loader.in_worker import LoaderInWorker, Made, Preparation
from penstock.data_loader.settings import Settings
from penstock.data_loader.team import Member, Team
from penstock.data_loader.worker_info import WorkerInfo
from penstock.stage import Stage

_ASKS = "get_worker_info"


def divides_itself(dataset: Any) -> bool:
    """Return whether the code of an iterable dataset calls `get_worker_info`."""
    return not isinstance(dataset, Stage) and _asks(dataset, set())


def _asks(thing: Any, seen: set[int]) -> bool:
    if id(thing) in seen or not hasattr(type(thing), "__iter__"):
        return False
    seen.add(id(thing))
    own = (cls for cls in type(thing).__mro__ if cls is not object)
    members = (getattr(member, "__func__", member) for cls in own for member in vars(cls).values())
    codes = (getattr(member, "__code__", None) for member in members)
    if any(_ASKS in code.co_names for each in codes if each is not None for code in _nested(each)):
        return True
    # Search nested datasets: attributes, and lists in attributes.
    inner = list(getattr(thing, "__dict__", {}).values())
    inner += [each for value in inner if type(value) in (list, tuple) for each in value[:64]]
    return any(_asks(value, seen) for value in inner if hasattr(type(value), "__dict__"))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _nested(value)


class ThreadTeam(Team):
    """The thread version of `Team`, with copies of the dataset in memory.

    Raises
    ------
    Exception
        If the dataset cannot be copied.
    """

    def __init__(self, loader: Settings) -> None:
        self._loader = loader
        self._workers = loader.num_workers
        self._keeps = loader.persistent_workers
        self._free = False
        self._owner = os.getpid()
        self.members: list[Member] = []
        self._base_seed = 0
        self._copies = [copy.deepcopy(loader.dataset) for _ in range(self._workers)]

    def replace(self, number: int) -> None:
        """Do nothing: threads do not die unexpectedly."""

    def disband(self) -> None:
        """End the threads."""
        members, self.members, self._free = self.members, [], False
        for member in members:
            member.process.kill()

    def begin(self, base_seed: int) -> None:
        """Begin an epoch; persistent workers continue unchanged."""
        self._base_seed = base_seed
        if not self.members:
            # Extend in place, because the pass holds a reference to the list.
            self.members += (
                Member(self._thread(number), used=False) for number in range(self._workers)
            )
            return
        for member in self.members:
            member.process.renew()
            member.posted = -1

    def _thread(self, number: int) -> Any:
        respondent = _LoaderInThread(self._loader, self._copies[number])
        return AnsweringThread(respondent, Preparation(number, self._workers, self._base_seed))


class _LoaderInThread(LoaderInWorker):
    """A worker thread's copy of the dataset, and how it makes batches."""

    def __init__(self, loader: Settings, dataset: Any) -> None:
        super().__init__(loader)
        self.dataset = dataset

    def _enter(self, what: Preparation) -> None:
        seed = (what.base_seed + what.number) % 2**64
        worker_info.enter(WorkerInfo(what.number, what.workers, seed, self.dataset))

    def _failure(self, error: BaseException) -> Any:
        return error


class AnsweringThread:
    """A worker thread with the methods of `AnsweringProcess` that a pass uses.

    Parameters
    ----------
    respondent : LoaderInWorker
        The object that answers requests.
    what : Preparation
        Its initial settings.
    """

    pid = os.getpid()

    def __init__(self, respondent: LoaderInWorker, what: Preparation) -> None:
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._round = 0
        self._last = -1
        self.answers: deque[Any] = deque()
        # Readable while there are answers, so a pass can wait for several threads.
        self._ready = _Bell()
        shared = (self._requests, self.answers, self._ready, respondent, what)
        threading.Thread(target=_serve, args=shared, name="penstock", daemon=True).start()

    def fileno(self) -> int:
        """Return the file descriptor that is readable when an answer has arrived."""
        return self._ready.reader

    def ask(self, number: int, what: Any) -> bool:
        """Send a request, unless one with the same or a later number was sent."""
        if number > self._last:
            self._last = number
            self._requests.put((self._round, number, what))
        return True

    def receive(self) -> tuple[int, Any]:
        """Return the number of the oldest request and its answer, without removing the answer."""
        while True:
            while not self.answers:
                self._ready.wait()
            (about, number), answer = self.answers[0]
            if about == self._round:
                return number, answer
            self.received()

    def received(self) -> None:
        """Drop the answer that `receive` returned."""
        self.answers.popleft()
        if not self.answers:
            self._ready.clear()
            if self.answers:
                self._ready.ring()

    def renew(self) -> None:
        """Begin a new series of requests."""
        self._round += 1
        self._last = -1

    def kill(self) -> None:
        """Make the thread end after its current request."""
        self._requests.put(None)

    def how_it_ended(self) -> str:
        """Return a placeholder: threads do not die unexpectedly."""
        return "ended"


class _Bell:
    """A pipe that is readable after `ring`, until `clear`."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)

    def ring(self) -> None:
        with suppress(BlockingIOError):  # the pipe is full, so it is readable
            os.write(self._writer, b"!")

    def clear(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self.reader, 4096):
                pass

    def wait(self) -> None:
        select.select([self.reader], [], [])
        self.clear()

    def __del__(self, ends: Finalizing = finalizing) -> None:
        if not ends():
            os.close(self.reader)
            os.close(self._writer)


def _serve(
    requests: queue.SimpleQueue[Any],
    answers: deque[Any],
    ready: _Bell,
    respondent: LoaderInWorker,
    what: Preparation,
) -> None:
    failure: Exception | None = None
    try:
        respondent.begin(what)
    except Exception as error:
        failure = error
    except SystemExit as error:
        failure = RuntimeError(f"DataLoader: worker_init_fn raised {error!r}")
    while (request := requests.get()) is not None:
        about, number, asked = request
        if failure is not None:
            answer = Made(failure=failure, last=number > 0, opened=number == 0)
        else:
            answer = respondent.answer(asked)
        answers.append(((about, number), answer))
        del answer, request, asked
        ready.ring()
    worker_info.leave(None)
