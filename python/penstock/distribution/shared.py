"""One job for several consumers: each gets the whole order, and it is made once."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from penstock.dataset import Dataset
from penstock.distribution.failures import kept, own
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
    Each consumer has one seat, which it takes once. Results are numbered in the order. One is kept
    until all consumers have taken it, and nothing is let go of before all seats have been taken.

    Parameters
    ----------
    consumers : iterable of int
        Those that there will be.
    window : int
        Results that are kept, at most.
    timeout : float
        Seconds without a word after which a consumer counts as dead; and that the others wait for
        those who do not join.
    """

    def __init__(self, consumers: Iterable[int], window: int, timeout: float) -> None:
        self._free = set(consumers)  # seats that were never taken
        self._window = window
        self._timeout = timeout
        self._next: dict[int, int] = {}  # the number of the result that each consumer takes next
        self._heard: dict[int, float] = {}  # when each was heard of
        self._kept: dict[int, Any] = {}
        self._first = 0  # the number of the first one that is kept
        self._made = 0
        self._ended = False
        self._full_since: float | None = None
        self._left = 0.0  # when the last one to leave did

    def join(self, consumer: int, now: float) -> bool:
        """Let a consumer take its seat, at the beginning; False if it is free no more."""
        if consumer not in self._free:
            return False
        self._free.remove(consumer)
        self._next[consumer] = 0
        self._heard[consumer] = now
        return True

    def waits_for(self, consumer: int) -> bool:
        """Return whether the seat of a consumer is still free."""
        return consumer in self._free

    def waits(self) -> bool:
        """Return whether consumers are still to join."""
        return bool(self._free)

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
        self._let_go()

    def end(self) -> None:
        """Note that there are no more results."""
        self._ended = True

    def take(self, consumer: int, number: int, now: float) -> tuple[Any] | bool | None:
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

    def alive(self, consumer: int, now: float) -> None:
        """Note that a consumer lives, though it takes nothing."""
        if consumer in self._next:
            self._heard[consumer] = now

    def leave(self, consumer: int, now: float) -> None:
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
        """Return whether no one takes part, and no one may still join.

        Those who are still to join are waited for, though the others have left: alone in a pass of
        their own they would wait for consumers that never come.
        """
        if self._next:
            return False
        return not self._free or now - self._left >= self._timeout

    def _give_up_on_others(self, now: float) -> None:
        """Wait no longer for those who do not join, once that holds the others up for long."""
        if not self._free or len(self._kept) < self._window:
            return
        if self._full_since is None:
            self._full_since = now
        elif now - self._full_since >= self._timeout:
            self._free.clear()
            self._let_go()

    def _let_go(self) -> None:
        if self._free:
            return
        low = min(self._next.values(), default=self._made)
        while self._first < low:
            del self._kept[self._first]
            self._first += 1


@dataclasses.dataclass(frozen=True, slots=True)
class Begin:
    """What a consumer says when it joins."""

    token: str  # of the consumer in this pass
    consumer: int
    count: int  # of consumers
    fingerprint: int
    place: bytes
    state: bytes
    done: list[Range]
    sound: bool
    alone: bool  # a job had lost it

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
    begin : Begin
        Of the first consumer.
    job : Job
        What has the work done.
    shared : SharedPass
        Of the same window.
    timeout : float
        After which it is over though it waits for consumers.
    """

    def __init__(self, begin: Begin, job: Job, shared: SharedPass, timeout: float) -> None:
        self.begin = begin
        self.timeout = timeout
        self._job = job
        self._pass = shared
        self._changed = threading.Condition()
        self._working = False
        self._failure: Exception | None = None

    def join(self, consumer: int) -> bool:
        """Let a consumer take its seat; False if it is too late."""
        with self._changed:
            return self._pass.join(consumer, time.monotonic())

    def waits_for(self, consumer: int) -> bool:
        """Return whether a consumer is still to join."""
        with self._changed:
            return self._pass.waits_for(consumer)

    def waits(self) -> bool:
        """Return whether consumers are still to join."""
        with self._changed:
            return self._pass.waits()

    def take(self, consumer: int, received: int) -> Taken | str | None:
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

    def alive(self, consumer: int) -> None:
        """Note that a consumer lives."""
        with self._changed:
            self._pass.alive(consumer, time.monotonic())

    def leave(self, consumer: int) -> None:
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
        """End the workers; for a job that is over, where no consumer begins to work any more."""
        with self._changed:
            self._changed.wait_for(lambda: not self._working)
        self._job.close()

    def _found(self, consumer: int, received: int) -> Taken | str | None:
        now = time.monotonic()
        found = self._pass.take(consumer, received, now)
        self._pass.expire(now)
        if found is False:
            return AGAIN
        if found is True:
            return 0, None, 0
        if found is None:
            if self._failure is not None:
                raise own(self._failure)
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
            failure = kept(error)
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

    A consumer joins the first pass that begins where it does and has a seat for it; else it begins
    one. So its second pass over the same elements is also the second one of the others, and one
    that was lost, or comes when its seat is given up, has a pass of its own.

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
        self._jobs: list[SharedJob] = []
        self._of: dict[str, tuple[SharedJob, int]] = {}  # by the tokens of consumers
        self._known: set[int] = set()  # consumers that have joined, since there was no pass

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """Let a consumer take part in the pass that begins where it does, or begin one.

        Raises
        ------
        ValueError
            If the job of this name is of another pipeline, or consumers begin at different
            positions.
        """
        self._sweep()
        with self._lock:
            if begin.token in self._of:  # it was interrupted before it heard of that
                return
            self._refuse_others(begin)
            job = self._seat(begin)
            if job is None:
                self._refuse_elsewhere(begin)
                job = self._made(begin, dataset, settings)
                job.join(begin.consumer)
                self._jobs.append(job)
            self._of[begin.token] = job, begin.consumer
            self._known.add(begin.consumer)

    def take(self, token: str, received: int) -> Taken | str | None:
        """Return what `SharedJob.take` does."""
        found = self._of.get(token)
        return AGAIN if found is None else found[0].take(found[1], received)

    def alive(self, token: str) -> None:
        """Note that a consumer lives."""
        if (found := self._of.get(token)) is not None:
            found[0].alive(found[1])
        self._sweep()

    def leave(self, token: str) -> None:
        """Let a consumer go."""
        with self._lock:
            found = self._of.pop(token, None)
        if found is None:
            return
        job, consumer = found
        job.leave(consumer)
        if job.waits():  # for others, who may never come
            seconds = min(job.timeout + 0.1, threading.TIMEOUT_MAX)
            after = threading.Timer(seconds, self._sweep)
            after.daemon = True
            after.start()
        self._sweep()

    def idle(self) -> bool:
        """Return whether there is nothing to do."""
        self._sweep()
        with self._lock:
            return not self._jobs

    def _sweep(self) -> None:
        """End the jobs that have no consumers any more."""
        with self._lock:
            over = [job for job in self._jobs if job.over()]
            self._jobs = [job for job in self._jobs if job not in over]
            self._of = {token: of for token, of in self._of.items() if of[0] not in over}
            if not self._jobs:
                self._known.clear()
        for job in over:
            job.close()

    def _seat(self, begin: Begin) -> SharedJob | None:
        """Have a consumer join the pass of its elements that has a seat for it."""
        if begin.alone:
            return None
        key = begin.key()
        for job in self._jobs:
            if not job.begin.alone and job.begin.key() == key and job.join(begin.consumer):
                return job
        return None

    def _made(self, begin: Begin, dataset: Dataset, settings: Settings) -> SharedJob:
        opener = functools.partial(
            self._open_workers, dataset, settings.num_workers, settings.options
        )
        job = Job(opener, settings, begin.place, ordered=True)
        job.begin(begin.state, begin.done, begin.sound)
        seats = [begin.consumer] if begin.alone else range(begin.count)
        shared = SharedPass(seats, WINDOW, settings.lease_timeout)
        return SharedJob(begin, job, shared, settings.lease_timeout)

    def _refuse_others(self, begin: Begin) -> None:
        for job in self._jobs:
            if job.begin.fingerprint != begin.fingerprint:
                raise ValueError(
                    f"distribute: the job {self._name!r} is shared by consumers of another "
                    "pipeline; give each pipeline a name of its own"
                )
            if job.begin.count != begin.count:
                raise ValueError(
                    f"distribute: the job {self._name!r} is shared by {job.begin.count} "
                    f"consumers, got num_consumers={begin.count}; give all the same number"
                )

    def _refuse_elsewhere(self, begin: Begin) -> None:
        """Refuse one that joins for the first time, and not where it is waited for.

        Later it may be anywhere: it has stopped early, or was started again.
        """
        if begin.consumer in self._known or begin.alone:
            return
        if any(job.waits_for(begin.consumer) for job in self._jobs):
            raise ValueError(
                f"distribute: the job {self._name!r} waits for consumers that begin where the "
                "first one did, and this one begins elsewhere; have all consumers draw from "
                "one seed (ps.random.set_seed, or shard_evenly after distribute) and go "
                "through the dataset equally often, or restore one state in all (of any of them, "
                "or of ps.merge_states)"
            )


class Coordinating(Protocol):
    """A Coordinator, here or elsewhere; `take` gives AGAIN where it cannot be reached."""

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """As of `Coordinator`."""

    def take(self, token: str, received: int) -> Taken | str | None:
        """As of `Coordinator`."""

    def alive(self, token: str) -> None:
        """As of `Coordinator`."""

    def leave(self, token: str) -> None:
        """As of `Coordinator`."""


class SharedConsumer:
    """One of the consumers of a shared job: what `Job` is to one that has its own.

    While it lives a thread of its own says so to the coordinator, which counts out those of whom
    nothing is heard. What it takes depends on its own position only: one that was counted out, or
    whose coordinator has died, begins again there, by a job that it shares with no one.

    Parameters
    ----------
    coordinator : Coordinator
        Of the job.
    dataset : Dataset
        What the workers run.
    fingerprint : int
        Of the dataset when it was made: functions may have a state.
    settings : Settings
        How.
    place : bytes
        The position of the pipeline in the consumer's, which random draws depend on.
    """

    def __init__(
        self,
        coordinator: Coordinating,
        dataset: Dataset,
        fingerprint: int,
        settings: Settings,
        place: bytes,
    ) -> None:
        self._coordinator = coordinator
        self._dataset = dataset
        self._settings = settings
        self._place = place
        self._fingerprint = fingerprint
        self._begin: Begin | None = None
        self._life: _Life | None = None
        self._lost = False

    def begin(self, state: bytes, done: list[Range], sound: bool) -> None:
        """Join those who begin there, or begin first."""
        self.close()
        settings = self._settings
        begin = Begin(
            uuid.uuid4().hex,
            settings.consumer_index,
            settings.num_consumers,
            self._fingerprint,
            self._place,
            state,
            done,
            sound,
            self._lost,
        )
        last = self._begin
        if last is not None and dataclasses.replace(last, token=begin.token) == begin:
            begin = last  # an interrupt came before it had joined, or so it seemed
        self._begin = begin
        self._coordinator.join(begin, self._dataset, settings)
        self._life = _Life(self._coordinator, begin.token, settings.lease_timeout / 4)
        self._begin = None

    def take(self, received: int) -> Taken | str | None:
        """Return what `Job.take` does, or AGAIN."""
        if self._life is None:
            return AGAIN
        taken = self._coordinator.take(self._life.token, received)
        if taken == AGAIN:
            self._lost = True
        elif isinstance(taken, tuple) and taken[1] is None:
            self.close()
        return taken

    def close(self) -> None:
        """Leave the job."""
        if self._life is not None:
            self._life.end()
            self._life = None


class _Life:
    """Of a consumer: says that it lives until it ends, or is dropped."""

    def __init__(self, coordinator: Coordinating, token: str, seconds: float) -> None:
        self.token = token
        self._coordinator = coordinator
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        threading.Thread(
            target=_say, args=(coordinator, token, self._ended, seconds), daemon=True
        ).start()

    def end(self) -> None:
        """Leave, in this thread; to be called again where that is interrupted."""
        self._coordinator.leave(self.token)

    def __del__(self) -> None:
        # The collector may run this while its thread has any lock: `put` needs none of Python's.
        self._ended.put(None)


def _say(
    coordinator: Coordinating, token: str, ended: queue.SimpleQueue[None], seconds: float
) -> None:
    while True:
        try:
            ended.get(timeout=seconds)
        except queue.Empty:
            coordinator.alive(token)
        else:
            coordinator.leave(token)
            return


_coordinators: dict[str, Coordinator] = {}
_coordinators_lock = threading.Lock()


def _after_fork() -> None:
    """Forget the jobs of the parent in its child, which has none of their threads."""
    global _coordinators_lock
    _coordinators.clear()
    _coordinators_lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def local_coordinator(name: str, open_workers: OpenWorkers) -> Coordinator:
    """Return the one of this name in this process."""
    with _coordinators_lock:
        if name not in _coordinators:
            _coordinators[name] = Coordinator(name, open_workers)
        return _coordinators[name]
