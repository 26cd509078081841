"""Selection of elements by a predicate: filter."""

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
    """Mixin: filtering."""

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
            Takes the element as a `map` function does; returns one bool. May be a coroutine
            function: see :doc:`/guides/coroutines`.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        num_parallel_calls : int, optional
            Maximum number of concurrent calls of `predicate`, each on its own thread; AUTOTUNE (-1)
            picks the number. None calls it in the consumer's thread. Coroutines all run on one
            thread; for them AUTOTUNE is 100. The elements are the same in all cases.
        deterministic : bool, optional
            With `num_parallel_calls`: whether elements are yielded in order; False yields elements
            as their calls finish. None is True, whatever `Options` specifies.
        executor : "thread", "process" or "auto", optional
            Where `predicate` runs: in threads of this process, or in worker processes, for
            functions that hold the GIL; see :doc:`/guides/python_functions`. "auto" starts with
            threads and measures. None uses the setting in `Options` ("thread" by default).
        worker_timeout : float, optional
            Maximum time in seconds of a call in a worker process; after that the worker is killed.
            None means no limit.
        worker_init : callable, optional
            With ``executor="process"``: called without arguments once in each worker process,
            before its first call for this stage. See :doc:`/guides/python_functions`.
        worker_teardown : callable, optional
            With ``executor="process"``: called without arguments when a worker process that was
            initialized ends, unless it is killed.
        on_error : "raise", "skip", "log", "retry" or callable
            Action for an element that fails here or earlier; see :doc:`/guides/errors`.
        max_errors : int, optional
            Maximum number of consecutive errors to skip, >= 1; None means no limit.
        max_retries : int, optional
            Maximum number of times to retry a failed call before `on_error` applies; None is 3 for
            "retry", and 0 otherwise.

        Returns
        -------
        Dataset
            The elements for which `predicate` returned True; their number is not known in advance.

        Raises
        ------
        TypeError
            If `predicate` is not callable; while iterating, if it does not return one bool (a
            number does not count: write ``x != 0``).
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
