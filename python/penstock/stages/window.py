"""Consecutive elements as datasets: window."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="Window")


@checked_methods
class Window(Plan):
    """Mixin: elements that are datasets."""

    __slots__ = ()

    def window(
        self: _D,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> _D:
        """Gather consecutive elements into windows, each of which is a dataset.

        Parameters
        ----------
        size : int
            Elements of a window, >= 1.
        shift : int, optional
            Elements from the beginning of a window to that of the next, >= 1; None means `size`.
            Less than the window's length makes windows overlap, more leaves elements out.
        stride : int
            From each element of a window to the next one, >= 1; 2 takes every other element.
        drop_remainder : bool
            Leave out the windows at the end that have fewer than `size` elements.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            One element for each window: a dataset. Of elements that nest, each leaf has a window of
            its own: a dict of datasets, a tuple of datasets.

        Raises
        ------
        ValueError
            If `size`, `shift` or `stride` is < 1.

        Notes
        -----
        A window is a dataset like any other: iterate it, transform it, or join the elements of all
        windows again with ``flat_map(lambda w: w.batch(size))``. It holds its elements in memory
        for as long as it is referred to; it cannot be pickled.

        Errors: an element that failed is raised at its position, and left out: the window continues
        with the next one.

        States hold no elements: those of the next window that came already are pulled again after
        `Iterator.set_state`.

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
