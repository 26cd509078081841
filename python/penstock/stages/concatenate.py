"""Concatenation of two datasets: concatenate."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="Concatenate")


@checked_methods
class Concatenate(Plan):
    """Mixin: concatenation."""

    __slots__ = ()

    def concatenate(self: _D, dataset: _D, name: str | None = None) -> _D:
        """Append the elements of another dataset.

        Parameters
        ----------
        dataset : Dataset
            The dataset that follows this one.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The elements of both. If shapes differ along an axis, `element_spec` shows None for it.

        Raises
        ------
        TypeError
            If `dataset` is not a Dataset, or structure or dtypes differ, where they are known
            without calling a function.

        Examples
        --------
        >>> a = ps.Dataset.range(2)
        >>> [int(x) for x in a.concatenate(ps.Dataset.range(7, 9))]
        [0, 1, 7, 8]
        """
        if not isinstance(dataset, Plan):
            raise TypeError(f"concatenate: a Dataset was expected, got {dataset!r}")
        return self._then("concatenate", dataset, name=name)
