"""Functions of iterators."""

from __future__ import annotations

from penstock.iterator import Iterator
from penstock.optional import Optional


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return ``iterator.get_next_as_optional()``.

    Parameters
    ----------
    iterator : Iterator
        What ``iter(dataset)`` gave.

    Returns
    -------
    Optional
        Empty at the end of the data.

    Examples
    --------
    >>> it = iter(ps.Dataset.range(3))
    >>> ps.experimental.get_next_as_optional(it)
    Optional(np.int64(0))
    """
    return iterator.get_next_as_optional()
