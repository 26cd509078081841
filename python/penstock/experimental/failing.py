"""`Dataset.ignore_errors`, as a function for ``ds.apply``."""

from __future__ import annotations

from penstock.arguments.checked import checked
from penstock.experimental.transformations import Transformation

__all__ = ["ignore_errors"]


@checked
def ignore_errors(log_warning: bool = False) -> Transformation:
    """Skip elements that fail: `Dataset.ignore_errors`.

    Parameters
    ----------
    log_warning : bool
        Log each error as a warning of the `logging` logger ``"penstock"``.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Notes
    -----
    Skips at most 100 consecutive errors; the method accepts another limit.

    Examples
    --------
    >>> ds = ps.Dataset.range(4).map(lambda x: 6 // int(x))
    >>> [int(x) for x in ds.apply(ps.experimental.ignore_errors())]
    [6, 3, 2]
    """
    return lambda dataset: dataset.ignore_errors(log_warning)
