"""Functions that take an iterator."""

from __future__ import annotations

from penstock.arguments.checked import checked
from penstock.iterator import Iterator
from penstock.optional import Optional


@checked
def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return ``iterator.get_next_as_optional()``.

    Parameters
    ----------
    iterator : Iterator
        The result of ``iter(dataset)``.

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
    if not hasattr(iterator, "get_next_as_optional"):
        raise TypeError(
            f"get_next_as_optional: iterator must be what iter(dataset) gives, got {iterator!r}"
        )
    return iterator.get_next_as_optional()
