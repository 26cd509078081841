"""The source over datasets that were saved: load."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked_methods
from penstock.paths import path_of

if TYPE_CHECKING:
    from penstock.dataset import Dataset


@checked_methods
class SavedSources:
    """Mixin: datasets that were saved."""

    __slots__ = ()

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[Dataset], Dataset] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Read a dataset that `Dataset.save` has written.

        Parameters
        ----------
        path : str or path
            The folder.
        element_spec : nested TensorSpec, optional
            What the elements must be. Not needed, but for dataclasses that cannot be imported by
            their name: give it with the class in the place where it belongs.
        compression : str, optional
            Not needed: the files tell.
        reader_func : callable, optional
            Takes a Dataset of the Datasets of all files and returns a Dataset of elements, with
            `interleave` or `shuffle`, say. None reads one file after the other.
        wait : bool
            Accepted for programs written for tf.data; a folder appears when all of it is written.

        Returns
        -------
        Dataset
            The elements, in the order in which they were saved (within each file).

        Raises
        ------
        FileNotFoundError
            If nothing is there.
        DataError
            If a file is damaged or was not written by `save`; for rows in the middle of one, while
            iterating, once for the about one megabyte that they share. The iterator goes on behind
            them.
        ValueError
            If the elements do not fit `element_spec`.

        Notes
        -----
        When all elements are numbers or arrays of one shape, and uncompressed, rows can be read in
        any order: `shuffle` directly behind keeps only their numbers, and `skip` jumps.

        Memory: one chunk, about a megabyte or one element.

        Examples
        --------
        >>> ps.Dataset.from_tensor_slices({"x": [1, 2]}).save("saved-dicts")
        >>> [int(e["x"]) for e in ps.Dataset.load("saved-dicts")]
        [1, 2]
        """
        path = path_of("load", "path", path)
        folder = Path(path)
        if not folder.exists():
            raise FileNotFoundError(2, "load: there is no such folder", path)
        if not (folder / _core.MANIFEST_NAME).exists():
            raise ValueError(
                f"load: {path!r} was expected to be a folder that Dataset.save has "
                f"written, but it has no {_core.MANIFEST_NAME}"
            )
        return read_saved(path, element_spec, reader_func)


def read_saved(
    path: str, element_spec: Any, reader_func: Callable[[Dataset], Dataset] | None
) -> Dataset:
    """Return the dataset of a folder, or what `reader_func` makes of those of its files."""
    from penstock.dataset import Dataset

    args: dict[str, Any] = {"path": path, "element_spec": element_spec}
    if reader_func is None:
        return Dataset._make("load", (), args)
    count = sum(
        line.startswith("shard ")
        for line in (Path(path) / _core.MANIFEST_NAME).read_text().splitlines()
    )
    shards = np.empty(count, dtype=object)
    for i in range(count):
        shards[i] = Dataset._make("load", (), {**args, "shard": i})
    dataset = reader_func(Dataset.from_tensor_slices(shards))
    if not isinstance(dataset, Dataset):
        raise TypeError(f"load: reader_func must return a Dataset, got {dataset!r}")
    return dataset
