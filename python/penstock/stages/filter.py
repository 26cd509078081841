"""Which elements stay, as a function says: filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.executors import Executor
from penstock.on_error import MAX_ERRORS, OnError, retrying
from penstock.plan import Plan
from penstock.stages.arguments import check_callable
from penstock.workers.process_function import executed

_D = TypeVar("_D", bound="Filter")


@checked_methods
class Filter(Plan):
    """Mixin: elements that a function keeps."""

    __slots__ = ()

    def filter(
        self: _D,
        predicate: Callable[..., Any],
        name: str | None = None,
        *,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        executor: Executor | None = None,
        worker_timeout: float | None = None,
        worker_init: Callable[[], object] | None = None,
        worker_teardown: Callable[[], object] | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        max_retries: int | None = None,
    ) -> _D:
        """Keep the elements for which `predicate` returns True.

        Parameters
        ----------
        predicate : callable
            Takes the element as `map` does; returns one bool. Or a coroutine function: see
            :doc:`/guides/coroutines`.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        num_parallel_calls : int, optional
            Calls of `predicate` at a time, each on its own thread; AUTOTUNE (-1) chooses. None
            calls in the thread that asks. Of coroutines, any number are in progress on one thread;
            AUTOTUNE is 100. The elements are the same.
        deterministic : bool, optional
            With `num_parallel_calls`: whether elements come in order; False gives those first whose
            calls have ended. None is True, whatever `Options` say.
        executor : "thread", "process" or "auto", optional
            Who calls `predicate`: threads of this process, or worker processes, for functions that
            hold the GIL: see :doc:`/guides/python_functions`. "auto" begins with threads and
            measures. None takes it from `Options` ("thread" by default).
        worker_timeout : float, optional
            Seconds that a call in a worker process may take before the worker is ended; None is any
            time.
        worker_init : callable, optional
            With ``executor="process"``: called without arguments once in each worker process,
            before its first call for this stage. See :doc:`/guides/python_functions`.
        worker_teardown : callable, optional
            With ``executor="process"``: called without arguments when a worker process that was
            set up ends, unless it is killed.
        on_error : "raise", "skip", "log", "retry" or callable
            What to do with an element that fails here or earlier: see :doc:`/guides/errors`.
        max_errors : int, optional
            The most errors in a row to leave out, >= 1; None means any number.
        max_retries : int, optional
            How often a call that fails is made again, before `on_error` is asked; None is 3 for
            "retry", and 0 otherwise.

        Returns
        -------
        Dataset
            The elements that were kept; how many is unknown beforehand.

        Raises
        ------
        TypeError
            If `predicate` is not callable; while iterating, if it returns anything but one bool
            (a number is not one: write ``x != 0``).
        ValueError
            If `worker_init` or `worker_teardown` is given without ``executor="process"``.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(6).filter(lambda x: x % 3 == 0)]
        [0, 3]
        """
        check_callable("filter", "predicate", predicate)
        predicate = executed(
            "filter", predicate, executor, worker_timeout, worker_init, worker_teardown
        )
        retries = retrying("filter", on_error, max_retries)
        if num_parallel_calls is None:
            kept = self._then("filter", predicate=predicate, name=name, **retries)
        else:
            kept = self._then(
                "parallel_filter",
                predicate=predicate,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
                name=name,
                **retries,
            )
        return kept._without_errors("filter", on_error, max_errors)
