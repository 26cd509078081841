"""Several epochs: repeat."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="Repeat")


@checked_methods
class Repeat(Plan):
    """Mixin: repetition."""

    __slots__ = ()

    def repeat(self: _D, count: int | None = None, name: str | None = None) -> _D:
        """Repeat the dataset.

        Parameters
        ----------
        count : int, optional
            Number of epochs; None or a negative number repeats forever.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The epochs sequentially, without a marker between them.

        Notes
        -----
        An empty epoch ends the repetition, so an empty dataset stays empty. Earlier stages restart
        with each epoch: `shuffle` draws a new order, and random operations in `map` draw new
        numbers.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        return self._then("repeat", count=-1 if count is None else count, name=name)
