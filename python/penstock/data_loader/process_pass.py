"""An epoch of a DataLoader with worker processes."""

from __future__ import annotations

import copy
import itertools
import select
import time
import weakref
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from penstock.closing import Finalizing, finalizing
from penstock.data_loader import torch_rules
from penstock.data_loader.fetching import shown
from penstock.data_loader.in_worker import Made, Opening
from penstock.data_loader.orders import (
    END,
    Failed,
    KnownOrder,
    base_seed_of,
    begin_reading,
)
from penstock.data_loader.passes import Pass, inputs_of, numbers_of
from penstock.data_loader.position import Kept, Position, Reached, kept
from penstock.data_loader.settings import Settings
from penstock.data_loader.team import Team
from penstock.data_loader.workers import too_late
from penstock.errors import StateError, WorkerError
from penstock.stream_states import keeps_state
from penstock.workers.answering import Failure
from penstock.workers.objects import unpickled_error

# Maximum of open requests to a worker: its socket has room for their answers.
_MOST_AHEAD = 64


class _Asked(NamedTuple):
    """A request whose batch was not delivered yet."""

    worker: int
    what: Any  # the indices, or None for the next batch of an iterable dataset


class ProcessPass(Pass):
    """An epoch whose batches are made in advance by worker processes.

    An interruption between two steps is safe: requests and answers are numbered, and a duplicate
    counts once.
    """

    def __init__(self, loader: Settings, position: Position, team: Team) -> None:
        super().__init__(loader, position)
        self._team = team
        self._members = team.members
        self._ahead = loader.num_workers * min(loader.prefetch_factor or 1, _MOST_AHEAD)
        self._timeout = loader.timeout
        self._persistent = loader.persistent_workers
        self._in_order = loader.in_order or loader.num_workers == 1
        self._pins = torch_rules.pins(loader.pin_memory)
        self._asked: dict[int, _Asked] = {}  # by number, in request order
        self._answers: dict[int, Made] = {}
        self._upcoming: list[Any] = []  # at most one: drawn but not yet requested
        self._all_drawn = False
        self._ended: set[int] = set()  # workers that have read their whole dataset
        self._iterable = loader._iterable
        self._opened: set[int] = set()  # workers that have replied to their Opening
        self._order = None
        if self._iterable:
            drawn = begin_reading(loader, position.goes_on)
            base_seed = base_seed_of(drawn, position.reached.dataset_state or {})
            loader._draws.keep(base_seed, loader.persistent_workers)
            self._source: Iterator[Any] = itertools.count()
        else:
            inputs = inputs_of(loader, position)
            base_seed = position.order.state["base_seed"]
            self._order = position.order if isinstance(position.order, KnownOrder) else None
            self._source = inputs if self._order is None else numbers_of(position)
        # Progress of the workers' copies, if they need a position to start from.
        self._copies = None
        self._turn = 0
        this = weakref.ref(self)
        self._settle_if_used = lambda: None if (one := this()) is None else one._settle()
        if self._iterable or keeps_state(loader.dataset):
            self._copies = _Copies(loader, position, base_seed)
            self._turn = self._copies.turn
            self._ended = self._copies.ended()
            position.opened(self._copies.state())
            position.settle = self._settle
        team.begin(base_seed)
        self._ask_ahead(self._ahead)

    @property
    def _buffered(self) -> int:
        """Number of batches that are ready now."""
        return len(self._answers)

    @property
    def _pids(self) -> list[int]:
        """Process IDs of the workers."""
        pids = (getattr(member.process, "pid", None) for member in self._members)
        return [pid for pid in pids if pid is not None]

    def __next__(self) -> Any:
        if self._cut:
            raise StopIteration
        began = time.perf_counter()
        try:
            due = self._due()
        except RuntimeError:
            if not self._cut:  # a timeout: the caller may wait for the batch again
                raise
            self.close()
            raise
        if due is None:
            if self._copies is not None and self._persistent:
                self._position.final = self._copies.final
            self._position.finish()
            self.close()
            raise StopIteration
        position = self._position
        batch, error, reached, copies = self._result(due)
        if reached.low > self._most:
            self._warn_of_length()
        self._counts.worked(self._answers[due].seconds)
        self._counts.came(began, failed=error is not None)
        # The loader refers to the position, which refers to this pass until the state before the
        # first batch is known. After that, an abandoned pass and its workers must not be kept
        # alive.
        if position.settle is not None:
            position.settle = self._settle_if_used
        # No signal may be handled between here and the return to the caller.
        position.reached = reached
        self._copies = copies
        del self._asked[due], self._answers[due]
        if error is None:
            return batch
        try:
            raise error
        finally:
            del error, batch  # the exception refers to this frame

    def close(self) -> None:
        """End the epoch: no more batches are returned."""
        self._cut = True
        self._asked, self._answers, self._upcoming = {}, {}, []
        team, self._members = self._team, []
        if team is not None:
            self._team = None  # type: ignore[assignment]
            team.end()

    def __del__(self, ends: Finalizing = finalizing) -> None:
        if getattr(self, "_team", None) is not None and not ends():
            with suppress(Exception):
                self.close()

    def _result(self, number: int) -> tuple[Any, BaseException | None, Reached, _Copies | None]:
        """Return a received batch or its error, and the progress after it."""
        position, copies, made = self._position, self._copies, self._answers[number]
        error = None if made.failure is None else _error_of(made.failure)
        if made.last and error is not None:
            self.close()
            raise error
        batch = made.batch
        if error is None and self._pins:
            batch = torch_rules.pinned(batch)
        if self._iterable:
            number, asked = position.reached.low, number
        else:
            asked = number
        reached = position.after(number, None, failed=made.unread)
        if copies is not None:
            copies = copies.after(self._asked[asked].worker, made)
            reached = reached._replace(dataset_state=copies.state())
        return batch, error, reached, copies

    def _due(self) -> int | None:
        """Return the number of the next batch once it is received, None at the end."""
        deadline = time.monotonic() + self._timeout
        while True:
            self._ask_ahead(self._ahead)
            if not self._asked:
                return None
            number = next(iter(self._asked)) if self._in_order else self._any_there()
            if number is None or number not in self._answers:
                self._wait(None if number is None else self._asked[number].worker, deadline)
            elif (made := self._answers[number]).last and made.failure is None:
                worker = self._asked[number].worker
                self._ended.add(worker)
                self._note(worker, made.dataset_state)
                del self._asked[number], self._answers[number]
            else:
                # The batch to be returned no longer counts as loaded in advance.
                self._ask_ahead(self._ahead + 1)
                return number

    def _any_there(self) -> int | None:
        return next((number for number in self._asked if number in self._answers), None)

    def _ask_ahead(self, most: int) -> None:
        while len(self._asked) < most and not self._all_drawn and self._draw():
            pass
        for number, (worker, what) in self._asked.items():
            member = self._members[worker]
            if number > member.posted and number not in self._answers:
                self._prepare(worker)
                member.process.ask(number + 1, what)
                member.posted = number

    def _draw(self) -> bool:
        """Queue one more request; return False at the end."""
        if not self._upcoming:
            self._pull_upcoming()
        if not self._upcoming:
            if self._order is None and not self._all_drawn:
                error = self._ended_by_an_interrupt()
                self._cut = True
                raise error
            return False
        upcoming = self._upcoming[0]
        if upcoming is END:
            self._all_drawn = True
        elif self._iterable:
            worker = self._worker_in_turn(upcoming)
            if worker is None:
                return False
            self._asked[upcoming] = _Asked(worker, None)
            self._turn = worker + 1
        else:
            number, what = (
                (upcoming, self._order[upcoming]) if self._order is not None else upcoming[:2]
            )
            if type(what) is Failed:
                self._answers[number] = Made(failure=what.error, unread=True)
            self._asked[number] = _Asked(self._worker_of(number), what)
        self._upcoming = []
        return not self._all_drawn

    def _pull_upcoming(self) -> None:
        """Take the next item, if any. An interruption leaves it either taken or not yet drawn."""
        self._upcoming.extend(itertools.islice(self._source, 1))
        if not self._upcoming and self._order is not None:
            self._all_drawn = True

    def _worker_of(self, number: int) -> int:
        """Return the worker that makes the batch of some indices."""
        if self._in_order:
            return number % len(self._members)
        return self._least_busy(range(len(self._members)), number)

    def _worker_in_turn(self, number: int) -> int | None:
        """Return the worker that makes the next batch, None if all have read everything."""
        if number in self._asked:
            return self._asked[number].worker
        count = len(self._members)
        turns = ((self._turn + i) % count for i in range(count))
        reading = [worker for worker in turns if worker not in self._ended]
        if not reading:
            return None
        return reading[0] if self._in_order else self._least_busy(reading, self._turn)

    def _least_busy(self, among: Collection[int], first: int) -> int:
        """Return the worker with the fewest open requests; ties go to the next one from `first`."""
        count = len(self._members)
        waiting = [0] * count
        for number, asked in self._asked.items():
            waiting[asked.worker] += number not in self._answers
        return min(among, key=lambda worker: (waiting[worker], (worker - first) % count))

    def _prepare(self, worker: int) -> None:
        """Open a worker's copy of the dataset, before its first request."""
        member = self._members[worker]
        if self._copies is not None and member.posted < 0:
            member.process.ask(0, self._copies.opening(worker))

    def _settle(self) -> None:
        """Wait until all workers have opened their copies, so that their states are known."""
        deadline = time.monotonic() + self._timeout
        for worker, member in enumerate(self._members):
            # A worker that died and was replaced has no state yet.
            while worker not in self._opened and self._members[worker] is member:
                self._prepare(worker)
                self._wait(worker, deadline)

    def _note(self, worker: int, state: Kept | None) -> None:
        """Record the state of a worker's copy that arrived without a batch."""
        if self._copies is not None:
            self._copies = self._copies.noted(worker, state)
            self._position.opened(self._copies.state())

    def _wait(self, worker: int | None, deadline: float) -> None:
        """Wait for one worker, or for any of them, and receive its answer."""
        poll = select.poll()
        among = range(len(self._members)) if worker is None else [worker]
        numbers = {}
        for each in among:
            if self._members[each].process.answers:  # an interruption came before it was stored
                self._receive(each)
                return
            file = self._members[each].process.fileno()
            numbers[file] = each
            poll.register(file, select.POLLIN)
        left = max(deadline - time.monotonic(), 0) * 1000 if self._timeout > 0 else None
        ready = poll.poll(left)
        if not ready:
            raise too_late(self._timeout, self._position.reached.low)
        for file, _ in ready:
            self._receive(numbers[file])

    def _receive(self, worker: int) -> None:
        member = self._members[worker]
        came = member.process.receive()
        if came is None:
            self._has_ended(worker)
            return
        number, answer = came[0] - 1, came[1]  # number 0 was the Opening
        if type(answer) is Failure:
            member.fit = member.fit and not answer.unprepared
            answer = Made(failure=answer.pickled)
        member.used = member.used and number < -2  # an answer to an earlier request
        if type(answer) is Made and answer.opened and number == -1:
            if worker not in self._opened:
                self._note(worker, answer.dataset_state)
        elif number in self._asked:
            self._answers[number] = answer
        if number >= -1:
            self._opened.add(worker)
        member.process.received()

    def _has_ended(self, worker: int) -> None:
        """Replace a worker that has died; its current batch becomes an error."""
        member = self._members[worker]
        had = next(
            (n for n, asked in self._asked.items() if asked.worker == worker and self._is_open(n)),
            None,
        )
        if not member.used and had is not None and had <= member.posted:
            what = self._asked[had].what
            batch = "its next batch" if self._iterable else f"batch {had}"
            of = "" if what is None else f", of dataset[i] for i in {_indices(what)}"
            error = WorkerError(
                f"DataLoader worker (pid {member.process.pid}) "
                f"{member.process.how_it_ended()} while it made {batch}{of}"
            )
            # The worker's position in an iterable dataset is lost.
            self._answers[had] = Made(failure=error, last=self._iterable)
        self._team.replace(worker)

    def _is_open(self, number: int) -> bool:
        return number not in self._answers


class _Copies:
    """Progress of each worker in its copy of the dataset, and the states of the copies.

    Parameters
    ----------
    loader : Settings
        The loader.
    position : Position
        The position at which the epoch begins.
    base_seed : int
        Seed from which the seeds of all workers derive.

    Attributes
    ----------
    turn : int
        The worker that makes the next batch of an iterable dataset.
    """

    def __init__(self, loader: Settings, position: Position, base_seed: int) -> None:
        low, _, saved, _ = position.reached
        count = loader.num_workers
        given = (saved or {}).get("workers")
        apart = loader._iterable or (saved or {}).get("dataset_state") is not None
        if (given is not None and len(given) != count) or (given is None and low and apart):
            what = "threads" if given is None else f"{len(given)}"
            raise StateError(
                f"DataLoader: a state of {count} worker processes was expected, got one of {what}: "
                "each has its own copy of the dataset; pass the same num_workers and worker_method",
                [f"DataLoader: {count} worker processes, the state is of {what}"],
            )
        begun = {"batches": 0, "failed": [], **kept((saved or {}).get("dataset_state"))}
        self._each: list[dict[str, Any]] = [{**begun, **one} for one in given or [{}] * count]
        self._goes_on = position.goes_on
        self._base_seed = base_seed
        self.turn: int = (saved or {}).get("turn", 0)

    def opening(self, worker: int) -> Opening:
        """Return the position at which a worker starts reading."""
        one = self._each[worker]
        state = {name: one[name] for name in kept()}
        return Opening(one["batches"], tuple(one["failed"]), state, self._goes_on)

    def ended(self) -> set[int]:
        """Return the workers that had finished reading when the state was saved."""
        states = enumerate(one["fetcher_state"] or {} for one in self._each)
        return {i for i, state in states if self._goes_on and state.get("fetcher_ended")}

    def after(self, worker: int, made: Made) -> _Copies:
        """Return a copy advanced by one batch of a worker, or by the error in its place."""
        one = self._each[worker]
        number = one["batches"]
        failed = [*one["failed"], number] if made.unread else one["failed"]
        turn = (worker + 1) % len(self._each)
        return self._with(
            worker, {"batches": number + 1, "failed": failed, **(made.dataset_state or {})}, turn
        )

    def noted(self, worker: int, state: Kept | None) -> _Copies:
        """Return a copy in which the state of one worker is replaced."""
        return self._with(worker, state or {}, self.turn)

    def state(self) -> dict[str, Any] | None:
        """Return the state from which a later epoch continues."""
        return {"workers": self._each, "turn": self.turn, "base_seed": self._base_seed}

    def final(self) -> dict[str, Any] | None:
        """Return the states for the next epoch of persistent workers; None if there are none."""
        each = [{name: one[name] for name in kept()} for one in self._each]
        fetched = [(one["fetcher_state"] or {}).get("dataset_iter_state") for one in each]
        if all(one["dataset_state"] is None for one in each) and fetched == [None] * len(each):
            return None
        return {"workers": [{"batches": 0, "failed": [], **one} for one in each], "turn": 0}

    def _with(self, worker: int, changes: dict[str, Any], turn: int) -> _Copies:
        later = copy.copy(self)
        later._each = list(self._each)
        later._each[worker] = {**self._each[worker], **changes}
        later.turn = turn
        return later


def _error_of(failure: Any) -> BaseException:
    return failure if isinstance(failure, BaseException) else unpickled_error(failure)


def _indices(what: Any) -> str:
    try:
        return shown(what)
    except TypeError:
        return f"[{what!r}]"
