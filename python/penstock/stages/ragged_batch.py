"""Batches of elements of different sizes, one after the other: ragged_batch."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="RaggedBatch")


@checked_methods
class RaggedBatch(Plan):
    """Mixin: batches of elements that differ in size."""

    __slots__ = ()

    def ragged_batch(
        self: _D,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: Any = np.int64,
        name: str | None = None,
    ) -> _D:
        """Put consecutive elements of different sizes one after the other.

        Parameters
        ----------
        batch_size : int
            Elements per batch, >= 1.
        drop_remainder : bool
            Leave out a last batch with fewer than `batch_size` elements.
        row_splits_dtype : dtype-like
            int64 or int32.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            A leaf of shape ``(n, ...)`` whose `n` differs becomes ``(values, row_splits)``, where
            element i of the batch is ``values[row_splits[i]:row_splits[i + 1]]``. A leaf whose
            shape is known is stacked as by `batch`.

        Raises
        ------
        ValueError
            At the call, if `batch_size` < 1 or `row_splits_dtype` is another. While iterating, if
            an element differs from the first of its batch in structure, dtype, number of axes or
            in the size of an axis that is not ragged; the others of the batch are kept.

        Notes
        -----
        `element_spec` decides which axes are ragged: all up to the last one whose size is None.
        Several ragged axes nest, ``((values, row_splits), row_splits)``, the inner splits first.
        After a function all axes are ragged, whatever tracing has shown; declare those that are
        fixed with ``map(..., output_signature=...)``.

        The pair is what `io.VarLenFeature` and `strings.split` give too.

        Examples
        --------
        >>> ds = ps.Dataset.range(1, 4).map(lambda n: np.full(n, n))
        >>> values, row_splits = ds.ragged_batch(3).first()
        >>> values, row_splits
        (array([1, 2, 2, 3, 3, 3]), array([0, 1, 3, 6]))
        """
        return self._then(
            "ragged_batch",
            batch_size=batch_size,
            drop_remainder=bool(drop_remainder),
            row_splits_dtype=row_splits_dtype,
            name=name,
        )
