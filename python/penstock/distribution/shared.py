"""A job that several consumers share: each receives all elements, which are made once."""

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

WINDOW = 16  # maximum number of leases between the fastest and the slowest consumer
AGAIN = "again"  # the job dropped the consumer, which starts again at its position

OpenWorkers = Callable[[Dataset, int, dict[str, Any]], Workers]


class SharedPass:
    """Track which consumers have taken which results, and which results to keep.

    The class knows no workers, clock or transport; its callers report events and times. Each
    consumer has one seat, which it takes once. Results are numbered in order. A result is kept
    until all consumers have taken it. No result is dropped before all seats are taken.

    Parameters
    ----------
    consumers : iterable of int
        The expected consumers.
    window : int
        Maximum number of kept results.
    timeout : float
        Seconds without a message after which a consumer counts as dead. Also the time that the
        others wait for missing consumers.
    """

    def __init__(self, consumers: Iterable[int], window: int, timeout: float) -> None:
        self._free = set(consumers)  # seats never taken
        self._window = window
        self._timeout = timeout
        self._next: dict[int, int] = {}  # number of the next result of each consumer
        self._heard: dict[int, float] = {}  # time of each consumer's latest message
        self._kept: dict[int, Any] = {}
        self._first = 0  # number of the first kept result
        self._made = 0
        self._ended = False
        self._full_since: float | None = None
        self._left = 0.0  # when the latest consumer left

    def join(self, consumer: int, now: float) -> bool:
        """Seat a consumer at the start; return False if its seat is no longer free."""
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
        """Return whether consumers are still missing."""
        return bool(self._free)

    def made(self) -> int:
        """Return the number of results added."""
        return self._made

    def room(self) -> bool:
        """Return whether another result may be added."""
        return not self._ended and len(self._kept) < self._window

    def add(self, result: Any) -> None:
        """Add the next result."""
        self._kept[self._made] = result
        self._made += 1
        self._let_go()

    def end(self) -> None:
        """Record that there are no more results."""
        self._ended = True

    def take(self, consumer: int, number: int, now: float) -> tuple[Any] | bool | None:
        """Return the result of this number in a tuple; the consumer has all earlier ones.

        Returns
        -------
        tuple, bool or None
            True: it has taken all results. False: it is not, or no longer, a consumer. None: its
            next result is not available yet.
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
        """Record that a consumer is alive."""
        if consumer in self._next:
            self._heard[consumer] = now

    def leave(self, consumer: int, now: float) -> None:
        """Remove a consumer that stops early, has taken all results, or died."""
        if self._next.pop(consumer, None) is not None:
            self._left = now
            del self._heard[consumer]
            self._let_go()

    def expire(self, now: float) -> None:
        """Remove consumers that have timed out."""
        for consumer, heard in list(self._heard.items()):
            if now - heard >= self._timeout:
                self.leave(consumer, now)

    def over(self, now: float) -> bool:
        """Return whether no consumer takes part and none may still join.

        Missing consumers are awaited even if the others have left. In a separate pass, they would
        wait for consumers that never join.
        """
        if self._next:
            return False
        return not self._free or now - self._left >= self._timeout

    def _give_up_on_others(self, now: float) -> None:
        """Stop waiting for missing consumers once they have blocked the others for too long."""
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
    """A consumer's request to join."""

    token: str  # identifies the consumer in this pass
    consumer: int
    count: int  # number of consumers
    fingerprint: int
    place: bytes
    state: bytes
    done: list[Range]
    sound: bool
    alone: bool  # whether a job has dropped the consumer before

    def key(self) -> str:
        """Return a key that is equal for consumers that need the same elements."""
        said = (self.fingerprint, self.place, self.state, self.done, self.sound)
        return hashlib.sha256(repr(said).encode()).hexdigest()


class SharedJob:
    """A job whose results several consumers take; thread-safe.

    If a consumer finds no result, its thread works for all: only one thread at a time assigns
    leases and processes events. The others wait until it has a result, or until their time limit of
    a tenth of a second. Each wait is limited, so closing a run needs no wake-up.

    Parameters
    ----------
    begin : Begin
        The request of the first consumer.
    job : Job
        Makes the results.
    shared : SharedPass
        Tracks the consumers.
    timeout : float
        Seconds after which to stop waiting for missing consumers.
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
        """Seat a consumer; return False if it is too late."""
        with self._changed:
            return self._pass.join(consumer, time.monotonic())

    def waits_for(self, consumer: int) -> bool:
        """Return whether a consumer is still missing."""
        with self._changed:
            return self._pass.waits_for(consumer)

    def waits(self) -> bool:
        """Return whether any consumers are still missing."""
        with self._changed:
            return self._pass.waits()

    def take(self, consumer: int, received: int) -> Taken | str | None:
        """Return the result of `Job.take`, or AGAIN if the consumer was dropped."""
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
        """Record that a consumer is alive."""
        with self._changed:
            self._pass.alive(consumer, time.monotonic())

    def leave(self, consumer: int) -> None:
        """Remove a consumer."""
        with self._changed:
            self._pass.leave(consumer, time.monotonic())
            self._changed.notify_all()

    def over(self) -> bool:
        """Remove dead consumers; return whether none are left."""
        with self._changed:
            now = time.monotonic()
            self._pass.expire(now)
            return self._pass.over(now)

    def close(self) -> None:
        """End the workers. Call it only after the job is over, when no consumer starts to work."""
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
        """Advance the job by one step, without holding the lock."""
        taken: Taken | None = None
        failure: Exception | None = None
        try:
            taken = self._job.take(self._pass.made())  # only this thread adds results
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
    """All passes of the jobs with one name; thread-safe.

    A consumer joins the first pass that starts at its position and has a seat for it, or else
    starts a new pass. So its second pass over the same elements is also the second one of the
    others. A consumer that was dropped, or joins too late, has a separate pass.

    Parameters
    ----------
    name : str
        Name of the job.
    open_workers : callable
        Returns workers for a dataset.
    """

    def __init__(self, name: str, open_workers: OpenWorkers) -> None:
        self._name = name
        self._open_workers = open_workers
        self._lock = threading.Lock()
        self._jobs: list[SharedJob] = []
        self._of: dict[str, tuple[SharedJob, int]] = {}  # by consumer token
        self._known: set[int] = set()  # consumers that joined since there was no pass

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """Add a consumer to the pass that starts at its position, or start one.

        Raises
        ------
        ValueError
            If the job with this name belongs to another pipeline, or consumers start at different
            positions.
        """
        self._sweep()
        with self._lock:
            if begin.token in self._of:  # it had joined before an interrupt
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
        """Return the result of `SharedJob.take`."""
        found = self._of.get(token)
        return AGAIN if found is None else found[0].take(found[1], received)

    def alive(self, token: str) -> None:
        """Record that a consumer is alive."""
        if (found := self._of.get(token)) is not None:
            found[0].alive(found[1])
        self._sweep()

    def leave(self, token: str) -> None:
        """Remove a consumer."""
        with self._lock:
            found = self._of.pop(token, None)
        if found is None:
            return
        job, consumer = found
        job.leave(consumer)
        if job.waits():  # for others, which may never join
            seconds = min(job.timeout + 0.1, threading.TIMEOUT_MAX)
            after = threading.Timer(seconds, self._sweep)
            after.daemon = True
            after.start()
        self._sweep()

    def idle(self) -> bool:
        """Return whether there are no passes."""
        self._sweep()
        with self._lock:
            return not self._jobs

    def _sweep(self) -> None:
        """End the jobs that have no consumers left."""
        with self._lock:
            over = [job for job in self._jobs if job.over()]
            self._jobs = [job for job in self._jobs if job not in over]
            self._of = {token: of for token, of in self._of.items() if of[0] not in over}
            if not self._jobs:
                self._known.clear()
        for job in over:
            job.close()

    def _seat(self, begin: Begin) -> SharedJob | None:
        """Seat a consumer in a pass over its elements that has a free seat."""
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
        """Reject a consumer that joins for the first time at an unexpected position.

        Later it may start anywhere, because it stopped early or was restarted.
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
    """A local or remote Coordinator; `take` returns AGAIN if it cannot be reached."""

    def join(self, begin: Begin, dataset: Dataset, settings: Settings) -> None:
        """See `Coordinator.join`."""

    def take(self, token: str, received: int) -> Taken | str | None:
        """See `Coordinator.take`."""

    def alive(self, token: str) -> None:
        """See `Coordinator.alive`."""

    def leave(self, token: str) -> None:
        """See `Coordinator.leave`."""


class SharedConsumer:
    """A consumer of a shared job, with the interface of `Job`.

    A background thread sends heartbeats to the coordinator, which drops consumers that are silent.
    The consumer's results depend only on its own position. If it was dropped, or its coordinator
    died, it starts again there, with a job that it does not share.

    Parameters
    ----------
    coordinator : Coordinator
        The coordinator of the job.
    dataset : Dataset
        The pipeline that the workers run.
    fingerprint : int
        Fingerprint of the dataset at its creation, because functions may have state.
    settings : Settings
        How to divide the work.
    place : bytes
        Position of the pipeline within the consumer's, on which random draws depend.
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
        """Join the consumers that start at this position, or be the first."""
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
            begin = last  # an interrupt came before it joined, or before it knew
        self._begin = begin
        self._coordinator.join(begin, self._dataset, settings)
        self._life = _Life(self._coordinator, begin.token, settings.lease_timeout / 4)
        self._begin = None

    def take(self, received: int) -> Taken | str | None:
        """Return the result of `Job.take`, or AGAIN."""
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
    """Sends heartbeats for a consumer until it ends or is dropped."""

    def __init__(self, coordinator: Coordinating, token: str, seconds: float) -> None:
        self.token = token
        self._coordinator = coordinator
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        threading.Thread(
            target=_say, args=(coordinator, token, self._ended, seconds), daemon=True
        ).start()

    def end(self) -> None:
        """Leave the job in this thread; call again if interrupted."""
        self._coordinator.leave(self.token)

    def __del__(self) -> None:
        # The garbage collector may run this while its thread holds any lock. `put` acquires no
        # Python lock.
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
    """Forget the parent's jobs in a forked child, which has none of their threads."""
    global _coordinators_lock
    _coordinators.clear()
    _coordinators_lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def local_coordinator(name: str, open_workers: OpenWorkers) -> Coordinator:
    """Return the coordinator with this name in this process."""
    with _coordinators_lock:
        if name not in _coordinators:
            _coordinators[name] = Coordinator(name, open_workers)
        return _coordinators[name]
