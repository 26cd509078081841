"""Functions for ``ds.apply``, and older names of methods of Dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.arguments.checked import checked
from penstock.dataset import AUTOTUNE, Dataset

__all__ = [
    "assert_cardinality",
    "enumerate_dataset",
    "get_single_element",
    "map_and_batch",
    "parallel_interleave",
    "shuffle_and_repeat",
    "unbatch",
]

Transformation: TypeAlias = Callable[[Dataset], Dataset]


@checked
def assert_cardinality(expected_cardinality: int) -> Transformation:
    """Declare the number of elements, and check it while iterating.

    Parameters
    ----------
    expected_cardinality : int
        The number of elements, >= 0, or ``INFINITE_CARDINALITY``.

    Returns
    -------
    callable
        A function for `Dataset.apply`. The result has the same elements and a known `cardinality`.

    Raises
    ------
    ValueError
        When the transformation is applied, if the number is negative. While iterating, if it is
        wrong: after the last element if there are too few, in place of the first surplus element if
        there are too many; the iteration ends there.

    Notes
    -----
    An element that fails counts.

    Examples
    --------
    >>> odd = ps.Dataset.range(10).filter(lambda x: x % 2 == 1)
    >>> len(odd.apply(ps.experimental.assert_cardinality(5)))
    5
    >>> list(odd.apply(ps.experimental.assert_cardinality(6)))
    Traceback (most recent call last):
    ValueError: assert_cardinality: 6 elements were expected, the input has only 5
    """
    return lambda dataset: dataset._then(
        "assert_cardinality", expected_cardinality=expected_cardinality
    )


@checked
def enumerate_dataset(start: int = 0) -> Transformation:
    """Pair each element with its number: `Dataset.enumerate`.

    Parameters
    ----------
    start : int
        Number of the first element.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> ds = ps.Dataset.from_tensor_slices(["a", "b"])
    >>> [(int(i), s) for i, s in ds.apply(ps.experimental.enumerate_dataset(5))]
    [(5, 'a'), (6, 'b')]
    """
    return lambda dataset: dataset.enumerate(start)


@checked
def get_single_element(dataset: Dataset) -> Any:
    """Return the element of a dataset that has exactly one: `Dataset.get_single_element`.

    Parameters
    ----------
    dataset : Dataset
        A dataset of one element.

    Returns
    -------
    nested arrays
        The element.

    Raises
    ------
    ValueError
        If the dataset is empty, or has more than one element.

    Examples
    --------
    >>> ps.experimental.get_single_element(ps.Dataset.from_tensors([1, 2]))
    array([1, 2])
    """
    return dataset.get_single_element()


@checked
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """Apply `map_func` to each element, and batch the results: ``map(...).batch(...)``.

    Parameters
    ----------
    map_func : callable
        As in `Dataset.map`.
    batch_size : int
        Elements per batch, >= 1.
    num_parallel_batches : int, optional
        Number of batches to assemble ahead; `num_parallel_calls` is then AUTOTUNE.
    drop_remainder : bool
        Drop a last batch with fewer than `batch_size` elements.
    num_parallel_calls : int, optional
        Maximum number of concurrent calls, each on its own thread; AUTOTUNE (-1) or None picks the
        number.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Raises
    ------
    TypeError
        If `map_func` is not callable.
    ValueError
        If `num_parallel_batches` and `num_parallel_calls` are both given; when the transformation
        is applied, if a number is < 1.

    Notes
    -----
    ``map(..., num_parallel_calls=n).batch(...)`` runs the same way without this function: calls
    write their results directly into the batch.

    Examples
    --------
    >>> square = ps.experimental.map_and_batch(lambda x: x * x, 3)
    >>> [b.tolist() for b in ps.Dataset.range(5).apply(square)]
    [[0, 1, 4], [9, 16]]
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "map_and_batch: one of num_parallel_batches and num_parallel_calls may be given, got "
            f"{num_parallel_batches} and {num_parallel_calls}"
        )
    if not callable(map_func):
        raise TypeError(f"map_and_batch: map_func must be callable, got {map_func!r}")
    if num_parallel_batches is not None and num_parallel_batches < 1:
        raise ValueError(
            f"map_and_batch: num_parallel_batches must be >= 1, got {num_parallel_batches}"
        )
    calls = AUTOTUNE if num_parallel_calls is None else num_parallel_calls
    return lambda dataset: dataset.map(map_func, num_parallel_calls=calls).batch(
        batch_size, drop_remainder, num_parallel_calls=num_parallel_batches
    )


@checked
def parallel_interleave(
    map_func: Callable[..., Dataset],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool | None = False,
    buffer_output_elements: int | None = None,
    prefetch_input_elements: int | None = None,
) -> Transformation:
    """Map each element to a dataset, and read several concurrently: `Dataset.interleave`.

    Parameters
    ----------
    map_func : callable
        As in `Dataset.interleave`.
    cycle_length : int
        Number of datasets to open and read concurrently, >= 1.
    block_length : int
        Consecutive elements to take from each, >= 1.
    sloppy : bool or None
        True takes from any dataset that is ready, which may change the order; None uses
        `Options.deterministic`.
    buffer_output_elements : int, optional
        Elements to buffer for each dataset, >= 1; None means ``2 * block_length``.
    prefetch_input_elements : int, optional
        Number of further datasets to open and read ahead, before one of the cycle has ended, >= 0;
        None means ``2 * cycle_length``.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Raises
    ------
    TypeError
        When the transformation is applied, if `map_func` is not callable.
    ValueError
        If `cycle_length` < 1; when the transformation is applied, if another number is below the
        minimum given above.

    Notes
    -----
    Threads: one for each dataset that is open or opened ahead, so up to ``3 * cycle_length`` unless
    `prefetch_input_elements` is smaller. `Dataset.interleave` opens fewer datasets ahead.

    Examples
    --------
    >>> three = ps.experimental.parallel_interleave(
    ...     lambda n: ps.Dataset.from_tensors(n).repeat(3), cycle_length=2)
    >>> [int(x) for x in ps.Dataset.range(3).apply(three)]
    [0, 1, 0, 1, 0, 1, 2, 2, 2]
    """
    if cycle_length < 1:
        raise ValueError(f"parallel_interleave: cycle_length must be >= 1, got {cycle_length}")
    ahead = 2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements
    return lambda dataset: dataset.interleave(
        map_func,
        cycle_length,
        block_length,
        num_parallel_calls=cycle_length,
        deterministic=None if sloppy is None else not sloppy,
        buffer_output_elements=buffer_output_elements,
        prefetch_input_elements=ahead,
    )


@checked
def shuffle_and_repeat(
    buffer_size: int, count: int | None = None, seed: int | None = None
) -> Transformation:
    """Shuffle in a new order in each epoch: ``shuffle(buffer_size, seed).repeat(count)``.

    Parameters
    ----------
    buffer_size : int
        Elements in the buffer, >= 1.
    count : int, optional
        Number of epochs; None or a negative number repeats forever.
    seed : int, optional
        Seed of the shuffles; None draws differently in each run, unless `set_seed` was called.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Raises
    ------
    ValueError
        When the transformation is applied, if `buffer_size` < 1.

    Notes
    -----
    Epochs do not mix. ``shuffle(...).repeat(...)`` behaves the same without this function: while
    the last elements of one epoch leave the buffer, elements of the next one enter it.

    Examples
    --------
    >>> twice = ps.experimental.shuffle_and_repeat(3, count=2)
    >>> came = [int(x) for x in ps.Dataset.range(3).apply(twice)]
    >>> sorted(came[:3]), sorted(came[3:])
    ([0, 1, 2], [0, 1, 2])
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


@checked
def unbatch() -> Transformation:
    """Split each element into its rows: `Dataset.unbatch`.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> [int(x) for x in ps.Dataset.range(3).batch(2).apply(ps.experimental.unbatch())]
    [0, 1, 2]
    """
    return lambda dataset: dataset.unbatch()
