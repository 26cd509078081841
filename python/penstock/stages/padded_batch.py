"""Batches of elements of different sizes, padded to one shape: padded_batch."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stages.padding_arguments import padded_shapes_of, padding_values_of

_D = TypeVar("_D", bound="PaddedBatch")


@checked_methods
class PaddedBatch(Plan):
    """Mixin: padded batching."""

    __slots__ = ()

    def padded_batch(
        self: _D,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> _D:
        """Stack consecutive elements along a new first axis, padded to one shape.

        Parameters
        ----------
        batch_size : int
            Elements per batch, >= 1.
        padded_shapes : nested sequence of int or None, optional
            The shape of each leaf, nested as the elements are. ``[None, 3]`` pads the first axis to
            the largest size in the batch and the second one to 3. An int is a shape with one axis.
            None pads every axis to the largest size in the batch.
        padding_values : nested scalar, optional
            Values for the padding: nested as the elements are, with None for a default, or one
            scalar for all leaves. The default is 0, and "" for strings. A Python number takes the
            dtype of the leaf if both are of the same kind (int, float, bool, complex); a NumPy
            scalar must have exactly that dtype.
        drop_remainder : bool
            Drop a last batch with fewer than `batch_size` elements.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            A leaf of shape ``(n, m)`` becomes ``(batch_size, N, M)``; each element fills the first
            rows and columns. Scalars are stacked without padding.

        Raises
        ------
        ValueError
            At the call, if `batch_size` < 1, an argument is not nested as the elements are, a
            padding value is not a scalar, or a shape has a different number of axes, or smaller
            sizes, than the elements are known to have. While iterating, if an element has more axes
            or is larger than its padded shape, or differs from the first of its batch in structure,
            dtype or number of axes; the other elements of the batch are kept.
        TypeError
            If the dtype of a padding value does not match its leaf: at the call where that is
            known, otherwise while iterating. Arrays of opaque objects cannot be padded.

        Notes
        -----
        Without `padded_shapes`, the number of axes of every leaf must be known, or not declared at
        all (for elements of a plain Python function).

        Memory: the elements of one batch, and the batch. Each number is copied once, into the
        batch.

        Examples
        --------
        >>> ds = ps.Dataset.range(1, 4).map(lambda n: np.full(n, n))
        >>> for batch in ds.padded_batch(2):
        ...     print(batch)
        [[1 0]
         [2 2]]
        [[3 3 3]]
        >>> ds.padded_batch(3, padded_shapes=[4], padding_values=-1).first()
        array([[ 1, -1, -1, -1],
               [ 2,  2, -1, -1],
               [ 3,  3,  3, -1]])
        """
        one, each = padding_values_of("padded_batch", padding_values)
        return self._then(
            "padded_batch",
            batch_size=batch_size,
            padded_shapes=padded_shapes_of(padded_shapes, self._node),
            padding_value=one,
            padding_values=each,
            drop_remainder=bool(drop_remainder),
            name=name,
        )
