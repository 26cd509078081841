"""Applying a function to each element: map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.executors import Executor
from penstock.on_error import MAX_ERRORS, OnError, retrying
from penstock.plan import Plan
from penstock.stages.arguments import check_callable
from penstock.workers.process_function import executed

_D = TypeVar("_D", bound="Map")

_P = TypeVar("_P", bound=Plan)


@checked_methods
class Map(Plan):
    """Mixin: mapping."""

    __slots__ = ()

    def map(
        self: _D,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
        *,
        output_signature: Any = None,
        executor: Executor | None = None,
        worker_timeout: float | None = None,
        worker_init: Callable[[], object] | None = None,
        worker_teardown: Callable[[], object] | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        max_retries: int | None = None,
    ) -> _D:
        """Apply `map_func` to each element.

        Parameters
        ----------
        map_func : callable
            Takes the element: the components of a tuple as separate arguments, anything else as one
            argument. Returns the new element (a list counts as a tuple). May be a coroutine
            function: see :doc:`/guides/coroutines`.
        num_parallel_calls : int, optional
            Maximum number of concurrent calls, each on its own thread; AUTOTUNE (-1) picks the
            number. None calls in the consumer's thread. Coroutines all run on one thread; for them
            AUTOTUNE is 100.
        deterministic : bool, optional
            Whether results are in order; None uses the setting in `Options` (True by default).
        synchronous : bool, optional
            True requires that nothing runs ahead; excludes `num_parallel_calls`.
        use_unbounded_threadpool : bool
            Accepted for compatibility with tf.data; calls have their own threads in any case.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        output_signature : nested TensorSpec, optional
            Results are converted to this and checked against it; `element_spec` is then known
            without a call.
        executor : "thread", "process" or "auto", optional
            Where the function runs: in threads of this process, or in worker processes, for
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
            The results, as many as there are elements.

        Raises
        ------
        TypeError
            If `map_func` is not callable; while iterating, if a result does not match
            `output_signature`.
        ValueError
            If `num_parallel_calls` is neither AUTOTUNE nor >= 1, or is combined with `synchronous`;
            if `worker_init` or `worker_teardown` is given without ``executor="process"``.

        Notes
        -----
        Errors: an exception of the function is raised unchanged at the element's position, with a
        note that names stage and element. The next element follows.

        Order and randomness: random penstock operations inside the function draw from the element's
        own key. `num_parallel_calls` therefore does not change results, nor their order unless
        `deterministic` is False.

        Speed: a plain Python function holds the GIL. Parallel calls help only where it sleeps,
        reads or calls code that releases the GIL, as NumPy and penstock operations do for large
        arrays.

        Examples
        --------
        >>> ds = ps.Dataset.range(4).map(lambda x: x + 1, num_parallel_calls=2)
        >>> [int(x) for x in ds]
        [1, 2, 3, 4]
        """
        check_callable("map", "map_func", map_func)
        map_func = executed("map", map_func, executor, worker_timeout, worker_init, worker_teardown)
        more: dict[str, Any] = {
            "output_signature": output_signature,
            **retrying("map", on_error, max_retries),
        }
        if num_parallel_calls is None:
            mapped = self._then("map", map_func=map_func, name=name, **more)
            return mapped._without_errors("map", on_error, max_errors)
        if synchronous:
            raise ValueError(
                "map: synchronous=True excludes num_parallel_calls; leave one of them out"
            )
        mapped = self._then(
            "parallel_map",
            map_func=map_func,
            num_parallel_calls=num_parallel_calls,
            deterministic=deterministic,
            name=name,
            **more,
        )
        return mapped._without_errors("map", on_error, max_errors)


def map_for(
    stage: str,
    plan: _P,
    function: Any,
    num_parallel_calls: int | None = None,
    *,
    deterministic: bool | None = None,
    name: str | None = None,
    **more: Any,
) -> _P:
    """Return a map that is called `stage` in errors, statistics and saved states."""
    args = {"map_func": function, "part_of": stage, "name": name, **more}
    if num_parallel_calls is None:
        return plan._then("map", **args)
    args |= {"num_parallel_calls": num_parallel_calls, "deterministic": deterministic}
    return plan._then("parallel_map", **args)
