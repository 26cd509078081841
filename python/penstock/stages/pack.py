"""Packing several sequences into one row: pack."""

from __future__ import annotations

import operator
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stages.padding_arguments import padding_values_of
from penstock.structure import TensorSpec, map_leaves

_D = TypeVar("_D", bound="Pack")


@checked_methods
class Pack(Plan):
    """Mixin: packing."""

    __slots__ = ()

    def pack(
        self: _D,
        length: Any,
        strategy: str = "first_fit",
        *,
        open_packs: int = 64,
        too_long: str = "error",
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> _D:
        """Pack several sequences into rows of fixed length, with little padding.

        Parameters
        ----------
        length : int or nested int
            Items per row, >= 1: one number for all components, or nested as the elements are.
        strategy : str
            "first_fit" keeps sequences whole: each is placed in the first open row with room for
            all its components. "concat_then_split" concatenates all sequences and cuts them into
            full rows; the components of an element must have equal lengths.
        open_packs : int
            Maximum number of rows that "first_fit" keeps open, >= 1. If a sequence fits none of
            them, the oldest row is yielded.
        too_long : str
            How "first_fit" treats a sequence longer than `length`: "error" raises an error in its
            place, "drop" skips it, "split" cuts it into sequences of `length` and a remainder.
        padding_values : nested scalar, optional
            As in `padded_batch`; the default is 0.
        drop_remainder : bool
            Drop the last row of "concat_then_split" if it is not full.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Triples ``(values, segment_ids, positions)``, each nested as the elements are, of arrays
            of shape ``(length,)``. Segment ids number the sequences of the row from 1, and are 0
            for padding. Positions number the items of each sequence from 0, and restart after a
            cut. Both are int32. The number of rows is not known in advance.

        Raises
        ------
        ValueError
            At the call, if a number is < 1, an argument is not nested as the elements are, or
            `strategy` or `too_long` is unknown. While iterating, if an element is too long, has a
            component other than a sequence of numbers, or differs in structure or dtype from those
            in the open rows; it is skipped, and the others are kept.
        TypeError
            If the dtype of a padding value does not match its component.

        Notes
        -----
        An element without items takes no room. A row is yielded as soon as it is full, and at the
        latest when ``4 * open_packs`` later rows have been started.

        Memory: the sequences in at most `open_packs` rows, and the current one. A saved state holds
        their positions, a few bytes each, and a restored iterator reads them again.

        Examples
        --------
        >>> ds = ps.Dataset.range(1, 5).map(lambda n: np.full(n, n))
        >>> for values, segment_ids, positions in ds.pack(5):
        ...     print(values, segment_ids, positions)
        [1 2 2 0 0] [1 2 2 0 0] [0 0 1 0 0]
        [3 3 3 0 0] [1 1 1 0 0] [0 1 2 0 0]
        [4 4 4 4 0] [1 1 1 1 0] [0 1 2 3 0]
        >>> [values.tolist() for values, _, _ in ds.pack(5, "concat_then_split")]
        [[1, 2, 2, 3, 3], [3, 4, 4, 4, 4]]
        """
        one, each = padding_values_of("pack", padding_values)
        nested = not hasattr(length, "__index__")
        return self._then(
            "pack",
            length=None if nested else length,
            lengths=map_leaves(_row, length) if nested else None,
            strategy=strategy,
            open_packs=open_packs,
            too_long=too_long,
            padding_value=one,
            padding_values=each,
            drop_remainder=bool(drop_remainder),
            name=name,
        )


def _row(length: Any) -> TensorSpec:
    try:
        items = operator.index(length)
    except TypeError:
        raise TypeError(f"pack: length must be an int for each component, got {length!r}") from None
    if items < 1:
        raise ValueError(f"pack: length must be >= 1, got {items}")
    return TensorSpec((items,), object)
