"""A stage's function in the form sent to worker processes."""

from __future__ import annotations

import functools
import math
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

from penstock import _core
from penstock.arity import is_coroutine_function
from penstock.executors import ExecutedFunction, Executor
from penstock.ops.native import NativeFunction
from penstock.workers.arrays import LARGE, SharedArrays, mapped, shared
from penstock.workers.by_value import advice, cloudpickle
from penstock.workers.main_module import file_for_workers, importing, use_file
from penstock.workers.parcels import packed_by_value, unpacked
from penstock.workers.setup import Setup, set_up, setup_of, tear_down
from penstock.workers.starting import command

_NO_SETUP = Setup()


class ProcessFunction(ExecutedFunction):
    """A function that worker processes call; while debugging, the calling process does.

    Parameters
    ----------
    stage : str
        Name of the public method, for errors.
    function : callable
        The function. It is pickled now, including everything that it refers to; large arrays are
        copied once for all workers.
    timeout : float
        Maximum duration of a call in seconds; 0 for no limit.
    setup : Setup
        Functions that each worker calls once.
    """

    def __init__(
        self, stage: str, function: Callable[..., Any], timeout: float, setup: Setup = _NO_SETUP
    ) -> None:
        super().__init__(function, "process", timeout)
        self._payload, self._arrays = sent(stage, function, setup=setup)
        self._stage = stage
        self._setup = setup

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessFunction, (self._stage, self.__wrapped__, self._timeout, self._setup)

    def encoded(self) -> _core.ProcessFunction:
        """Return the function in the engine's form."""
        file = self._arrays.file if self._arrays else -1
        here = after_setup(self._setup, self.__wrapped__)
        return _core.ProcessFunction(self._payload, here, self._timeout, file)


def executed(
    stage: str,
    function: Callable[..., Any],
    executor: Executor | None,
    timeout: float | None,
    init: Callable[[], object] | None = None,
    teardown: Callable[[], object] | None = None,
) -> Callable[..., Any]:
    """Return `function` wrapped for the given executor.

    Parameters
    ----------
    stage : str
        Name of the public method, for errors.
    function : callable
        The function.
    executor : "thread", "process" or "auto", optional
        What calls the function; None: as set in the options of the run.
    timeout : float, optional
        Maximum duration of a call in a worker process, in seconds; None for no limit.
    init, teardown : callable, optional
        Called once by each worker process: before its first call, and when it exits.

    Returns
    -------
    callable
        The wrapped function. Without an executor and timeout, and for native functions, which need
        no processes, the function itself.

    Raises
    ------
    ValueError
        If `timeout` is not positive, or is passed for threads; if `init` or `teardown` is passed
        without worker processes.
    TypeError
        If the function cannot be pickled, or is a coroutine function.
    """
    if timeout is not None and (executor == "thread" or timeout <= 0):
        raise ValueError(
            f"{stage}: worker_timeout must be a number of seconds > 0, and is for "
            f"executor='process', got {timeout!r} with {executor!r}"
        )
    native = isinstance(function, NativeFunction)
    setup = setup_of(stage, executor, init, teardown, native)
    if (executor is None and timeout is None) or native:
        return function
    if executor != "process":
        return ExecutedFunction(function, executor, timeout or 0)
    if is_coroutine_function(function):
        raise TypeError(
            f"{stage}: a coroutine function runs on the event loop of this process; leave "
            "executor='process' out"
        )
    return ProcessFunction(stage, function, timeout or 0, setup)


def sent(
    stage: str, function: Callable[..., Any], shares: bool = True, setup: Setup = _NO_SETUP
) -> tuple[bytes, SharedArrays | None]:
    """Return a function in the form sent to worker processes, and set the command to start them.

    Parameters
    ----------
    stage : str
        Name of the public method, for errors.
    function : callable
        The function.
    shares : bool
        Whether large arrays may be separate from the bytes.
    setup : Setup
        Functions that each worker calls once, before it unpickles the function.

    Returns
    -------
    tuple
        The bytes, and the shared copies of its large arrays (None if there are none).

    Raises
    ------
    RuntimeError
        If called in a worker process, which cannot have workers.
    TypeError
        If the function cannot be pickled.
    """
    refuse_in_worker(stage, "executor='process'")
    setup.check(stage)
    try:
        shares = shares and hasattr(os, "memfd_create")
        # Pickled together, so that functions sent by value share their global variables.
        sent_together = (function, *setup) if setup != _NO_SETUP else function
        pickled, *large = packed_by_value(sent_together, LARGE if shares else math.inf)
    except Exception as error:
        what = "the loader" if stage == "prefetch" else "the function"
        shown = function  # the engine adds the arguments of a generator, which may be empty
        if isinstance(function, functools.partial) and not (function.args or function.keywords):
            shown = function.func
        raise TypeError(
            f"{stage}: executor='process' sends {what} to other processes, and {shown!r} "
            f"cannot be pickled ({type(error).__name__}: {error}); {advice()}"
        ) from error
    arrays = shared(large)
    spans = arrays.spans if arrays else ()
    payload = pickle.dumps(
        (*surroundings(), _core.global_seed(), setup != _NO_SETUP, spans, bytes(pickled))
    )
    _core.set_worker_command(command(__name__))
    return payload, arrays


def after_setup(setup: Setup, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` for a debugging process, which calls the setup functions first."""
    if setup == _NO_SETUP:
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        setup.here()
        return function(*args, **kwargs)

    return called


def load(payload: bytes, file: int) -> Callable[..., Any]:
    """Return the function of a payload and the file of its arrays, in a worker process."""
    path, main, seed, has_setup, spans, pickled = pickle.loads(payload)
    # In penstock.compat, explicit seeds depend on the global seed.
    if seed is None:
        _core.clear_seed()
    else:
        _core.set_seed(seed)
    if payload in _set_up:
        return _set_up[payload]
    buffers = mapped(file, spans)
    enter(path, main)
    loaded = unpacked([pickled, *buffers])
    function: Callable[..., Any] = loaded
    if has_setup:
        function, *setup = loaded
        set_up(Setup(*setup))
        if not spans:
            _set_up[payload] = function
    return function


def refuse_in_worker(stage: str, asked: str) -> None:
    """Raise RuntimeError in a worker process, which cannot have workers."""
    if _serving:
        raise RuntimeError(
            f"{stage}: {asked} was asked for by a worker process, which has none of its own; "
            f"{_IN_MAIN if importing() else _IN_FUNCTION}"
        )


def surroundings() -> tuple[list[str], str | None]:
    """Return the information that a worker needs to unpickle objects by name."""
    # Without cloudpickle, workers import the main module when a pickle refers to it.
    return sys.path, file_for_workers() if cloudpickle() is None else None


def enter(path: list[str], main: str | None) -> None:
    """Apply the `surroundings` of another process, so that this worker can import its modules."""
    sys.path[:] = path + [each for each in sys.path if each not in path]
    use_file(main)


def serve() -> None:
    """Run as a worker process until the parent process ends."""
    begin_to_serve()
    _core.serve(load)
    tear_down()
    os._exit(0)  # also ends threads that functions have started


def begin_to_serve() -> None:
    """Record that this is a worker process."""
    global _serving
    _serving = True


_IN_MAIN = (
    "it imports the main module: put what starts the pipeline under "
    "`if __name__ == '__main__':`, or install cloudpickle"
)
_IN_FUNCTION = "use executor='thread' in functions that workers call"
# In a worker: functions that were already set up, except those with separate arrays.
_set_up: dict[bytes, Callable[..., Any]] = {}
_serving = False  # whether this is a worker process
