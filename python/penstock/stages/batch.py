"""Batches of elements, and batches of a new size: batch, rebatch."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stage import Stage
from penstock.structure import map_leaves
from penstock.traits import main_form, traits_of

_D = TypeVar("_D", bound="Batch")


@checked_methods
class Batch(Plan):
    """Mixin: batching."""

    __slots__ = ()

    def batch(
        self: _D,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> _D:
        """Stack consecutive elements along a new first axis.

        Parameters
        ----------
        batch_size : int
            Elements per batch, >= 1.
        drop_remainder : bool
            Drop a last batch with fewer than `batch_size` elements.
        num_parallel_calls : int, optional
            Number of batches to assemble ahead, on one background thread; AUTOTUNE (-1) picks the
            number. None assembles batches in the consumer's thread.
        deterministic : bool, optional
            Accepted and ignored: batches are always in order.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            A leaf of shape ``(...)`` becomes ``(batch_size, ...)``; the last batch may be smaller.

        Raises
        ------
        ValueError
            At the call, if `batch_size` or `num_parallel_calls` is < 1. While iterating, if an
            element differs from the first of its batch in structure, dtype or shape; the other
            elements of the batch are kept. Not raised for a batch that `drop_remainder` drops.

        See Also
        --------
        padded_batch, ragged_batch : For elements of different shapes.

        Notes
        -----
        Leaves that are strings or opaque objects become arrays of dtype object. If an element
        fails, its error is raised first; the batch continues with the elements after it.

        Memory: batches are writeable. They use aligned buffers, which are reused once nothing
        refers to them any more.

        Examples
        --------
        >>> [b.tolist() for b in ps.Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        batched = self._then(
            "batch", batch_size=batch_size, drop_remainder=bool(drop_remainder), name=name
        )
        if num_parallel_calls is None:
            return batched
        if num_parallel_calls != -1 and num_parallel_calls < 1:
            raise ValueError(
                f"batch: num_parallel_calls must be >= 1 or AUTOTUNE, got {num_parallel_calls}"
            )
        return batched._then("prefetch", buffer_size=num_parallel_calls)

    def rebatch(
        self: _D,
        batch_size: int | Sequence[int],
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> _D:
        """Regroup the rows of batches into batches of another size.

        Parameters
        ----------
        batch_size : int or sequence of int
            Rows per batch, >= 1. With several numbers, new batches cycle through these sizes.
        drop_remainder : bool
            Drop the last batch if it has too few rows.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The same rows in the same order. A leaf of shape ``(n, ...)`` becomes
            ``(batch_size, ...)``.

        Raises
        ------
        ValueError
            At the call, if a size is < 1 or the sequence is empty. While iterating, if a leaf is a
            scalar, the leaves of an element have different numbers of rows, or a row differs from
            the first of its new batch in structure, dtype or shape; the other rows are kept.
        TypeError
            If `batch_size` is neither an int nor a sequence of ints.

        Notes
        -----
        The elements are the same as those of ``unbatch().batch(batch_size)``. Rows are copied once,
        into the new batch.

        Examples
        --------
        >>> ds = ps.Dataset.range(8).batch(4)
        >>> [b.tolist() for b in ds.rebatch(3)]
        [[0, 1, 2], [3, 4, 5], [6, 7]]
        >>> [b.tolist() for b in ds.rebatch([1, 3])]
        [[0], [1, 2, 3], [4], [5, 6, 7]]
        """
        try:
            sizes = batch_size if isinstance(batch_size, Iterable) else [batch_size]
            sizes = [operator.index(size) for size in sizes]
        except TypeError:
            raise TypeError(
                f"rebatch: batch_size must be an int or a sequence of them, got {batch_size!r}"
            ) from None
        rows = self._then("unbatch", stage="rebatch")
        return rows._then(
            "rebatch", batch_size=sizes, drop_remainder=bool(drop_remainder), name=name
        )


def short_batches(dataset: Stage, full_is_known: bool = False) -> int | None:
    """Return the number of batches with fewer rows than the first one, or None if unknown.

    Parameters
    ----------
    dataset : Dataset
        Only the plan is examined: nothing runs.
    full_is_known : bool
        Whether to count the first batch too, if it has fewer rows than a full batch.
    """
    passes = 1
    # A user's function may return batches of any size, unless it declares one.
    while not _declares_one_size(dataset):
        if dataset._kind == "repeat":
            passes *= dataset._args["count"]
        elif not traits_of(dataset._kind).keeps_sizes:
            break
        dataset = dataset._inputs[0]
    if _declares_one_size(dataset):
        return 0
    if dataset._kind not in ("batch", "padded_batch"):
        return None
    rows, size = dataset._inputs[0]._node.cardinality, dataset._args["batch_size"]
    if dataset._args["drop_remainder"]:
        return 0
    if rows < 0 or passes < 0:
        return None
    return passes if rows % size and (rows > size or full_is_known) else 0


def full_batch(dataset: Stage) -> int | None:
    """Return the number of rows in a full batch, or None if unknown.

    Parameters
    ----------
    dataset : Dataset
        Only the plan is examined. A user's function after the batch is assumed to keep the number
        of rows.
    """
    while dataset._kind not in ("batch", "padded_batch"):
        is_map = main_form(dataset._kind) == "map"
        if not (is_map or dataset._kind == "repeat" or traits_of(dataset._kind).keeps_sizes):
            return None
        dataset = dataset._inputs[0]
    rows: int = dataset._args["batch_size"]
    return rows


def first_batch(dataset: Stage) -> int | None:
    """Return the rows of an epoch's first batch (see `full_batch`), or None if unknown."""
    rows = full_batch(dataset)
    if rows is None:
        return None
    while dataset._kind not in ("batch", "padded_batch"):
        dataset = dataset._inputs[0]
    elements = dataset._inputs[0]._node.cardinality
    if elements == -1:  # infinite
        return rows
    return None if elements < 0 else min(rows, elements)


def _declares_one_size(dataset: Stage) -> bool:
    """Return whether all results of a function are declared to have the same number of rows."""
    signature = dataset._args.get("output_signature")
    if signature is None:
        return False
    sizes: set[int | None] = set()
    map_leaves(
        lambda leaf: sizes.update((None,) if leaf.shape is None else leaf.shape[:1]), signature
    )
    return len(sizes) == 1 and None not in sizes
