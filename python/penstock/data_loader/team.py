"""The worker processes of a loader: starting, preparing, replacing and keeping them."""

from __future__ import annotations

import os
from typing import Any

from penstock.closing import Finalizing, finalizing
from penstock.data_loader.arguments import start_method
from penstock.data_loader.in_worker import LoaderInWorker, Preparation
from penstock.data_loader.settings import Settings
from penstock.workers.answering import STARTING, AnsweringProcess, ObjectFile, take
from penstock.workers.by_value import advice
from penstock.workers.parcels import packed_by_value
from penstock.workers.process_function import refuse_in_worker


class Member:
    """A worker of a team, independent of the process that currently runs it.

    Attributes
    ----------
    process : AnsweringProcess
        The current process.
    used : bool
        Whether the process is reused and has not yet received the loader. It may have ended
        earlier.
    posted : int
        Number of the latest request sent to it; -1 if there was none.
    fit : bool
        Whether the process could be prepared with what it received.
    """

    def __init__(self, process: AnsweringProcess, used: bool) -> None:
        self.process = process
        self.used = used
        self.posted = -1
        self.fit = True


class Team:
    """The workers of a loader.

    Parameters
    ----------
    loader : Settings
        The loader.

    Attributes
    ----------
    members : list of Member
        The workers, by number.

    Raises
    ------
    TypeError
        If the loader's dataset or functions cannot be pickled.
    RuntimeError
        If called in a worker process.
    """

    def __init__(self, loader: Settings) -> None:
        refuse_in_worker("DataLoader", "worker_method='process'")
        self._file = ObjectFile(_pickled(loader))
        self._workers = loader.num_workers
        self._keeps = loader.persistent_workers
        self._spawns = start_method(loader.multiprocessing_context) == "spawn"
        self._patience = loader.timeout or STARTING  # to wait for a batch of the previous epoch
        self._free = False
        self._owner = os.getpid()  # a forked child cannot use its workers
        self.members: list[Member] = []
        self._base_seed = 0

    def take(self, workers: int) -> bool:
        """Return whether this many workers are kept from the previous epoch and are free."""
        free, self._free = self._free, False
        return free and workers == self._workers and os.getpid() == self._owner

    def begin(self, base_seed: int) -> None:
        """Begin an epoch; workers kept from the previous epoch continue unchanged."""
        if self.members:
            for number, member in enumerate(self.members):
                member.process.renew()
                member.posted = -1
                if not member.process.finishes(self._patience):
                    self.replace(number)
            return
        self._base_seed = base_seed
        for number in range(self._workers):
            self.members.append(self._member(number, *take(self._spawns)))

    def replace(self, number: int) -> None:
        """Let a new process take over a worker's number."""
        self.members[number].process.kill()
        self.members[number] = self._member(number, AnsweringProcess(self._spawns), False)

    def end(self) -> None:
        """End an epoch."""
        if self._keeps and all(member.fit for member in self.members):
            self._free = True
            return
        self.disband()

    def disband(self) -> None:
        """Release the processes for other uses."""
        members, self.members, self._free = self.members, [], False
        for member in members:
            if member.fit:
                member.process.give_back()
            else:
                member.process.kill()
        self._file.close()

    def __del__(self, ends: Finalizing = finalizing) -> None:
        if getattr(self, "members", None) and not ends():
            self.disband()

    def _member(self, number: int, process: AnsweringProcess, used: bool) -> Member:
        process.load(self._file, Preparation(number, self._workers, self._base_seed))
        return Member(process, used)


def _pickled(loader: Settings) -> list[Any]:
    try:
        return packed_by_value(LoaderInWorker(loader))
    except Exception as error:
        for name in ("dataset", "collate_fn", "worker_init_fn"):
            value = getattr(loader, name)
            try:
                packed_by_value(value)
            except Exception as fault:
                raise TypeError(
                    f"DataLoader: worker_method='process' sends {name} to other processes, and "
                    f"{value!r:.200} cannot be pickled ({type(fault).__name__}: {fault}); "
                    f"{advice()}"
                ) from fault
        raise error
