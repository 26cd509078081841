"""Transformations of order and number: shuffle, repeat, take, skip, shard, enumerate."""

from __future__ import annotations

from typing import Self

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan


@checked_methods
class Ordering(Plan):
    """Mixin: which elements come, and in what order."""

    __slots__ = ()

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Self:
        """Shuffle through a buffer: each output is a uniform choice among its elements.

        Parameters
        ----------
        buffer_size : int
            Elements in the buffer, >= 1. With at least as many as the dataset has, the order is a
            uniform permutation.
        seed : int, optional
            Makes the orders repeatable: a dataset made again gives the same sequence of epochs.
            None: they follow from the seed that the iterator takes when it is made (see
            `set_seed`), or, with ``reshuffle_each_iteration=False``, from one taken now.
        reshuffle_each_iteration : bool, optional
            Whether each epoch and each new iterator has an order of its own; None means True too.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            The same elements in another order.

        Raises
        ------
        ValueError
            If `buffer_size` < 1.

        Notes
        -----
        Order: an element moves forward by less than `buffer_size` places, so a small buffer over
        sorted data shuffles little. Neither threads nor prefetching change the order.

        Memory: `buffer_size` elements, filled at the first ``next``. Before `repeat`, those of the
        next epoch fill it while the last ones of an epoch leave it. Behind `from_tensor_slices`
        and `range` only row numbers are buffered. A saved state holds counters: the elements in the
        buffer are read again.

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

    def repeat(self, count: int | None = None, name: str | None = None) -> Self:
        """Go through the dataset again and again.

        Parameters
        ----------
        count : int, optional
            How many times; 0 gives nothing; None or a negative number: for ever.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            The epochs one after the other, without a mark between them.

        Notes
        -----
        An epoch without any element ends it, so an empty dataset stays empty. Stages before it
        start anew with each epoch: `shuffle` draws another order, and random operations in `map`
        other numbers.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        return self._then("repeat", count=-1 if count is None else count, name=name)

    def take(self, count: int, name: str | None = None) -> Self:
        """Give the first elements.

        Parameters
        ----------
        count : int
            How many; more than there are, or a negative number: all of them.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            At most `count` elements.

        Notes
        -----
        An element that fails counts too: what is taken does not depend on what fails.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(9).take(2)]
        [0, 1]
        """
        return self._then("take", count=count, name=name)

    def skip(self, count: int, name: str | None = None) -> Self:
        """Leave out the first elements.

        Parameters
        ----------
        count : int
            How many; more than there are, or a negative number: all of them.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            The elements behind them.

        Notes
        -----
        What is left out is computed all the same, because it may fail or have effects; an element
        that fails is raised, and counts. Right behind `range` and `from_tensor_slices` skipping
        costs nothing.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(5).skip(3)]
        [3, 4]
        """
        return self._then("skip", count=count, name=name)

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Self:
        """Give every `num_shards`-th element, from number `index` on.

        Parameters
        ----------
        num_shards : int
            How many parts the data is dealt out to, >= 1.
        index : int
            Which of them this is, in ``[0, num_shards)``.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            The elements number ``index``, ``index + num_shards``, and so on.

        Raises
        ------
        ValueError
            If `num_shards` < 1 or `index` is not in ``[0, num_shards)``.

        Notes
        -----
        Put it before anything random, so that the shards fit together, and early (over file names,
        say), so that the others' elements are not computed.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        return self._then("shard", num_shards=num_shards, index=index, name=name)

    def enumerate(self, start: int = 0, name: str | None = None) -> Self:
        """Pair each element with its number.

        Parameters
        ----------
        start : int
            Number of the first element.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            Of ``(number, element)``, numbers of dtype int64.

        Examples
        --------
        >>> [(int(i), s) for i, s in ps.Dataset.from_tensor_slices(["a", "b"]).enumerate(5)]
        [(5, 'a'), (6, 'b')]
        """
        return self._then("enumerate", start=start, name=name)
