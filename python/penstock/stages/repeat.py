"""Several passes: repeat."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="Repeat")


@checked_methods
class Repeat(Plan):
    """Mixin: the same elements again."""

    __slots__ = ()

    def repeat(self: _D, count: int | None = None, name: str | None = None) -> _D:
        """Go through the dataset again and again.

        Parameters
        ----------
        count : int, optional
            How many times; None or a negative number means for ever.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The epochs one after the other, without a mark between them.

        Notes
        -----
        An epoch without any element ends the repetition, so an empty dataset stays empty. Stages
        before it start again with each epoch: `shuffle` draws another order, and random operations
        in `map` draw other numbers.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        return self._then("repeat", count=-1 if count is None else count, name=name)
