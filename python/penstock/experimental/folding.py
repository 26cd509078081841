"""`Dataset.scan`, as a function for ``ds.apply``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.arguments.checked import checked
from penstock.experimental.transformations import Transformation

__all__ = ["scan"]


@checked
def scan(initial_state: Any, scan_func: Callable[[Any, Any], tuple[Any, Any]]) -> Transformation:
    """Apply a function to each element and a state that is passed along: `Dataset.scan`.

    Parameters
    ----------
    initial_state, scan_func
        As in `Dataset.scan`.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> sums = ps.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x))
    >>> [int(x) for x in ps.Dataset.range(1, 5).apply(sums)]
    [1, 3, 6, 10]
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)
