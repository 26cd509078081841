"""The source for file names: list_files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.paths import Names, patterns_of
from penstock.printable import shown
from penstock.remote.listing import files_matching
from penstock.stages.shuffle import Shuffle
from penstock.stages.tensors import Tensors

_D = TypeVar("_D", bound="ListFiles")


@checked_methods
class ListFiles(Tensors, Shuffle):
    """Mixin: datasets of file names."""

    __slots__ = ()

    @classmethod
    def list_files(
        cls: type[_D],
        file_pattern: Names | Sequence[Names],
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
        *,
        include_directories: bool = True,
        storage_options: Mapping[str, Any] | None = None,
    ) -> _D:
        """List the files that match one or more glob patterns.

        Parameters
        ----------
        file_pattern : str, path, or sequence of them
            Patterns with ``*``, ``?``, ``[...]`` and ``**``; may be URLs.
        shuffle : bool, optional
            Reshuffle the names in each epoch; None means True, as in tf.data.
        seed : int, optional
            Seed of the shuffle.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        include_directories : bool, optional
            Whether to include directories that match, as tf.data does.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        Dataset
            File names (`str`); sorted within each pattern if ``shuffle=False``.

        Raises
        ------
        FileNotFoundError
            If a pattern matches nothing.
        ValueError
            If there is no pattern.

        Notes
        -----
        Patterns are matched once, at the call. Names that begin with a dot match only patterns that
        also begin with a dot. ``**`` follows symbolic links to folders, but enters each real folder
        once.

        Examples
        --------
        >>> from pathlib import Path
        >>> for name in ("b.txt", "a.txt"):
        ...     Path(name).touch()
        >>> list(ps.Dataset.list_files("*.txt", shuffle=False))
        ['a.txt', 'b.txt']
        """
        patterns = patterns_of("list_files", "file_pattern", file_pattern)
        if not patterns:
            raise ValueError("list_files: at least one pattern was expected, got none")
        names: list[str] = []
        for pattern in patterns:
            matches = files_matching(pattern)
            if not include_directories:
                matches = [each for each in matches if not os.path.isdir(each)]  # noqa: PTH112
            if not matches:
                raise FileNotFoundError(f"list_files: no file matches {shown(repr(pattern))}")
            names.extend(matches)
        dataset = cls.from_tensor_slices(np.array(names, dtype=object), name)
        if shuffle is None or shuffle:
            dataset = dataset.shuffle(len(names), seed=seed)
        call = {"file_pattern": file_pattern, "shuffle": shuffle, "seed": seed}
        if dataset._name is None:
            call["name"] = name
        dataset._written = ("list_files", call)
        return dataset
