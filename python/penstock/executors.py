"""Executors of functions: threads, worker processes, or an automatic choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from penstock import _core

Executor = Literal["thread", "process", "auto"]
EXECUTORS = ("thread", "process", "auto")


class ExecutedFunction:
    """A function with an executor.

    Parameters
    ----------
    function : callable
        The function.
    executor : "thread", "process" or "auto", optional
        None uses the options of the run; only the timeout is then set here.
    timeout : float
        Maximum seconds for a call in a worker process; 0 means no limit.
    """

    def __init__(
        self, function: Callable[..., Any], executor: Executor | None, timeout: float
    ) -> None:
        self.__wrapped__ = function
        self.executor = executor
        self._timeout = timeout

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in this process."""
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def encoded(self) -> _core.ExecutedFunction | _core.ProcessFunction:
        """Return the function for the engine."""
        return _core.ExecutedFunction(self.__wrapped__, self.executor or "", self._timeout)


def processors() -> float:
    """Return the number of CPUs available to this process, a fraction if there is a quota."""
    cpu = _core.cpu_info()
    quota = cpu["quota"]
    return min(quota, float(cpu["effective"])) if quota > 0 else float(cpu["effective"])
