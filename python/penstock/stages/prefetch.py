"""Producing elements ahead of their use: prefetch."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stage import Stage

_D = TypeVar("_D", bound="Prefetch")


@checked_methods
class Prefetch(Plan):
    """Mixin: prefetching."""

    __slots__ = ()

    def prefetch(self: _D, buffer_size: int | None, name: str | None = None) -> _D:
        """Produce elements ahead of use, in a background thread.

        Parameters
        ----------
        buffer_size : int or None
            Number of elements (after `batch`: batches) to keep ready. AUTOTUNE (-1) or None starts
            with 2 and doubles the number, up to 64, whenever the buffer runs empty after it was
            full. 0 does nothing.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The same elements in the same order.

        Raises
        ------
        ValueError
            If `buffer_size` < -1.

        Notes
        -----
        The thread starts at the first ``next``, and all earlier stages run in it. An error is
        raised at its position among the elements.

        Memory: up to `buffer_size` elements, within ``Options.memory_limit``.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(3).prefetch(2)]
        [0, 1, 2]
        """
        size = -1 if buffer_size is None else buffer_size
        return self._then("prefetch", buffer_size=size, name=name)


def is_prefetched(plan: Stage) -> bool:
    """Return whether a plan already ends with prefetch, so that another one has no effect."""
    return plan._kind == "prefetch"
