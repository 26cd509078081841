"""Transformations that change when work is done, not what comes: prefetch, cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.dataset import Dataset


class Speed:
    """Mixin: working ahead and not working twice."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _then(self, kind: str, *others: Dataset, **args: Any) -> Dataset: ...

    def prefetch(self, buffer_size: int | None, name: str | None = None) -> Dataset:
        """Produce elements ahead of use, in a thread of its own.

        Parameters
        ----------
        buffer_size : int or None
            Elements (behind `batch`: batches) to have ready. AUTOTUNE (-1) or None starts with 2
            and doubles whenever the buffer runs empty after it was full, up to 64. 0 does nothing.
        name : str, optional
            A label without further meaning.

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
        error takes its place among the elements, and is raised there.

        Memory: up to `buffer_size` elements, within ``Options.memory_limit``.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(3).prefetch(2)]
        [0, 1, 2]
        """
        return self._then("prefetch", buffer_size=-1 if buffer_size is None else buffer_size)

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Keep the elements of the first full pass in memory, for all later ones.

        Parameters
        ----------
        filename : str
            "" keeps them in memory. (Caches in files come with a later version.)
        name : str, optional
            A label without further meaning.

        Returns
        -------
        Dataset
            The same elements in the same order. Arrays from the cache are read-only: it and later
            passes hold them too.

        Raises
        ------
        ValueError
            If `filename` is not empty.

        Notes
        -----
        The cache is complete when one iterator has read the dataset to its end without an error;
        until then each pass computes. So ``take(k).cache()``, not ``cache().take(k)``. It belongs
        to this dataset object, and every iterator over it shares it. Put it before anything random
        that should differ from epoch to epoch.

        Memory: all elements, as long as the dataset lives; `Options.memory_limit` does not count
        them. A saved state holds none of them: after a restore in another process the cache is
        filled again.

        Examples
        --------
        >>> calls = []
        >>> ds = ps.Dataset.range(3).map(lambda x: calls.append(1) or x).cache()
        >>> [len(list(ds)), len(list(ds)), len(calls)]
        [3, 3, 3]
        """
        if filename:
            raise ValueError(
                f"cache: only the memory form exists so far, got filename {filename!r}; "
                "leave it empty"
            )
        return self._then("cache")
