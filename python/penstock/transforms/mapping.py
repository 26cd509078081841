"""Transformations that call a function: map, filter, flat_map, interleave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from penstock.arguments.checked import checked_methods
from penstock.on_error import MAX_ERRORS, OnError
from penstock.plan import Plan
from penstock.transforms.arguments import check_callable

# interleave's cycle_length=None: a constant, so that the order does not depend on the machine.
AUTOTUNE_CYCLE = 8


@checked_methods
class Mapping(Plan):
    """Mixin: transformations that call a function on each element."""

    __slots__ = ()

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
        *,
        output_signature: Any = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
    ) -> Self:
        """Apply `map_func` to each element.

        Parameters
        ----------
        map_func : callable
            Takes the element: a tuple as that many arguments, anything else as one. What it
            returns is the new element (a list counts as a tuple).
        num_parallel_calls : int, optional
            How many calls run at a time, each on a thread of its own; AUTOTUNE (-1) finds out. None
            runs the function in the thread that asks for the element.
        deterministic : bool, optional
            Whether results come in order; None takes it from `Options` (True by default).
        synchronous : bool, optional
            True demands that nothing runs ahead; excludes `num_parallel_calls`.
        use_unbounded_threadpool : bool
            Accepted for programs written for tf.data; calls have threads of their own anyway.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.
        output_signature : nested TensorSpec, optional
            What results are converted to and checked against; `element_spec` is then known without
            a call.
        on_error : "raise", "skip", "log" or callable
            What becomes of an element that fails here, or failed before and was not left out: see
            :doc:`/guides/errors`.
        max_errors : int, optional
            How many in a row are left out at most, >= 1; None: any number.

        Returns
        -------
        Dataset
            As many elements as before.

        Raises
        ------
        TypeError
            If `map_func` is not callable; while iterating, if a result does not match
            `output_signature`.
        ValueError
            If `num_parallel_calls` is neither AUTOTUNE nor >= 1, or `synchronous` excludes it.

        Notes
        -----
        Errors: an exception of the function is raised at the element's place, as itself, with a
        note that names stage and element; the next element follows.

        Order and randomness: random operations of penstock inside the function draw from the
        element's own key, so `num_parallel_calls` changes neither results nor, unless
        `deterministic` is False, their order.

        Speed: a plain Python function holds the GIL, so parallel calls help where it sleeps, reads
        or calls something that releases the GIL, as NumPy and the operations of penstock do for
        large arrays.

        Examples
        --------
        >>> ds = ps.Dataset.range(4).map(lambda x: x + 1, num_parallel_calls=2)
        >>> [int(x) for x in ds]
        [1, 2, 3, 4]
        """
        check_callable("map", "map_func", map_func)
        if num_parallel_calls is None:
            mapped = self._then(
                "map", map_func=map_func, output_signature=output_signature, name=name
            )
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
            output_signature=output_signature,
            name=name,
        )
        return mapped._without_errors("map", on_error, max_errors)

    def filter(
        self,
        predicate: Callable[..., Any],
        name: str | None = None,
        *,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
    ) -> Self:
        """Keep the elements for which `predicate` returns True.

        Parameters
        ----------
        predicate : callable
            Takes the element as `map` does; returns one bool.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.
        on_error : "raise", "skip", "log" or callable
            What becomes of an element that fails here, or failed before and was not left out: see
            :doc:`/guides/errors`.
        max_errors : int, optional
            How many in a row are left out at most, >= 1; None: any number.

        Returns
        -------
        Dataset
            The elements that were kept, in their order; how many is unknown beforehand.

        Raises
        ------
        TypeError
            If `predicate` is not callable; while iterating, if it returns anything but one bool
            (a number is not one: write ``x != 0``).

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(6).filter(lambda x: x % 3 == 0)]
        [0, 3]
        """
        check_callable("filter", "predicate", predicate)
        kept = self._then("filter", predicate=predicate, name=name)
        return kept._without_errors("filter", on_error, max_errors)

    def flat_map(
        self,
        map_func: Callable[..., Self],
        name: str | None = None,
        *,
        output_signature: Any = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
    ) -> Self:
        """Turn each element into a dataset, and give their elements one dataset after the other.

        Parameters
        ----------
        map_func : callable
            Takes the element as `map` does; returns a Dataset.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.
        output_signature : nested TensorSpec, optional
            What the elements of the datasets are checked against; `element_spec` is then known
            without a call.
        on_error : "raise", "skip", "log" or callable
            What becomes of an element that fails here, or failed before and was not left out: see
            :doc:`/guides/errors`.
        max_errors : int, optional
            How many in a row are left out at most, >= 1; None: any number.

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
        One dataset is open at a time. An element of `map_func` that fails is raised at its place;
        the dataset of the next one follows.

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
        self,
        map_func: Callable[..., Self],
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
    ) -> Self:
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
            How many of them are read at a time, ahead of use, each by a thread of its own; at most
            `cycle_length`; AUTOTUNE (-1) means all. None reads them in turn, when asked.
        deterministic : bool, optional
            False passes over a dataset that has nothing ready yet; None takes it from `Options`.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.
        buffer_output_elements : int, optional
            With `num_parallel_calls`: how many elements each open dataset has ready, >= 1; None
            means ``2 * block_length``.
        prefetch_input_elements : int, optional
            With `num_parallel_calls`: how many datasets are opened, and read ahead, before one of
            the others has ended, >= 0; None means ``cycle_length / 2``.
        output_signature : nested TensorSpec, optional
            As in `flat_map`.
        on_error : "raise", "skip", "log" or callable
            What becomes of an element that fails here, or failed before and was not left out: see
            :doc:`/guides/errors`.
        max_errors : int, optional
            How many in a row are left out at most, >= 1; None: any number.

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
            If an argument is less than the least value named above, `num_parallel_calls` exceeds
            `cycle_length`, or one of the last two comes without `num_parallel_calls`.

        Notes
        -----
        Order: from dataset to dataset in turn, `block_length` elements of each. One that has ended
        passes the turn on, and its place is taken by the next one when the turn comes round. It is
        the same with and without `num_parallel_calls`, unless `deterministic` is False.

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
        interleaved = self._then(
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


def _declared(output_signature: Any) -> dict[str, Any]:
    return {} if output_signature is None else {"output_signature": output_signature}
