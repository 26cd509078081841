"""Functions that each worker process calls once: before its first call, and at exit."""

from __future__ import annotations

import atexit
import os
import sys
import traceback
from collections.abc import Callable
from typing import NamedTuple

from penstock import _core
from penstock.workers.by_value import advice
from penstock.workers.parcels import packed_by_value


class Setup(NamedTuple):
    """The functions of a stage that its worker processes call once.

    Attributes
    ----------
    init : callable or None
        Called without arguments before the first call in a process.
    teardown : callable or None
        Called without arguments when the process ends.
    """

    init: Callable[[], object] | None = None
    teardown: Callable[[], object] | None = None

    def check(self, stage: str) -> None:
        """Raise TypeError if a function cannot be sent to worker processes."""
        for name, function in zip(("worker_init", "worker_teardown"), self, strict=True):
            try:
                packed_by_value(function, float("inf"))
            except Exception as error:
                raise TypeError(
                    f"{stage}: {name} is sent to worker processes, and {function!r} cannot be "
                    f"pickled ({type(error).__name__}: {error}); {advice()}"
                ) from error
        if self.teardown is not None:
            _end_workers_at_exit()

    def here(self) -> None:
        """Call `init` once in this process, while it debugs the stage."""
        if self not in _done_here:
            if self.init is not None:
                self.init()
            _done_here.append(self)
            if self.teardown is not None:
                atexit.register(self.teardown)


def setup_of(
    stage: str,
    executor: str | None,
    init: Callable[[], object] | None,
    teardown: Callable[[], object] | None,
    native: bool = False,
) -> Setup:
    """Return the functions after checking that the stage has worker processes.

    Raises
    ------
    ValueError
        If a function is given without ``executor="process"``, or for a native function.
    """
    for name, function in (("worker_init", init), ("worker_teardown", teardown)):
        if function is None:
            continue
        if native:
            raise ValueError(
                f"{stage}: {name} is for worker processes, and a native function runs in threads "
                f"of this process; remove {name}"
            )
        if executor != "process":
            raise ValueError(f"{stage}: {name} needs executor='process', got executor={executor!r}")
    return Setup(init, teardown)


def set_up(setup: Setup) -> None:
    """Call `init` in a worker process, unless it was called before.

    A function that was pickled by value is a new function each time. It has separate global
    variables, which it shares with the stage's function.
    """
    if setup in _done:
        return
    if setup.init is not None:
        setup.init()
    _done.append(setup)


def tear_down() -> None:
    """Call the teardown functions of this worker process, in reverse order of setup."""
    while _done:
        setup = _done.pop()
        if setup.teardown is None:
            continue
        try:
            setup.teardown()
        except Exception:
            traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue


def _end_workers_at_exit() -> None:
    """Register an exit hook that ends idle workers after their teardown functions."""
    global _ends_at_exit
    if _ends_at_exit != os.getpid():
        _ends_at_exit = os.getpid()
        atexit.register(_core.end_idle_workers)


_done: list[Setup] = []  # in a worker process
_done_here: list[Setup] = []  # in a debugging process
_ends_at_exit = 0  # the process that has registered the hook
