"""The source for saved datasets: load."""

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
    """Mixin: saved datasets."""

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
        """Load a dataset written by `Dataset.save`.

        Parameters
        ----------
        path : str or path
            The folder, or its URL.
        element_spec : nested TensorSpec, optional
            The expected spec of the elements. Not needed.
        compression : str, optional
            Not needed: the files record it.
        reader_func : callable, optional
            Takes a Dataset of one Dataset per file and returns a Dataset of elements, for example
            with `interleave` or `shuffle`. None reads the files sequentially.
        wait : bool
            Accepted for compatibility with tf.data. A folder appears only once it is completely
            written.
        structures : sequence of type, optional
            Named tuples, dataclasses and attrs classes of the elements, matched by name and fields.
            Nothing that a file names is imported. A named tuple that is not listed is replaced by a
            new one with the same name and fields. Other classes must be listed, unless this process
            still has them and has seen elements of them.
        max_record_bytes : int, optional
            Maximum number of bytes that a compressed chunk may expand to, >= 1; None means 256 MiB.
            A chunk has about 1 MB, or one element.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        Dataset
            The elements, in the order in which they were saved (within each file).

        Raises
        ------
        FileNotFoundError
            If the folder does not exist.
        DataError
            If a file is damaged or was not written by `save`. Damaged rows raise one error while
            iterating for the whole chunk (about 1 MB) that contains them; the iterator continues
            after it.
        TypeError
            If elements belong to a class that is neither listed nor known.
        ValueError
            If the elements do not match `element_spec`.

        Notes
        -----
        If all elements are uncompressed numbers or arrays of one shape, rows have random access:
        `shuffle` directly after it buffers only their positions, and `skip` seeks.

        Memory: one chunk, about 1 MB or one element.

        Examples
        --------
        >>> ps.Dataset.from_tensor_slices({"x": [1, 2]}).save("saved-dicts")
        >>> [int(e["x"]) for e in ps.Dataset.load("saved-dicts")]
        [1, 2]
        """
        path = name_of("load", "path", path)
        if not is_url(path):  # for URLs, the engine raises the error
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
    """Return the dataset of a folder, or the result of `reader_func` for its files."""
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
