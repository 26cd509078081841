"""Random order: shuffle."""

from __future__ import annotations

from typing import TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="Shuffle")


@checked_methods
class Shuffle(Plan):
    """Mixin: shuffling."""

    __slots__ = ()

    def shuffle(
        self: _D,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> _D:
        """Shuffle with a buffer: each output is drawn uniformly from the buffer.

        Parameters
        ----------
        buffer_size : int
            Number of elements in the buffer, >= 1. The order is a uniformly random permutation if
            the buffer is at least as large as the dataset, or if this is `UNKNOWN_CARDINALITY`.
        seed : int, optional
            Makes the order reproducible: a rebuilt dataset yields the same sequence of epochs, at
            any position of the stage in the pipeline. Datasets of equal size that are shuffled with
            the same seed and `buffer_size` have the same order. None draws from the seed of the
            iterator (see `set_seed`), or, with ``reshuffle_each_iteration=False``, from a seed
            drawn at this call.
        reshuffle_each_iteration : bool, optional
            Whether each epoch and each new iterator has its own order; None means True.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The same elements in random order.

        Raises
        ------
        ValueError
            If `buffer_size` < 1, or if it is `UNKNOWN_CARDINALITY` and the dataset is infinite.

        Notes
        -----
        Order: an element moves forward by less than `buffer_size` positions, so a small buffer
        shuffles sorted data only slightly. Neither threads nor prefetching change the order.

        Memory: `buffer_size` elements, filled at the first ``next``. Before `repeat`, elements of
        the next epoch enter the buffer while the last elements of an epoch leave it. After
        `from_tensor_slices`, `range` and files with ``indexed=True``, only row numbers are
        buffered. A saved state holds counters: a restored iterator reads the elements in the buffer
        again.

        Examples
        --------
        >>> sorted(int(x) for x in ps.Dataset.range(5).shuffle(3, seed=1))
        [0, 1, 2, 3, 4]
        """
        return self._then(
            "shuffle",
            buffer_size=buffer_size,
            seed=seed,
            reshuffle_each_iteration=reshuffle_each_iteration is not False,
            name=name,
        )
