"""Datasets opened by a function of each element: flat_map, interleave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.arity import is_coroutine_function
from penstock.on_error import MAX_ERRORS, OnError
from penstock.plan import Plan
from penstock.stages.arguments import check_callable
from penstock.stages.map import map_for

_D = TypeVar("_D", bound="Interleave")

# Used for cycle_length=None: a constant, so that the order does not depend on the machine.
AUTOTUNE_CYCLE = 8


@checked_methods
class Interleave(Plan):
    """Mixin: flattening nested datasets."""

    __slots__ = ()

    def flat_map(
        self: _D,
        map_func: Callable[..., _D],
        name: str | None = None,
        *,
        output_signature: Any = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
    ) -> _D:
        """Map each element to a dataset, and yield the elements of these datasets sequentially.

        Parameters
        ----------
        map_func : callable
            Takes the element as a `map` function does; returns a Dataset.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        output_signature : nested TensorSpec, optional
            Elements of the datasets are checked against this; `element_spec` is then known without
            a call.
        on_error : "raise", "skip", "log" or callable
            Action for an element that fails here or earlier; see :doc:`/guides/errors`.
        max_errors : int, optional
            Maximum number of consecutive errors to skip, >= 1; None means no limit.

        Returns
        -------
        Dataset
            The elements of all these datasets; their number is not known in advance.

        Raises
        ------
        TypeError
            If `map_func` is not callable; while iterating, if it does not return a Dataset, or
            returns one whose elements do not match `output_signature`.

        Notes
        -----
        Only one dataset is open at any time. An error of `map_func` is raised at the position of
        its element; the dataset of the next element follows.

        Examples
        --------
        >>> ds = ps.Dataset.range(1, 4).flat_map(lambda n: ps.Dataset.range(n))
        >>> [int(x) for x in ds]
        [0, 0, 1, 0, 1, 2]
        """
        check_callable("flat_map", "map_func", map_func)
        flat = self._then("flat_map", map_func=map_func, name=name, **_declared(output_signature))
        return flat._without_errors("flat_map", on_error, max_errors)

    def interleave(
        self: _D,
        map_func: Callable[..., _D],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        buffer_output_elements: int | None = None,
        prefetch_input_elements: int | None = None,
        output_signature: Any = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
    ) -> _D:
        """Map each element to a dataset, and interleave the elements of several datasets.

        Parameters
        ----------
        map_func : callable
            Takes the element as a `map` function does; returns a Dataset.
        cycle_length : int, optional
            Number of datasets open at the same time; None or AUTOTUNE (-1) means 8, on every
            machine.
        block_length : int, optional
            Consecutive elements to take from each; None means 1.
        num_parallel_calls : int, optional
            Number of datasets to read concurrently, each on its own thread, at most `cycle_length`;
            AUTOTUNE (-1) means all. None reads in the consumer's thread. For a coroutine function
            it is the maximum number of concurrent calls, which may exceed `cycle_length`.
        deterministic : bool, optional
            Whether results are in order; False takes from any dataset that is ready. None uses the
            setting in `Options` (True by default).
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        buffer_output_elements : int, optional
            With `num_parallel_calls`: elements to buffer for each open dataset, >= 1; None means
            ``2 * block_length``.
        prefetch_input_elements : int, optional
            With `num_parallel_calls`: number of further datasets to open and read ahead, before one
            of the cycle has ended, >= 0; None means ``cycle_length / 2``.
        output_signature : nested TensorSpec, optional
            As in `flat_map`.
        on_error : "raise", "skip", "log" or callable
            Action for an element that fails here or earlier; see :doc:`/guides/errors`.
        max_errors : int, optional
            Maximum number of consecutive errors to skip, >= 1; None means no limit.

        Returns
        -------
        Dataset
            The elements of all these datasets; their number is not known in advance.

        Raises
        ------
        TypeError
            If `map_func` is not callable; while iterating, if it does not return a Dataset, or
            returns one whose elements do not match `output_signature`.
        ValueError
            If an argument is below its minimum, `num_parallel_calls` exceeds `cycle_length`, or
            `buffer_output_elements` or `prefetch_input_elements` is given without
            `num_parallel_calls`.

        Notes
        -----
        Order: the stage cycles through the open datasets and takes `block_length` elements from
        each. When a dataset ends, the cycle moves on to the next one, and a new dataset takes the
        free place when the cycle returns to it. The order is the same with and without
        `num_parallel_calls`, unless `deterministic` is False.

        Memory: with `num_parallel_calls`, up to ``cycle_length + prefetch_input_elements`` datasets
        are open, and each buffers up to `buffer_output_elements` elements.

        Examples
        --------
        >>> ds = ps.Dataset.range(1, 4).interleave(
        ...     lambda n: ps.Dataset.from_tensors(n).repeat(3), cycle_length=2, block_length=2)
        >>> [int(x) for x in ds]
        [1, 1, 2, 2, 1, 2, 3, 3, 3]
        """
        check_callable("interleave", "map_func", map_func)
        cycle = AUTOTUNE_CYCLE if cycle_length is None or cycle_length == -1 else cycle_length
        ahead = {
            "buffer_output_elements": buffer_output_elements,
            "prefetch_input_elements": prefetch_input_elements,
        }
        ahead = {argument: value for argument, value in ahead.items() if value is not None}
        if ahead and num_parallel_calls is None:
            raise ValueError(
                f"interleave: {', '.join(ahead)} is about reading ahead; give num_parallel_calls"
            )
        plan = self
        if num_parallel_calls is not None and is_coroutine_function(map_func):
            plan = map_for(
                "interleave", self, map_func, num_parallel_calls, deterministic=deterministic
            )
            map_func = _itself
            num_parallel_calls = min(num_parallel_calls, cycle)
        interleaved = plan._then(
            "interleave",
            map_func=map_func,
            cycle_length=cycle,
            block_length=1 if block_length is None else block_length,
            num_parallel_calls=num_parallel_calls,
            deterministic=deterministic,
            name=name,
            **ahead,
            **_declared(output_signature),
        )
        return interleaved._without_errors("interleave", on_error, max_errors)


def _itself(*values: Any) -> Any:
    return values[0] if len(values) == 1 else values


def _declared(output_signature: Any) -> dict[str, Any]:
    return {} if output_signature is None else {"output_signature": output_signature}
