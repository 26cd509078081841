"""Transformations that inspect one element: enumerate, skip, take, take_while, unique."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stages.arguments import check_callable

_D = TypeVar("_D", bound="Rows")


@checked_methods
class Rows(Plan):
    """Mixin: numbering and selecting individual elements. Add similar stages here as methods."""

    __slots__ = ()

    def take(self: _D, count: int, name: str | None = None) -> _D:
        """Take the first elements.

        Parameters
        ----------
        count : int
            Number of elements; a negative number means all.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            At most `count` elements.

        Notes
        -----
        An element that fails counts too, so errors do not change which elements are taken.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(9).take(2)]
        [0, 1]
        """
        return self._then("take", count=count, name=name)

    def skip(self: _D, count: int, name: str | None = None) -> _D:
        """Skip the first elements.

        Parameters
        ----------
        count : int
            Number of elements; a negative number means all.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The remaining elements.

        Notes
        -----
        Skipped elements are still computed, because they may fail or have side effects; an error is
        raised, and its element counts. Directly after `range` and `from_tensor_slices`, skipping
        costs nothing.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(5).skip(3)]
        [3, 4]
        """
        return self._then("skip", count=count, name=name)

    def enumerate(self: _D, start: int = 0, name: str | None = None) -> _D:
        """Pair each element with its number.

        Parameters
        ----------
        start : int
            Number of the first element.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Pairs ``(number, element)``, with numbers of dtype int64.

        Examples
        --------
        >>> [(int(i), s) for i, s in ps.Dataset.from_tensor_slices(["a", "b"]).enumerate(5)]
        [(5, 'a'), (6, 'b')]
        """
        return self._then("enumerate", start=start, name=name)

    def take_while(self: _D, predicate: Callable[..., Any], name: str | None = None) -> _D:
        """End before the first element for which a predicate does not return True.

        Parameters
        ----------
        predicate : callable
            Takes the element as a `map` function does; returns one bool. May be native.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The elements before that one; their number is not known in advance.

        Raises
        ------
        TypeError
            At the call, if `predicate` is not callable. While iterating, if it does not return one
            bool; the next element follows.

        Notes
        -----
        An element that fails, or whose predicate raises, does not end the dataset: the next one
        follows.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(100).take_while(lambda x: x * x < 10)]
        [0, 1, 2, 3]
        """
        check_callable("take_while", "predicate", predicate)
        return self._then("take_while", predicate=predicate, name=name)

    def unique(self: _D, name: str | None = None) -> _D:
        """Drop elements that have occurred before.

        Parameters
        ----------
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The first occurrence of each element, in order; their number is not known in advance.

        Raises
        ------
        TypeError
            If elements are not integers, booleans or strings: at the call where that is known,
            otherwise at each of them.
        ValueError
            If elements do not have exactly one leaf: at the call or at each of them, likewise.

        Notes
        -----
        Arrays are equal if all their items are.

        Memory: a copy of each distinct element and about 60 bytes, as long as the iterator lives. A
        saved state contains none of them: a restored iterator reads the input again from the
        beginning up to its position.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()]
        [1, 37, 2]
        """
        return self._then("unique", name=name)
