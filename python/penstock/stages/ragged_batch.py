"""Batches of elements of different sizes, without padding: ragged_batch."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="RaggedBatch")


@checked_methods
class RaggedBatch(Plan):
    """Mixin: ragged batching."""

    __slots__ = ()

    def ragged_batch(
        self: _D,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: Any = np.int64,
        name: str | None = None,
    ) -> _D:
        """Concatenate consecutive elements of different sizes into ragged batches.

        Parameters
        ----------
        batch_size : int
            Elements per batch, >= 1.
        drop_remainder : bool
            Drop a last batch with fewer than `batch_size` elements.
        row_splits_dtype : dtype-like
            int64 or int32.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            A leaf of shape ``(n, ...)`` whose `n` varies becomes ``(values, row_splits)``, where
            element i of the batch is ``values[row_splits[i]:row_splits[i + 1]]``. A leaf of known
            shape is stacked as in `batch`.

        Raises
        ------
        ValueError
            At the call, if `batch_size` < 1 or `row_splits_dtype` is neither int64 nor int32. While
            iterating, if an element differs from the first of its batch in structure, dtype, number
            of axes or the size of an axis that is not ragged; the other elements of the batch are
            kept.

        Notes
        -----
        `element_spec` determines which axes are ragged: all up to the last one whose size is None.
        Several ragged axes nest, ``((values, row_splits), row_splits)``, with the innermost splits
        first. After a function, all axes are ragged, whatever tracing has shown; declare fixed axes
        with ``map(..., output_signature=...)``.

        `io.VarLenFeature` and `strings.split` return the same kind of pair.

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
