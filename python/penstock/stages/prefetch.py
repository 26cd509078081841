"""prefetch: work that is done ahead of its use."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stage import Stage

_D = TypeVar("_D", bound="Prefetch")


@checked_methods
class Prefetch(Plan):
    """Mixin: working ahead."""

    __slots__ = ()

    def prefetch(self: _D, buffer_size: int | None, name: str | None = None) -> _D:
        """Produce elements ahead of use, in a thread of its own.

        Parameters
        ----------
        buffer_size : int or None
            Elements (after `batch`: batches) to have ready. AUTOTUNE (-1) or None starts with 2 and
            doubles, up to 64, whenever the buffer is empty after it was full. 0 does nothing.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

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
        The thread starts at the first ``next`` and everything before this stage runs in it. An
        error is raised at its position among the elements.

        Memory: up to `buffer_size` elements, within ``Options.memory_limit``.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(3).prefetch(2)]
        [0, 1, 2]
        """
        size = -1 if buffer_size is None else buffer_size
        return self._then("prefetch", buffer_size=size, name=name)


def is_prefetched(plan: Stage) -> bool:
    """Return whether a plan ends with prefetch: another one would make nothing earlier."""
    return plan._kind == "prefetch"
