"""Datasets that a function makes of elements: flat_map, interleave."""

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

# interleave's cycle_length=None: a constant, so that the order does not depend on the machine.
AUTOTUNE_CYCLE = 8


@checked_methods
class Interleave(Plan):
    """Mixin: the elements of datasets that a function opens."""

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
        """Turn each element into a dataset, and give their elements one dataset after the other.

        Parameters
        ----------
        map_func : callable
            Takes the element as `map` does; returns a Dataset.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        output_signature : nested TensorSpec, optional
            What the elements of the datasets are checked against; makes `element_spec` known
            without a call.
        on_error : "raise", "skip", "log" or callable
            What to do with an element that fails here or earlier: see :doc:`/guides/errors`.
        max_errors : int, optional
            The most errors in a row to leave out, >= 1; None means any number.

        Returns
        -------
        Dataset
            The elements of all of them; how many is unknown beforehand.

        Raises
        ------
        TypeError
            If `map_func` is not callable; while iterating, if it returns anything but a Dataset, or
            one of other elements than `output_signature` says.

        Notes
        -----
        One dataset is open at a time. An error of `map_func` is raised at the position of its
        element; the dataset of the next one follows.

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
        """Turn each element into a dataset, and take from several of them in turn.

        Parameters
        ----------
        map_func : callable
            Takes the element as `map` does; returns a Dataset.
        cycle_length : int, optional
            Datasets that are open at a time; None or AUTOTUNE (-1) means 8, on every machine.
        block_length : int, optional
            Consecutive elements taken from one of them; None means 1.
        num_parallel_calls : int, optional
            Datasets to read at a time, each on its own thread, at most `cycle_length`; AUTOTUNE
            (-1) means all. None reads in the thread that asks. For a coroutine function it is the
            number of calls in progress, which may exceed `cycle_length`.
        deterministic : bool, optional
            Whether results come in order; False takes from a dataset that is ready. None takes it
            from `Options` (True by default).
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        buffer_output_elements : int, optional
            With `num_parallel_calls`: how many elements each open dataset has ready, >= 1; None
            means ``2 * block_length``.
        prefetch_input_elements : int, optional
            With `num_parallel_calls`: how many datasets are opened, and read ahead, before one of
            the others has ended, >= 0; None means ``cycle_length / 2``.
        output_signature : nested TensorSpec, optional
            As in `flat_map`.
        on_error : "raise", "skip", "log" or callable
            What to do with an element that fails here or earlier: see :doc:`/guides/errors`.
        max_errors : int, optional
            The most errors in a row to leave out, >= 1; None means any number.

        Returns
        -------
        Dataset
            The elements of all of them; how many is unknown beforehand.

        Raises
        ------
        TypeError
            If `map_func` is not callable; while iterating, if it returns anything but a Dataset, or
            one of other elements than `output_signature` says.
        ValueError
            If an argument is below its least value, `num_parallel_calls` exceeds `cycle_length`, or
            `buffer_output_elements` or `prefetch_input_elements` comes without
            `num_parallel_calls`.

        Notes
        -----
        Order: `block_length` elements of each open dataset in turn. When one has ended, the turn
        passes on, and the next dataset replaces it when the turn comes back. The order is the same
        with and without `num_parallel_calls`, unless `deterministic` is False.

        Memory: with `num_parallel_calls` up to ``cycle_length + prefetch_input_elements`` datasets
        are open, and each holds up to `buffer_output_elements` elements.

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
