"""Who calls the functions of a stage: threads, worker processes, or what a run finds out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from penstock import _core

Executor = Literal["thread", "process", "auto"]
EXECUTORS = ("thread", "process", "auto")


class ExecutedFunction:
    """A function whose stage says who calls it.

    Parameters
    ----------
    function : callable
        The function.
    executor : "thread", "process" or "auto", optional
        None leaves it to the options of the run, and there is only a timeout.
    timeout : float
        Seconds that a call in a worker process may take; 0 is any time.
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
        """Return it as the engine takes it."""
        return _core.ExecutedFunction(self.__wrapped__, self.executor or "", self._timeout)


def processors() -> float:
    """Return the number of CPUs that this process may use; with a quota, it may be a fraction."""
    cpu = _core.cpu_info()
    quota = cpu["quota"]
    return min(quota, float(cpu["effective"])) if quota > 0 else float(cpu["effective"])
