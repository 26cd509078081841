"""Functions for ``ds.apply`` that group elements by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.experimental.transformations import Transformation
from penstock.stages.arguments import check_callable

__all__ = ["Reducer", "bucket_by_sequence_length", "group_by_reducer", "group_by_window"]


class Reducer:
    """The functions with which `group_by_reducer` reduces elements to one value.

    Parameters
    ----------
    init_func : callable
        Takes a key (int64), returns the initial state for its elements.
    reduce_func : callable
        Takes the state and an element, each as one argument; returns the new state, with the same
        structure and dtypes. Shapes may change.
    finalize_func : callable
        Takes the final state, the components of a tuple as separate arguments; returns the value.

    Raises
    ------
    TypeError
        If an argument is not callable.
    """

    @checked
    def __init__(
        self,
        init_func: Callable[[Any], Any],
        reduce_func: Callable[[Any, Any], Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        check_callable("Reducer", "init_func", init_func)
        check_callable("Reducer", "reduce_func", reduce_func)
        check_callable("Reducer", "finalize_func", finalize_func)
        self._functions: dict[str, Callable[..., Any]] = {
            "init_func": init_func,
            "reduce_func": reduce_func,
            "finalize_func": finalize_func,
        }

    @property
    def init_func(self) -> Callable[[Any], Any]:
        """The function that returns the initial state of a key."""
        return self._functions["init_func"]

    @property
    def reduce_func(self) -> Callable[[Any, Any], Any]:
        """The function from a state and an element to the next state."""
        return self._functions["reduce_func"]

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """The function from the final state to the value."""
        return self._functions["finalize_func"]


@checked
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Batch elements of similar length: `Dataset.bucket_by_sequence_length`.

    Parameters
    ----------
    element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values
        As in `Dataset.bucket_by_sequence_length`.
    pad_to_bucket_boundary, no_padding, drop_remainder : bool
        As in `Dataset.bucket_by_sequence_length`.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> by_length = ps.experimental.bucket_by_sequence_length(len, [3], [2, 2])
    >>> rows = ps.Dataset.range(1, 5).map(lambda n: np.full(n, n))
    >>> [batch.tolist() for batch in rows.apply(by_length)]
    [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


@checked
def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Reduce all elements with the same key to one value.

    Parameters
    ----------
    key_func : callable
        Takes the element as a `Dataset.map` function does; returns one int.
    reducer : Reducer
        The functions that compute the value.

    Returns
    -------
    callable
        A function for `Dataset.apply`. The result has one element per key, in the order of the
        keys, after the input has ended; their number is not known in advance.

    Raises
    ------
    TypeError
        If `key_func` is not callable or `reducer` is not a Reducer; while iterating, if `key_func`
        does not return one int, or the structure or dtype of the state changes.

    Notes
    -----
    An error of a function is raised at the position of the element, which is skipped; an error of
    `finalize_func` is raised at the position of the value.

    Memory: one state per key. Saved iterator states do not contain them: after `Iterator.set_state`
    the input is read again from the beginning.

    Examples
    --------
    >>> mean = ps.experimental.Reducer(
    ...     init_func=lambda key: (0.0, 0),
    ...     reduce_func=lambda state, x: (state[0] + x, state[1] + 1),
    ...     finalize_func=lambda total, count: total / count)
    >>> by_parity = ps.experimental.group_by_reducer(lambda x: x % 2, mean)
    >>> [float(x) for x in ps.Dataset.range(10).apply(by_parity)]
    [4.0, 5.0]
    """
    check_callable("group_by_reducer", "key_func", key_func)
    if not isinstance(reducer, Reducer):
        raise TypeError(f"group_by_reducer: a Reducer was expected, got {reducer!r}")
    return lambda dataset: dataset._then(
        "group_by_reducer",
        key_func=key_func,
        init_func=reducer.init_func,
        reduce_func=reducer.reduce_func,
        finalize_func=reducer.finalize_func,
    )


@checked
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Any, Dataset], Dataset],
    window_size: int | None = None,
    window_size_func: Callable[[Any], Any] | None = None,
) -> Transformation:
    """Group elements with equal keys into windows: `Dataset.group_by_window`.

    Parameters
    ----------
    key_func, reduce_func, window_size, window_size_func
        As in `Dataset.group_by_window`.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> by_parity = ps.experimental.group_by_window(
    ...     lambda x: x % 2, lambda key, w: w.batch(2), window_size=2)
    >>> [batch.tolist() for batch in ps.Dataset.range(5).apply(by_parity)]
    [[0, 2], [1, 3], [4]]
    """
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )
