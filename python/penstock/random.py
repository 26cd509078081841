"""The global seed."""

from __future__ import annotations

from penstock import _core


def set_seed(seed: int | None) -> None:
    """Make every run and every random operation after this call repeatable.

    Parameters
    ----------
    seed : int or None
        The n-th iterator made after the call gets the n-th seed that follows from it; so do random
        operations outside of pipelines. None goes back to seeds from the operating system.

    Examples
    --------
    >>> ps.random.set_seed(7)
    >>> a = [int(x) for x in ps.Dataset.range(5).shuffle(5)]
    >>> ps.random.set_seed(7)
    >>> a == [int(x) for x in ps.Dataset.range(5).shuffle(5)]
    True
    >>> ps.random.set_seed(None)

    Notes
    -----
    A seed given to a stage or operation itself takes the place of this one. The random generators
    of Python and NumPy are not touched.
    """
    if seed is None:
        _core.clear_seed()
    else:
        _core.set_seed(seed & 0xFFFFFFFFFFFFFFFF)
