"""One job for several consumers: each gets the whole order, and it is made once."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Hashable
from typing import Any, Protocol

from penstock.dataset import Dataset
from penstock.distribution.job import WAIT_SECONDS, Job, Taken
from penstock.distribution.leases import Range
from penstock.distribution.settings import Settings
from penstock.distribution.workers import Workers

WINDOW = 16  # leases that consumers may be apart
AGAIN = "again"  # for a consumer that the job has lost: it begins again where it is

OpenWorkers = Callable[[Dataset, int, dict[str, Any]], Workers]


class SharedPass:
    """Who has taken which results of one pass, and which are kept for others.

    It knows no worker, no clock and no transport: those who call say what has happened, and when.
    Results are numbered in the order. One is kept until all consumers have taken it, and nothing is
    let go of before as many have joined as there will be.

    Parameters
    ----------
    count : int
        Consumers that there will be.
    window : int
        Results that are kept, at most.
    timeout : float
        Seconds without a word after which a consumer counts as dead; and that the others wait for
        those who do not join.
    """

    def __init__(self, count: int, window: int, timeout: float) -> None:
        self._count = count
        self._window = window
        self._timeout = timeout
        self._joined = 0
        self._next: dict[Hashable, int] = {}  # the number of the result that each takes next
        self._heard: dict[Hashable, float] = {}  # when each was heard of
        self._kept: dict[int, Any] = {}
        self._first = 0  # the number of the first one that is kept
        self._made = 0
        self._ended = False
        self._full_since: float | None = None
        self._left = 0.0  # when the last one to leave did

    def join(self, consumer: Hashable, now: float) -> bool:
        """Let a consumer take part, from the beginning; False once that is not there any more."""
        if self._joined >= self._count or self._first > 0:
            return False
        self._joined += 1
        self._next[consumer] = 0
        self._heard[consumer] = now
        return True

    def waits(self) -> bool:
        """Return whether consumers are still to join."""
        return self._joined < self._count

    def made(self) -> int:
        """Return how many results were added."""
        return self._made

    def room(self) -> bool:
        """Return whether another result may be added."""
        return not self._ended and len(self._kept) < self._window

    def add(self, result: Any) -> None:
        """Take the next result from those who make them."""
        self._kept[self._made] = result
        self._made += 1

    def end(self) -> None:
        """Note that there are no more results."""
        self._ended = True

    def take(self, consumer: Hashable, number: int, now: float) -> tuple[Any] | bool | None:
        """Return the result of this number in a tuple; the consumer has all before it.

        Returns
        -------
        tuple, bool or None
            True: it has taken all. False: it is not one of the consumers, or not any more. None:
            its next one is not there yet.
        """
        if consumer not in self._next:
            return False
        self._heard[consumer] = now
        self._next[consumer] = number
        self._let_go()
        if number < self._made:
            return (self._kept[number],)
        if self._ended:
            return True
        self._give_up_on_others(now)
        return None

    def alive(self, consumer: Hashable, now: float) -> None:
        """Note that a consumer lives, though it takes nothing."""
        if consumer in self._next:
            self._heard[consumer] = now

    def leave(self, consumer: Hashable, now: float) -> None:
        """Let a consumer go: it stops early, has taken all, or has died."""
        if self._next.pop(consumer, None) is not None:
            self._left = now
            del self._heard[consumer]
            self._let_go()

    def expire(self, now: float) -> None:
        """Let those go of whom nothing was heard."""
        for consumer, heard in list(self._heard.items()):
            if now - heard >= self._timeout:
                self.leave(consumer, now)

    def over(self, now: float) -> bool:
        """Return whether no one takes part any more, nor may still join.

        Those who are still to join are waited for, though the others have left: alone in a pass of
        their own they would wait for consumers that never come.
        """
        if self._joined == 0 or self._next:
            return False
        return not self.waits() or now - self._left >= self._timeout

    def _give_up_on_others(self, now: float) -> None:
        """Wait no longer for those who do not join, once that holds the others up for long."""
        if not self.waits() or len(self._kept) < self._window:
            return
        if self._full_since is None:
            self._full_since = now
        elif now - self._full_since >= self._timeout:
            self._count = self._joined
            self._let_go()

    def _let_go(self) -> None:
        if self._joined < self._count:
            return
        low = min(self._next.values(), default=self._made)
        while self._first < low:
            del self._kept[self._first]
            self._first += 1


@dataclasses.dataclass(frozen=True, slots=True)
class Begin:
    """What a consumer says when it joins."""

    consumer: str
    fingerprint: int
    place: int
    state: bytes
    done: list[Range]
    sound: bool
    whole: bool  # from the beginning of the pipeline

    def key(self) -> str:
        """Return what is the same for those who want the same elements."""
        said = (self.fingerprint, self.place, self.state, self.done, self.sound)
        return hashlib.sha256(repr(said).encode()).hexdigest()


class SharedJob:
    """A job whose results several consumers take; from any threads.

    The thread of a consumer that finds nothing works for all: one at a time gives leases and hears
    workers. The others wait until it has a result, has waited for its tenth of a second, or until
    theirs is over. Each of these ends by itself, so that no one need be woken to see a closed run.

    Parameters
    ----------
    job : Job
        What has the work done.
    shared : SharedPass
        Of the same window.
    """

    def __init__(self, job: Job, shared: SharedPass) -> None:
        self._job = job
        self._pass = shared
        self._changed = threading.Condition()
        self._working = False
        self._failure: Exception | None = None

    def join(self, consumer: str) -> bool:
        """Let a consumer take part; False if it is too late."""
        with self._changed:
            return self._pass.join(consumer, time.monotonic())

    def waits(self) -> bool:
        """Return whether consumers are still to join."""
        with self._changed:
            return self._pass.waits()

    def take(self, consumer: str, received: int) -> Taken | str | None:
        """Return what `Job.take` does; AGAIN to what is no consumer any more."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            with self._changed:
                if (found := self._found(consumer, received)) is not None:
                    return found
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                if self._working or not self._pass.room():
                    self._changed.wait(left)
                    continue
                self._working = True
            self._work()

    def alive(self, consumer: str) -> None:
        """Note that a consumer lives."""
        with self._changed:
            self._pass.alive(consumer, time.monotonic())

    def leave(self, consumer: str) -> None:
        """Let a consumer go."""
        with self._changed:
            self._pass.leave(consumer, time.monotonic())
            self._changed.notify_all()

    def over(self) -> bool:
        """Return whether there are consumers no more, once the dead are let go of."""
        with self._changed:
            now = time.monotonic()
            self._pass.expire(now)
            return self._pass.over(now)

    def close(self) -> None:
        """End the workers."""
        with self._changed:
            self._changed.wait_for(lambda: not self._working)
        self._job.close()

    def _found(self, consumer: str, received: int) -> Taken | str | None:
        found = self._pass.take(consumer, received, time.monotonic())
        if found is False:
            return AGAIN
        if found is True:
            return 0, None, 0
        if found is None:
            if self._failure is not None:
                raise self._failure
            return None
        self._changed.notify_all()  # there may be room now
        taken: Taken = found[0]
        return taken

    def _work(self) -> None:
        """Have the job do a little, without the lock."""
        taken: Taken | None = None
        failure: Exception | None = None
        try:
            taken = self._job.take(self._pass.made())  # only this thread adds
        except Exception as error:
            failure = error
        finally:
            with self._changed:
                self._working = False
                self._failure = failure or self._failure
                if taken is not None and taken[1] is None:
                    self._pass.end()
                elif taken is not None:
                    self._pass.add(taken)
                self._changed.notify_all()


class Coordinator:
    """All passes of the jobs of one name; from any threads.

    Parameters
    ----------
    name : str
        Of the job.
    open_workers : callable
        Returns workers for a dataset.
    """

    def __init__(self, name: str, open_workers: OpenWorkers) -> None:
        self._name = name
        self._open_workers = open_workers
        self._lock = threading.Lock()
        self._jobs: dict[
            str, SharedJob
        ] = {}  # by the keys of passes; of one that is full, the next
        self._of: dict[str, SharedJob] = {}  # by consumers
        self._begins: dict[str, Begin] = {}  # by keys

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """Let a consumer take part in the pass that begins where it does, or begin one.

        Raises
        ------
        ValueError
            If the job of this name is of another pipeline, or consumers begin at different
            positions.
        """
        self._sweep()
        key = begin.key()
        with self._lock:
            self._refuse(begin, key)
            job = self._jobs.get(key)
            if job is None or not job.join(begin.consumer):
                job = self._made(begin, dataset, settings)
                job.join(begin.consumer)
                self._jobs[key] = job
                self._begins[key] = begin
            self._of[begin.consumer] = job

    def take(self, consumer: str, received: int) -> Taken | str | None:
        """Return what `SharedJob.take` does."""
        job = self._of.get(consumer)
        return AGAIN if job is None else job.take(consumer, received)

    def alive(self, consumer: str) -> None:
        """Note that a consumer lives."""
        if (job := self._of.get(consumer)) is not None:
            job.alive(consumer)
        self._sweep()

    def leave(self, consumer: str) -> None:
        """Let a consumer go."""
        if (job := self._of.get(consumer)) is not None:
            job.leave(consumer)
        self._sweep()

    def idle(self) -> bool:
        """Return whether there are no consumers."""
        self._sweep()
        with self._lock:
            return not self._of

    def _sweep(self) -> None:
        """End the jobs that have no consumers any more."""
        with self._lock:
            over = {job for job in set(self._of.values()) if job.over()}
            self._of = {who: job for who, job in self._of.items() if job not in over}
            for key in [key for key, job in self._jobs.items() if job in over]:
                del self._jobs[key], self._begins[key]
        for job in over:
            job.close()

    def _made(self, begin: Begin, dataset: Dataset, settings: Settings) -> SharedJob:
        opener = functools.partial(
            self._open_workers, dataset, settings.num_workers, settings.options
        )
        job = Job(opener, settings, begin.place, ordered=True)
        job.begin(begin.state, begin.done, begin.sound, begin.whole)
        return SharedJob(job, SharedPass(settings.num_consumers, WINDOW, settings.lease_timeout))

    def _refuse(self, begin: Begin, key: str) -> None:
        for other_key, other in self._begins.items():
            if other.fingerprint != begin.fingerprint:
                raise ValueError(
                    f"distribute: the job {self._name!r} is shared by consumers of another "
                    "pipeline; give each pipeline a name of its own"
                )
            apart = other_key != key and other.whole and begin.whole
            if apart and self._jobs[other_key].waits():
                raise ValueError(
                    f"distribute: the job {self._name!r} waits for consumers that begin where the "
                    "first one did, and this one begins elsewhere; have all consumers draw from "
                    "one seed (ps.random.set_seed, or shard_evenly after distribute) and go "
                    "through the dataset equally often, or restore one state in all"
                )


class Coordinating(Protocol):
    """A Coordinator, here or elsewhere; `take` gives AGAIN where it cannot be reached."""

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """As of `Coordinator`."""

    def take(self, consumer: str, received: int) -> Taken | str | None:
        """As of `Coordinator`."""

    def alive(self, consumer: str) -> None:
        """As of `Coordinator`."""

    def leave(self, consumer: str) -> None:
        """As of `Coordinator`."""


class SharedConsumer:
    """One of the consumers of a shared job: what `Job` is to one that has its own.

    While it lives a thread of its own says so to the coordinator, which counts out those of whom
    nothing is heard. What it takes depends on its own position only: one that was counted out, or
    whose coordinator has died, begins again there.

    Parameters
    ----------
    coordinator : Coordinator
        Of the job.
    dataset : Dataset
        What the workers run.
    settings : Settings
        How.
    place : int
        Of the pipeline in the consumer's, which its random draws depend on.
    """

    def __init__(
        self, coordinator: Coordinating, dataset: Dataset, settings: Settings, place: int
    ) -> None:
        self._coordinator = coordinator
        self._dataset = dataset
        self._settings = settings
        self._place = place
        self._fingerprint = int(dataset.fingerprint())
        self._life: _Life | None = None

    def begin(self, state: bytes, done: list[Range], sound: bool, whole: bool) -> None:
        """Join those who begin there, or begin first."""
        self.close()
        consumer = uuid.uuid4().hex
        begin = Begin(consumer, self._fingerprint, self._place, state, done, sound, whole)
        self._coordinator.join(begin, self._dataset, self._settings)
        self._life = _Life(self._coordinator, consumer, self._settings.lease_timeout / 4)

    def take(self, received: int) -> Taken | str | None:
        """Return what `Job.take` does, or AGAIN."""
        if self._life is None:
            return AGAIN
        taken = self._coordinator.take(self._life.consumer, received)
        if isinstance(taken, tuple) and taken[1] is None:
            self.close()
        return taken

    def close(self) -> None:
        """Leave the job."""
        life, self._life = self._life, None
        if life is not None:
            life.end()


class _Life:
    """Of a consumer: says that it lives until it ends, or is dropped."""

    def __init__(self, coordinator: Coordinating, consumer: str, seconds: float) -> None:
        self.consumer = consumer
        self._coordinator = coordinator
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=_say, args=(coordinator, consumer, self._ended, seconds), daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            self._coordinator.leave(self.consumer)

    def __del__(self) -> None:
        self.end()


def _say(coordinator: Coordinating, consumer: str, ended: threading.Event, seconds: float) -> None:
    while not ended.wait(seconds):
        coordinator.alive(consumer)


_coordinators: dict[str, Coordinator] = {}
_coordinators_lock = threading.Lock()


def local_coordinator(name: str, open_workers: OpenWorkers) -> Coordinator:
    """Return the one of this name in this process."""
    with _coordinators_lock:
        if name not in _coordinators:
            _coordinators[name] = Coordinator(name, open_workers)
        return _coordinators[name]
