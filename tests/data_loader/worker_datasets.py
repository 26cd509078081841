"""Datasets that expose their worker: worker processes import this module."""

import os
import random
import signal
import sys
import threading
import time

import numpy as np

import penstock as ps


class Ones:
    """Rows that contain the number of the worker that made them."""

    def __init__(self, n=12):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i, ps.get_worker_info().id, os.getpid()


class OfFile:
    """Rows of a memory-mapped file, and whether the worker process maps it."""

    def __init__(self, file):
        self.file = str(file)
        self.rows = np.memmap(file, np.float32, "r").reshape(-1, 1000)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        with open("/proc/self/maps") as maps:  # noqa: PTH123
            return self.rows[i], self.file in maps.read(), os.getpid()


class Drawn(Ones):
    def __getitem__(self, i):
        drawn = random.random(), np.random.rand(), float(ps.random.uniform(()))
        return i, ps.get_worker_info().seed, *drawn


class Counted(Ones):
    """Rows with the number of rows that this copy has already returned."""

    given = 0

    def __getitem__(self, i):
        self.given += 1
        return i, self.given


class Large(Ones):
    """Rows of 120 kB."""

    def __getitem__(self, i):
        return {"x": np.full((200, 300), i, np.int16), "i": i, "kept": b"k" * i}


class Table(Ones):
    """Rows of an array that is in memory once; each copy may modify it."""

    def __init__(self):
        super().__init__(12)
        self.rows = np.arange(12 * 40_000).reshape(12, 40_000)

    def __getitem__(self, i):
        seen = int(self.rows[i, 0]), int(self.rows[0, 1])
        self.rows[0, 1] += 1
        return seen


class Stream:
    """A stream of numbers, complete in each worker."""

    def __init__(self, n=7):
        self.n = n

    def __iter__(self):
        for i in range(self.n):
            yield i, ps.get_worker_info().id


class Share(Stream):
    """A stream of each worker's shard of the numbers; shards differ in length."""

    def __iter__(self):
        info = ps.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from range(first, self.n, step)


class KeptShare(Share):
    """The same shards, with a state: the position, and the number of items read."""

    def __init__(self, n):
        super().__init__(n)
        self.at = self.position = None
        self.read = 0

    def __iter__(self):
        info = ps.get_worker_info()
        first, self.at = info.id if self.at is None else self.at, None
        for i in range(first, self.n, info.num_workers):
            self.position = i + info.num_workers
            self.read += 1
            yield i, self.read
        self.position = None  # the next pass starts from the beginning

    def state_dict(self):
        return {"at": self.position}

    def load_state_dict(self, state):
        self.at = state["at"]


class ResumedStream(Stream):
    """A stream whose state after the end means the end; a new iterator starts from the start."""

    def __init__(self, n):
        super().__init__(n)
        self.first = self.next = 0

    def __iter__(self):
        start, self.first = self.first, 0
        for i in range(start, self.n):
            self.next = i + 1
            yield i

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.first = self.next = state["next"]


class ResumedIterator:
    """The iterator of a stream, with a state."""

    def __init__(self, start, n):
        self.next, self.n = start, n

    def __iter__(self):
        return self

    def __next__(self):
        if self.next == self.n:
            raise StopIteration
        self.next += 1
        return self.next - 1

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]


class ResumedByBoth(ResumedStream):
    """A stream with a state, whose iterator has a separate state."""

    def __iter__(self):
        start, self.first, self.next = self.first, 0, self.n
        return ResumedIterator(start, self.n)


class Ends(Ones):
    """Rows of which one terminates the process."""

    def __init__(self, at, how):
        super().__init__(12)
        self.at, self.how = at, how

    def __getitem__(self, i):
        if i == self.at:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(7)
            raise SystemExit(3)
        return i


class EndsOnce(Share):
    """A stream whose first worker exits at a number, unless a file records that it already has."""

    def __init__(self, n, file):
        super().__init__(n)
        self.file = file

    def __iter__(self):
        for i in super().__iter__():
            if i == 4 and not self.file.exists():
                self.file.touch()
                os._exit(5)
            yield i


class Sleeps(Ones):
    """Rows of which one blocks until a file exists."""

    def __init__(self, n, at, file):
        super().__init__(n)
        self.at, self.file = at, file

    def __getitem__(self, i):
        while i == self.at and not self.file.exists():
            time.sleep(0.01)
        return i


class SleepingShare(Share):
    """Shards; worker 1 reads its shard only after a file exists."""

    def __init__(self, n, file):
        super().__init__(n)
        self.file = file

    def __iter__(self):
        while ps.get_worker_info().id == 1 and not self.file.exists():
            time.sleep(0.01)
        yield from super().__iter__()


class Opens(Ones):
    """Unpickling creates one file, then blocks until another one exists."""

    def __init__(self, n, begun, file):
        super().__init__(n)
        self.begun, self.file = begun, file

    def __setstate__(self, state):
        vars(self).update(state)
        self.begun.touch()
        while not self.file.exists():
            time.sleep(0.01)


class Started(Ones):
    """Rows that show how their process was started; an index in `ends` terminates it."""

    def __init__(self, n, ends=()):
        super().__init__(n)
        self.ends = ends

    def __getitem__(self, i):
        if i in self.ends:
            os._exit(3)
        return i, "penstock.workers.fork_server" in sys.modules, os.getpid()


class Locked(Ones):
    def __getitem__(self, i):
        return threading.Lock() if i == 1 else i


class Raises(Ones):
    def __getitem__(self, i):
        if i == 5:
            raise LookupError(f"row {i} is not there")
        return i


def note(number):
    """Act as worker_init_fn; its effect is visible in the rows of Noted."""
    info = ps.get_worker_info()
    assert info.id == number
    info.dataset.notes.append(number)


class Noted(Ones):
    def __init__(self):
        super().__init__(12)
        self.notes = []

    def __getitem__(self, i):
        return i, len(self.notes), self.notes[0]


def refuse(number):
    raise OSError(f"worker {number} is not ready")


class Nested(Ones):
    def __getitem__(self, i):
        return len(list(ps.DataLoader(range(4), num_workers=1, worker_method="process")))
