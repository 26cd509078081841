"""Several sequences in one row: pack."""

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
    """Mixin: rows of fixed length with as little padding as possible."""

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
        """Put several sequences into one row of fixed length, one after the other.

        Parameters
        ----------
        length : int or nested int
            Items of a row, >= 1: one number for all components, or nested as the elements are.
        strategy : str
            "first_fit" keeps sequences whole: each goes into the first open row that has room for
            all its components. "concat_then_split" puts all of them one after the other and cuts
            where a row is full; its components must be of one length.
        open_packs : int
            How many rows "first_fit" has open at most, >= 1. When a sequence fits none of them, the
            oldest is given out.
        too_long : str
            What "first_fit" does with a sequence longer than `length`: "error" raises an error
            instead, "drop" leaves it out, "split" cuts it into sequences of `length` and a rest.
        padding_values : nested scalar, optional
            As in `padded_batch`; the default is 0.
        drop_remainder : bool
            Leave out the last row of "concat_then_split" when it is not full.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Triples ``(values, segment_ids, positions)``, each nested as the elements are, of arrays
            of shape ``(length,)``. Segment ids count the sequences of the row from 1, and are 0 on
            padding; positions count the items of each sequence from 0, and begin again after a cut.
            Both are int32. How many rows there are is unknown beforehand.

        Raises
        ------
        ValueError
            At the call, if a number is < 1, an argument is nested otherwise than the elements or is
            unknown. While iterating, for an element that is too long, that has a component other
            than a sequence of numbers, or that differs in structure or dtype from those in the open
            rows; it is left out, and the others stay.
        TypeError
            If a padding value is not of the dtype of its component.

        Notes
        -----
        An element without items takes no room. A row is given out as soon as it is full, and at
        the latest when ``4 * open_packs`` later ones have been begun.

        Memory: the sequences in at most `open_packs` rows, and the current one. A saved state holds
        their positions, a few bytes for each, and a restore reads them again.

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
