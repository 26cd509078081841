"""Storage of elements for later epochs: cache."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.paths import name_of
from penstock.plan import Plan
from penstock.stages.arguments import given

_D = TypeVar("_D", bound="Cache")


@checked_methods
class Cache(Plan):
    """Mixin: caching."""

    __slots__ = ()

    def cache(
        self: _D,
        filename: str | os.PathLike[str] = "",
        name: str | None = None,
        *,
        structures: Sequence[type] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> _D:
        """Store the elements of the first complete pass, in memory or in a file, and reuse them.

        Parameters
        ----------
        filename : str or path
            "" stores them in memory. A name or URL stores them in that file, for later processes
            too; missing parent folders are created.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        structures : sequence of type, optional
            Named tuples, dataclasses and attrs classes of the elements, for a file that another
            process has written. Needed only for classes that do not occur in the first element.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        Dataset
            The same elements in the same order. Arrays from a memory cache are read-only, because
            the cache and later passes share them.

        Raises
        ------
        OSError
            While iterating, if the file cannot be created or opened.
        TypeError
            While iterating, for an opaque Python object, which cannot be stored in a file.

        Notes
        -----
        The cache is complete once an iterator has read the dataset to its end without an error;
        until then, each pass computes the elements. So write ``take(k).cache()``, not
        ``cache().take(k)``. Put `cache` before anything random that should differ between epochs.

        A memory cache belongs to this dataset object, and all its iterators share it. It holds all
        elements in memory as long as the dataset lives, and `Options.memory_limit` does not count
        them. A saved state contains none of them: after a restore in another process the cache is
        filled again.

        A file is written under a temporary name and renamed when it is complete, so a crash or a
        second process never leaves an incomplete cache. A file is rewritten, with a RuntimeWarning,
        if it is damaged, was written by another pipeline, or predates a change of this pipeline's
        functions or input files. If the disk is full, the pass continues without a cache and warns.
        About 1 MB of the file is held in memory. See docs/guides/caching.md.

        Examples
        --------
        >>> calls = []
        >>> ds = ps.Dataset.range(3).map(lambda x: calls.append(1) or x).cache()
        >>> [len(list(ds)), len(list(ds)), len(calls)]
        [3, 3, 3]
        >>> ds = ps.Dataset.range(3).cache("three.cache")
        >>> list(ds) == list(ds)
        True
        """
        file = name_of("cache", "filename", filename)
        if not file:
            return self._then("cache", name=name)
        return self._then("cache_file", filename=file, name=name, **given(structures=structures))
