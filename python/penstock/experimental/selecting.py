"""Functions for ``ds.apply`` that select elements: take_while, unique."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.arguments.checked import checked
from penstock.dataset import Dataset


@checked
def take_while(predicate: Callable[..., Any]) -> Callable[[Dataset], Dataset]:
    """End before the first element for which `predicate` is not True: `Dataset.take_while`.

    Parameters
    ----------
    predicate : callable
        Takes each element; returns one bool.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> small = ps.experimental.take_while(lambda x: x < 3)
    >>> [int(x) for x in ps.Dataset.range(10).apply(small)]
    [0, 1, 2]
    """
    return lambda dataset: dataset.take_while(predicate)


@checked
def unique() -> Callable[[Dataset], Dataset]:
    """Drop elements that have occurred before: `Dataset.unique`.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> [int(x) for x in ps.Dataset.range(2).repeat(3).apply(ps.experimental.unique())]
    [0, 1]
    """
    return lambda dataset: dataset.unique()
