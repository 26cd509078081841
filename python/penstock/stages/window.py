"""Windows of consecutive elements as datasets: window."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="Window")


@checked_methods
class Window(Plan):
    """Mixin: windows."""

    __slots__ = ()

    def window(
        self: _D,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> _D:
        """Group consecutive elements into windows, each of which is a dataset.

        Parameters
        ----------
        size : int
            Elements per window, >= 1.
        shift : int, optional
            Distance between the starts of consecutive windows, >= 1; None means `size`. A distance
            shorter than the window makes windows overlap; a longer one skips elements.
        stride : int
            Distance between consecutive elements of a window, >= 1; 2 takes every other element.
        drop_remainder : bool
            Drop windows at the end that have fewer than `size` elements.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            One dataset per window. For nested elements, each leaf has a separate window: a dict of
            datasets, a tuple of datasets.

        Raises
        ------
        ValueError
            If `size`, `shift` or `stride` is < 1.

        Notes
        -----
        A window is a dataset like any other: iterate it, transform it, or turn all windows into
        batches with ``flat_map(lambda w: w.batch(size))``. It holds its elements in memory as long
        as it is referenced; it cannot be pickled.

        Errors: the error of an element is raised at its position, and the element is skipped: the
        window continues with the next one.

        A saved state holds no elements: after `Iterator.set_state`, elements of an unfinished
        window are read again.

        Examples
        --------
        >>> for w in ps.Dataset.range(7).window(3, shift=2):
        ...     print([int(x) for x in w])
        [0, 1, 2]
        [2, 3, 4]
        [4, 5, 6]
        [6]
        >>> ds = ps.Dataset.range(6).window(3, shift=1, drop_remainder=True)
        >>> for batch in ds.flat_map(lambda w: w.batch(3)):
        ...     print(batch)
        [0 1 2]
        [1 2 3]
        [2 3 4]
        [3 4 5]
        """
        return self._then(
            "window",
            size=size,
            shift=shift,
            stride=stride,
            drop_remainder=drop_remainder,
            name=name,
        )
