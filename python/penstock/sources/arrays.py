"""Rows of arrays in NumPy files: NumpyDataset."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.errors import DataError
from penstock.paths import Names, is_url
from penstock.sources.files import names_of
from penstock.sources.named import Named
from penstock.sources.source import Source

__all__ = ["NumpyDataset"]

_ZIP = b"PK"  # signature of zip archives


class NumpyDataset(Source):
    """Read the rows of arrays in ``.npy`` and ``.npz`` files.

    Parameters
    ----------
    filenames : str, path, or sequence of them
        The files, whose rows are concatenated. All rows have the same shape and dtype.
    arrays : str, or nested tuples and dicts of str, optional
        The arrays of ``.npz`` files to read, nested as the elements: ``("x", "y")`` yields pairs.
        None reads all of them, as a dict; for ``.npy`` files, it reads their only array.
    name : str, optional
        Name of the stage in errors, `Iterator.stats` and traces.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    OSError
        If a file cannot be read.
    DataError
        If a file is damaged or not in NumPy format; while iterating, at the position of a row that
        cannot be read.
    ValueError
        If an array has no numeric rows: it is a single number, or consists of Python objects,
        strings, structured records or numbers of the other byte order; if rows differ between
        files, or the numbers of rows differ within a file; if an array does not exist.

    Notes
    -----
    Rows are read on demand, and the rows of a batch directly into its memory. `shuffle` directly
    after it shuffles row numbers, for any buffer size, and `batch` gathers the rows. If a file is
    modified or truncated while the dataset exists, each row that is read afterwards raises
    `DataError`.

    The rows of an array in Fortran order are scattered over its file: reading consecutive rows
    takes one small read for every number in a row. Batches in file order are therefore much faster
    than shuffled rows. Save ``np.ascontiguousarray(array)`` for data that is read more than once.

    Before the first row of an array in a ``.npz`` file is returned, the whole array is read once to
    verify its checksum. A compressed array (``np.savez_compressed``) is decompressed at that point,
    and stays in memory while the dataset exists. If it needs more memory than is available,
    `MemoryError` is raised. If two arrays have the same name, the last one is read, as in
    `numpy.load`.

    The formats are those of `numpy.lib.format`, versions 1 to 3.

    Examples
    --------
    >>> np.save("rows.npy", np.arange(6).reshape(3, 2))
    >>> list(ps.NumpyDataset("rows.npy"))
    [array([0, 1]), array([2, 3]), array([4, 5])]
    >>> np.savez("pairs.npz", x=np.eye(2), y=np.arange(2))
    >>> ps.NumpyDataset("pairs.npz", ("x", "y")).first()
    (array([1., 0.]), np.int64(0))
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names],
        arrays: Any = None,
        *,
        name: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        paths = names_of("NumpyDataset", filenames)
        if not paths:
            raise ValueError("NumpyDataset: at least one file was expected, got none")
        found = _found(paths[0]) if arrays is None else _wanted(arrays)
        args = {"filenames": np.array([*paths, None], object)[:-1], "arrays": found}
        self._become(Dataset._make("numpy_rows", (), args, name))


def _found(path: str) -> Any:
    """Return the names of all arrays in a file; "" for the single array of a ``.npy`` file."""
    with _opened(path) as content:
        if content.read(len(_ZIP)) != _ZIP:
            return ""
        try:
            with zipfile.ZipFile(content) as file:
                names = [each.removesuffix(".npy") for each in file.namelist()]
        # An unknown version, a name that is not UTF-8, or a size that is out of range.
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
            raise DataError(
                f"NumpyDataset: the directory of the .npz file cannot be read ({error}); the file "
                "was not written to its end",
                path,
            ) from None
    if not names:
        raise DataError("NumpyDataset: a file with arrays was expected, got none in it", path)
    return {each: each for each in names}


def _opened(path: str) -> IO[bytes]:
    if not is_url(path):
        return Path(path).open("rb")
    from penstock.remote.reading import ObjectReader

    return io.BufferedReader(ObjectReader(path))


def _wanted(arrays: Any) -> Any:
    wanted = Named("NumpyDataset", "arrays", arrays)
    return wanted.nest(wanted.names)
