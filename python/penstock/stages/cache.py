"""Elements that are kept for later passes: cache."""

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
    """Mixin: not doing the same work twice."""

    __slots__ = ()

    def cache(
        self: _D,
        filename: str | os.PathLike[str] = "",
        name: str | None = None,
        *,
        structures: Sequence[type] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> _D:
        """Keep the elements of the first full pass, in memory or in a file, for all later ones.

        Parameters
        ----------
        filename : str or path
            "" keeps them in memory. A name or URL keeps them in that file, for later processes too;
            the folders on the way are made.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        structures : sequence of type, optional
            Named tuples, dataclasses and attrs classes of the elements, for a file that another
            process has filled. Needed only for those that the first element has not.
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        Dataset
            The same elements in the same order. Arrays from a cache in memory are read-only,
            because the cache and later passes hold them too.

        Raises
        ------
        OSError
            While iterating, if the file cannot be created or opened.
        TypeError
            While iterating, for an opaque Python object, which no file can hold.

        Notes
        -----
        The cache is complete when one iterator has read the dataset to its end without an error;
        until then each pass computes. So write ``take(k).cache()``, not ``cache().take(k)``. Put it
        before anything random that should differ from epoch to epoch.

        In memory it belongs to this dataset object, and every iterator over it shares it. It takes
        the memory of all elements, as long as the dataset lives, which `Options.memory_limit` does
        not count. A saved state holds none of them: after a restore in another process the cache
        is filled again.

        A file is written beside its name and renamed when it is complete, so that a crash or a
        second process leaves no incomplete cache. A file of another pipeline, or of this one before
        its functions or input files changed, or a damaged one, is written again, with a
        RuntimeWarning. A full disk gives a warning and no cache, and the pass continues. About a
        megabyte of the file is held in memory. See docs/guides/caching.md.

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
