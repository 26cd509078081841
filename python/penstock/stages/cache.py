"""Elements that are kept for later passes: cache."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.ops.call import call
from penstock.ops.native import native
from penstock.paths import name_of
from penstock.plan import Plan
from penstock.stages.arguments import given
from penstock.stages.map import map_for
from penstock.structure import TensorSpec, is_nested, map_parts, parts_of

_D = TypeVar("_D", bound="Cache")

_P = TypeVar("_P", bound=Plan)
_AUTOTUNE = -1  # dataset.AUTOTUNE
_IMAGES = {"coefficients": "image.jpeg_coefficients", "index": "image.index_jpeg"}


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
        images: Literal["coefficients", "index"] | None = None,
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
        images : str, optional
            Keeps of JPEGs (leaves that are bytes) what later passes decode to the same pixels for
            less work: ``"coefficients"`` what `image.jpeg_coefficients` makes of them, ``"index"``
            what `image.index_jpeg` does. It looks at `element_spec`. ``None`` keeps all bytes as
            they are.

        Returns
        -------
        Dataset
            The same elements in the same order, but for the bytes of JPEGs with `images`. Arrays
            from a cache in memory are read-only: it and later passes hold them too.

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
        kept = self if images is None else _with_images(self, _IMAGES[images], name)
        if not file:
            return kept._then("cache", name=name)
        return kept._then("cache_file", filename=file, name=name, **given(structures=structures))


def _with_images(dataset: _P, operation: str, name: str | None) -> _P:
    """Return the elements with what the operation makes of their JPEGs."""
    spec = dataset.element_spec  # type: ignore[attr-defined]
    unpacked = isinstance(spec, tuple) and not hasattr(spec, "_fields")

    def stored(*parts: Any) -> Any:
        return _stored(operation, spec, parts if unpacked else parts[0])

    return map_for("cache", dataset, native(stored), _AUTOTUNE, deterministic=True, name=name)


def _stored(operation: str, spec: Any, value: Any) -> Any:
    """Return a value of that spec with its JPEGs changed; of what type it is only the spec says."""
    if is_nested(spec):
        parts = dict(parts_of(value))
        return map_parts(lambda key, part: _stored(operation, part, parts[key]), spec)
    if isinstance(spec, TensorSpec) and spec.dtype == bytes:
        return call(operation, [value])
    return value
