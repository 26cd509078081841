"""Splitting batches: unbatch."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="Unbatch")


@checked_methods
class Unbatch(Plan):
    """Mixin: unbatching."""

    __slots__ = ()

    def unbatch(self: _D, name: str | None = None) -> _D:
        """Split each element into its rows.

        Parameters
        ----------
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            A leaf of shape ``(n, ...)`` becomes `n` leaves of shape ``(...)``. The number of
            elements is not known in advance, unless `element_spec` contains `n`.

        Raises
        ------
        ValueError
            While iterating, if a leaf is a scalar or the leaves have different numbers of rows;
            the next element follows.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.from_tensors([1, 2, 3]).unbatch()]
        [1, 2, 3]
        """
        return self._then("unbatch", name=name)
