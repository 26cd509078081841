"""A function as worker processes are given it."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Callable
from typing import Any, Literal

from penstock import _core
from penstock.arity import is_coroutine_function
from penstock.ops.native import NativeFunction
from penstock.workers.arrays import SharedArrays, dumps, mapped, shared
from penstock.workers.objects import advice

Executor = Literal["thread", "process"]


class ProcessFunction:
    """A function that worker processes call, and the calling process where it debugs.

    Parameters
    ----------
    stage : str
        For errors.
    function : callable
        It is pickled now: what it refers to is copied, large arrays once for all workers.
    timeout : float
        Seconds that one call may take; 0 is any time.
    """

    def __init__(self, stage: str, function: Callable[..., Any], timeout: float) -> None:
        if _serving:
            raise RuntimeError(
                f"{stage}: executor='process' was asked for by a worker process, which has none of "
                f"its own; {_IN_MAIN if _importing else _IN_FUNCTION}"
            )
        self.__wrapped__ = function
        self._payload, self._arrays = _payload(stage, function)
        self._stage = stage
        self._timeout = timeout

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in this process."""
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessFunction, (self._stage, self.__wrapped__, self._timeout)

    def encoded(self) -> _core.ProcessFunction:
        """Return it as the engine takes it."""
        _core.set_worker_command(_command())
        file = self._arrays.file if self._arrays else -1
        return _core.ProcessFunction(self._payload, self.__wrapped__, self._timeout, file)


def executed(
    stage: str, function: Callable[..., Any], executor: str, timeout: float | None
) -> Callable[..., Any]:
    """Return `function` as the executor of this name calls it.

    Parameters
    ----------
    stage, function
        Errors name the stage.
    executor : "thread" or "process"
        Who calls it.
    timeout : float, optional
        Seconds that one call in a worker process may take; None is any time.

    Returns
    -------
    callable
        The function itself for threads, and for native functions, which need no process.

    Raises
    ------
    ValueError
        If `timeout` is not positive, or given for threads.
    TypeError
        If the function cannot be pickled, or is a coroutine function.
    """
    if timeout is not None and (executor == "thread" or timeout <= 0):
        raise ValueError(
            f"{stage}: worker_timeout must be a number of seconds > 0, and is for "
            f"executor='process', got {timeout!r} with {executor!r}"
        )
    if executor == "thread" or isinstance(function, NativeFunction):
        return function
    if is_coroutine_function(function):
        raise TypeError(
            f"{stage}: a coroutine function runs on the event loop of this process; leave "
            "executor='process' out"
        )
    return ProcessFunction(stage, function, timeout or 0)


def load(payload: bytes, file: int) -> Callable[..., Any]:
    """Return the function of a payload and the file of its arrays, in a worker process."""
    global _importing
    path, main, spans, pickled = pickle.loads(payload)
    buffers = mapped(file, spans)
    sys.path[:] = path + [each for each in sys.path if each not in path]
    if main is not None and "__mp_main__" not in sys.modules:
        from multiprocessing import spawn

        _importing = True
        try:
            spawn.prepare({"init_main_from_path": main})
        finally:
            _importing = False
    function: Callable[..., Any] = pickle.loads(pickled, buffers=buffers)
    return function


def serve() -> None:
    """Be a worker process until the process that has started this one ends."""
    global _serving
    _serving = True
    _core.serve(load)


_IN_MAIN = (
    "it imports the main module: put what starts the pipeline under "
    "`if __name__ == '__main__':`, or install cloudpickle"
)
_IN_FUNCTION = "use executor='thread' in functions that workers call"
_serving = False  # whether this is a worker process
_importing = False  # whether it imports the main module now


def _payload(stage: str, function: Callable[..., Any]) -> tuple[bytes, SharedArrays | None]:
    """Return what `load` makes the function of."""
    try:
        pickled, large = dumps(function)
    except Exception as error:
        raise TypeError(
            f"{stage}: executor='process' sends the function to other processes, and {function!r} "
            f"cannot be pickled ({type(error).__name__}: {error}); {advice()}"
        ) from error
    # Without cloudpickle what is of the main module is found by importing it.
    alone = importlib.util.find_spec("cloudpickle") is None
    main = getattr(sys.modules["__main__"], "__file__", None) if alone else None
    arrays = shared(large)
    return pickle.dumps((sys.path, main, arrays.spans if arrays else (), pickled)), arrays


def _command() -> list[str]:
    """Return how a worker process is started."""
    import subprocess

    program = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        "from penstock.workers.process_function import serve; serve()"
    )
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *options, "-c", program]
