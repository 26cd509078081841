"""The source over datasets that were saved: load."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked_methods
from penstock.paths import is_url, name_of
from penstock.plan import Plan

_D = TypeVar("_D", bound="Load")


@checked_methods
class Load(Plan):
    """Mixin: datasets that were saved."""

    __slots__ = ()

    @classmethod
    def load(
        cls: type[_D],
        path: str | os.PathLike[str],
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[_D], _D] | None = None,
        wait: bool = False,
        *,
        structures: Sequence[type] | None = None,
        max_record_bytes: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> _D:
        """Read a dataset that `Dataset.save` has written.

        Parameters
        ----------
        path : str or path
            The folder, or its URL.
        element_spec : nested TensorSpec, optional
            What the elements must be. Not needed.
        compression : str, optional
            Not needed: the files say it.
        reader_func : callable, optional
            Takes a Dataset of the Datasets of all files and returns a Dataset of elements, with
            `interleave` or `shuffle`, say. None reads one file after the other.
        wait : bool
            Accepted for programs written for tf.data; a folder appears when all of it is written.
        structures : sequence of type, optional
            Named tuples, dataclasses and attrs classes of the elements, which are found by their
            name and fields. Nothing that a file names is imported. A named tuple that is not given
            becomes one of the same name and fields; other classes must be given, unless this
            process still has them and has seen elements of them.
        max_record_bytes : int, optional
            The most bytes that a compressed chunk may expand to, >= 1; None means 256 MiB. A chunk
            has about a megabyte, or one element.
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        Dataset
            The elements, in the order in which they were saved (within each file).

        Raises
        ------
        FileNotFoundError
            If nothing is there.
        DataError
            If a file is damaged or was not written by `save`. Damaged rows are one error while
            iterating, for the chunk of about a megabyte that they share; the iterator continues
            after it.
        TypeError
            If elements are of a class that is neither given nor known.
        ValueError
            If the elements do not fit `element_spec`.

        Notes
        -----
        When all elements are numbers or arrays of one shape, and uncompressed, rows can be read in
        any order: `shuffle` directly after keeps only their numbers, and `skip` jumps.

        Memory: one chunk, about a megabyte or one element.

        Examples
        --------
        >>> ps.Dataset.from_tensor_slices({"x": [1, 2]}).save("saved-dicts")
        >>> [int(e["x"]) for e in ps.Dataset.load("saved-dicts")]
        [1, 2]
        """
        path = name_of("load", "path", path)
        if not is_url(path):  # the engine says it of those
            _check_folder(path)
        args = {"element_spec": element_spec, "structures": structures}
        args |= {} if max_record_bytes is None else {"max_record_bytes": max_record_bytes}
        made: _D = read_saved(path, args, reader_func)
        return made


def _check_folder(path: str) -> None:
    folder = Path(path)
    if not folder.exists():
        raise FileNotFoundError(2, "load: there is no such folder", path)
    if not (folder / _core.MANIFEST_NAME).exists():
        raise ValueError(
            f"load: {path!r} was expected to be a folder that Dataset.save has "
            f"written, but it has no {_core.MANIFEST_NAME}"
        )


def read_saved(path: str, more: dict[str, Any], reader_func: Callable[[Any], Any] | None) -> Any:
    """Return the dataset of a folder, or what `reader_func` makes of those of its files."""
    args = {"path": path, **{name: value for name, value in more.items() if value is not None}}
    if reader_func is None:
        return Plan._make("load", (), args)
    count = _core.saved_shards(path)
    shards = np.empty(count, dtype=object)
    for i in range(count):
        shards[i] = Plan._make("load", (), {**args, "shard": i})
    dataset = reader_func(Plan._make("from_tensor_slices", (), {"tensors": shards}))
    if not isinstance(dataset, Plan):
        raise TypeError(f"load: reader_func must return a Dataset, got {dataset!r}")
    return dataset
