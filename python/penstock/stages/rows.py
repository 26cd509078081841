"""Transformations of one row at a time: enumerate, skip, take, take_while, unique."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stages.arguments import check_callable

_D = TypeVar("_D", bound="Rows")


@checked_methods
class Rows(Plan):
    """Mixin: elements one by one, numbered or left out. A new one of this kind is a method here."""

    __slots__ = ()

    def take(self: _D, count: int, name: str | None = None) -> _D:
        """Give the first elements.

        Parameters
        ----------
        count : int
            How many elements; a negative number means all.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            At most `count` elements.

        Notes
        -----
        An element that fails counts too: what is taken does not depend on what fails.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(9).take(2)]
        [0, 1]
        """
        return self._then("take", count=count, name=name)

    def skip(self: _D, count: int, name: str | None = None) -> _D:
        """Leave out the first elements.

        Parameters
        ----------
        count : int
            How many elements; a negative number means all.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The elements after them.

        Notes
        -----
        Elements that are left out are still computed, because they may fail or have effects; one
        that fails is raised, and counts. Directly after `range` and `from_tensor_slices` skipping
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
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Of ``(number, element)``, numbers of dtype int64.

        Examples
        --------
        >>> [(int(i), s) for i, s in ps.Dataset.from_tensor_slices(["a", "b"]).enumerate(5)]
        [(5, 'a'), (6, 'b')]
        """
        return self._then("enumerate", start=start, name=name)

    def take_while(self: _D, predicate: Callable[..., Any], name: str | None = None) -> _D:
        """End before the first element for which a function does not return True.

        Parameters
        ----------
        predicate : callable
            Called with each element, as in `map`; returns one bool. May be native.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The elements before that one; how many is unknown beforehand.

        Raises
        ------
        TypeError
            At the call, if `predicate` is not callable. While iterating, if it returns anything but
            one bool; the next element follows.

        Notes
        -----
        An element that failed, or whose predicate raised, does not end the dataset: the next one
        follows.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(100).take_while(lambda x: x * x < 10)]
        [0, 1, 2, 3]
        """
        check_callable("take_while", "predicate", predicate)
        return self._then("take_while", predicate=predicate, name=name)

    def unique(self: _D, name: str | None = None) -> _D:
        """Leave out elements that have come before.

        Parameters
        ----------
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The first of all equal elements, in order; how many is unknown beforehand.

        Raises
        ------
        TypeError
            If elements are neither integers, booleans nor strings: at the call when that is known,
            otherwise at each of them.
        ValueError
            If elements have other than one leaf, likewise.

        Notes
        -----
        Arrays are equal when all of their items are.

        Memory: a copy of each different element for as long as the iterator lives, and some 60
        bytes. A saved state holds none of them: restoring it reads the input again from its
        beginning up to that position.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()]
        [1, 37, 2]
        """
        return self._then("unique", name=name)
