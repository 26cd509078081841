"""Single elements of a dataset: first, get_single_element."""

from __future__ import annotations

import itertools
from typing import Any

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan


@checked_methods
class Single(Plan):
    """Mixin: access to a single element."""

    __slots__ = ()

    def first(self) -> Any:
        """Return the first element, and end the iteration.

        Returns
        -------
        nested arrays
            The element.

        Raises
        ------
        ValueError
            If the dataset is empty.

        Notes
        -----
        The call counts as an epoch: if a shuffle reshuffles in each iteration, the next iteration
        has the order of the second epoch.

        Examples
        --------
        >>> int(ps.Dataset.range(3, 10).first())
        3
        """
        with iter(self) as it:
            for element in it:
                return element
        raise ValueError("first: the dataset is empty")

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the element of a dataset that has exactly one.

        Parameters
        ----------
        name : str, optional
            Ignored; accepted for compatibility with TensorFlow.

        Returns
        -------
        nested arrays
            The element.

        Raises
        ------
        ValueError
            If the dataset is empty, or has more than one element.

        Examples
        --------
        >>> ps.Dataset.range(5).batch(5).get_single_element()
        array([0, 1, 2, 3, 4])
        """
        with iter(self) as it:
            elements = list(itertools.islice(it, 2))
        if len(elements) == 1:
            return elements[0]
        came = "it has more; use first() to take one of several" if elements else "it is empty"
        raise ValueError(f"get_single_element: a dataset of one element was expected, {came}")
