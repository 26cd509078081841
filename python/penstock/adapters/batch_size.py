"""Batches of one size: drop or pad an incomplete last batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.structure import is_nested, map_leaves, parts_of

LEFT_OUT = object()
VALID = "valid"  # default key of the mask, as in experimental.pad_to_cardinality


def rows_of(batch: Any) -> int | None:
    """Return the number of rows: the size of the first axis, if it is the same for all leaves."""
    sizes: set[int] = set()
    map_leaves(lambda leaf: sizes.update(getattr(leaf, "shape", ())[:1]), batch)
    return sizes.pop() if len(sizes) == 1 else None


class OneSize:
    """A function for `scan` that makes all batches as large as the first.

    Parameters
    ----------
    stage : str
        Name of the public method, for error messages.
    drop : bool
        Whether to drop batches with fewer rows, by returning `LEFT_OUT`.
    mask : str or None
        If set, such batches are padded with zeros instead, and a mask with this key is added to all
        batches.
    full_of : callable, optional
        Takes a batch and returns the number of rows of a full batch, if the first batch does not
        define it.
    own_mask : bool
        Whether batches already contain a mask. Those with fewer rows are then padded, the mask with
        False.
    first_rows : callable, optional
        Takes a batch that may not be the first in this order, and returns the number of rows of the
        first one.
    """

    # State of the scan: the number of rows of a full batch (0 if unknown), and whether the previous
    # batch was dropped. `carried_state` applies if the first batch was read with another number of
    # processes.
    initial_state = (np.int64(0), np.bool_(False))
    carried_state = (np.int64(-1), np.bool_(False))

    def __init__(
        self,
        stage: str,
        drop: bool,
        mask: str | None,
        full_of: Callable[[Any], int] | None = None,
        own_mask: bool = False,
        first_rows: Callable[[Any], int | None] = rows_of,
    ) -> None:
        self._stage = stage
        self._own_mask = own_mask and mask is None
        self._drop = drop and mask is None and not own_mask
        self._mask = mask
        self._full_of = full_of
        self._first_rows = first_rows

    def __call__(self, state: tuple[Any, Any], batch: Any) -> tuple[tuple[Any, Any], Any]:
        """Return the new state and the batch, or `LEFT_OUT` in its place."""
        rows, full = rows_of(batch), int(state[0])
        if rows is None:
            if self._mask is not None:
                raise ValueError(
                    f"{self._stage}: pad: leaves with one size of the first axis were expected, "
                    f"got {_shapes(batch)}; batch first"
                )
            return state, batch
        if full <= 0 and self._full_of:
            full = self._full_of(batch)
        elif full <= 0:
            full = (self._first_rows(batch) or rows) if full < 0 else rows
        short = self._drop and rows < full
        if self._is_odd(rows, full) or (short and state[1]):
            raise ValueError(
                f"{self._stage}: batches of {full} rows were expected, and a shorter one at the "
                f"end, got one of {rows} rows{' after a shorter one' * short}; "
                "drop_remainder=False takes batches of all sizes"
            )
        state = (np.int64(full), np.bool_(short))
        if short:
            return state, LEFT_OUT
        if self._own_mask and rows < full:
            self._check_own_mask(batch, rows)
            return state, map_leaves(lambda leaf: _filled(leaf, full), batch)
        return state, batch if self._mask is None else self._padded(batch, rows, full)

    def _is_odd(self, rows: int, full: int) -> bool:
        pads = self._own_mask or self._mask is not None
        return (self._drop or pads or self._full_of is not None) and rows > full

    def _check_own_mask(self, batch: Any, rows: int) -> None:
        masks: list[Any] = []

        def note(leaf: Any) -> None:
            if getattr(leaf, "dtype", None) == np.bool_ and leaf.shape == (rows,):
                masks.append(leaf)

        map_leaves(note, batch)
        if not masks:
            raise ValueError(
                f"{self._stage}: a mask in the batch was expected, as shard_evenly adds it to "
                f"what it fills up, got {_shapes(batch)}; let functions keep it, or choose "
                "drop_remainder=True or False"
            )

    def _padded(self, batch: Any, rows: int, full: int) -> Any:
        if rows < full:
            batch = map_leaves(lambda leaf: _filled(leaf, full), batch)
        return self._masked(batch, np.arange(full) < rows)

    def _masked(self, batch: Any, mask: Any) -> Any:
        if isinstance(batch, dict):
            return {**batch, self._mask: self._with_own(batch, mask)}
        if not is_nested(batch):
            return batch, mask
        if type(batch) is tuple:
            return (*batch, mask)
        raise TypeError(
            f"{self._stage}: pad: dicts, tuples or single arrays were expected as batches, got a "
            f"{type(batch).__name__}, which has no room for the mask; map them to dicts first"
        )

    def _with_own(self, batch: dict[Any, Any], mask: Any) -> Any:
        """Return the mask without the rows that the batch's own mask excludes."""
        if self._mask not in batch:
            return mask
        own = batch[self._mask]
        if np.asarray(own).dtype.kind != "b" or np.shape(own) != mask.shape:
            raise ValueError(
                f"{self._stage}: pad: the batch has a leaf {self._mask!r} that is no mask of its "
                f"rows ({_shapes(own)}); name another key: pad='real'"
            )
        return own & mask


def _filled(leaf: Any, full: int) -> Any:
    if not getattr(leaf, "shape", ()):
        return leaf
    if leaf.dtype == object:
        rest = np.full((full - len(leaf), *leaf.shape[1:]), _nothing(leaf), object)
    else:
        rest = np.zeros((full - len(leaf), *leaf.shape[1:]), leaf.dtype)
    return np.concatenate([leaf, rest])


def _nothing(leaf: Any) -> Any:
    """Return the padding value for objects: an empty string, or None."""
    first = leaf.flat[0] if leaf.size else None
    return type(first)() if isinstance(first, (str, bytes)) else None


def _shapes(batch: Any) -> str:
    if not is_nested(batch):
        return str(getattr(batch, "shape", type(batch).__name__))
    return ", ".join(f"{key}: {_shapes(part)}" for key, part in parts_of(batch))
