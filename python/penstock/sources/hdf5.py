"""HDF5 files, read with h5py."""

from __future__ import annotations

import errno
import io
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.arguments.checked import checked
from penstock.crops import Crops, Sizes
from penstock.dataset import Dataset
from penstock.libraries import library, library_errors
from penstock.open_files import OpenFiles
from penstock.paths import Names, is_url
from penstock.sources.files import names_of
from penstock.sources.source import Source

_READ = 1 << 20  # bytes per read of a remote file


class HDF5Dataset(Source):
    """Read rows, or crops, of arrays in HDF5 files.

    Parameters
    ----------
    filenames : str, path, or sequence of them
        The files, in order. All have the same arrays.
    keys : str or sequence of str, optional
        The paths of the arrays in a file: ``"images"``, ``"train/labels"``. A str yields elements
        that are arrays; a sequence yields dicts. None means all arrays at the top level of the
        first file.
    crop_shape : sequence of int, optional
        The shape of crops, for all axes or the leading ones. None yields rows along the first axis.
    crop_stride : sequence of int, optional
        Distance between crops along each axis; `crop_shape` by default.
    name : str, optional
        Name of the stage in errors, `Iterator.stats` and traces.
    num_parallel_calls : int, optional
        Number of reading threads; the HDF5 library serializes their reads. None reads in the
        consumer's thread.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    ImportError
        If h5py is not installed: ``pip install 'penstock[hdf5]'``.
    DataError
        If a file is not an HDF5 file, or is damaged.
    ValueError
        If a file lacks one of the arrays, arrays of a file differ in length, or crops do not fit.
    TypeError
        If values have fields, or are references.

    Notes
    -----
    Rows are numbers of any type, strings (as bytes), or arrays of different sizes (vlen). The
    number of elements is known, and elements have random access: `shuffle` directly after it
    shuffles positions, and a saved state holds a position. Consecutive rows are read together.
    Crops lie on a grid, and the last axis varies fastest; crops that would extend beyond the array
    are skipped.

    The HDF5 library validates little: damaged variable-length values or chunks with Fletcher
    checksums can crash or hang the process. Read untrusted files in a separate process.

    Examples
    --------
    >>> ds = ps.HDF5Dataset("train.h5", ["images", "labels"])  # doctest: +SKIP
    >>> volumes = ps.HDF5Dataset("scan.h5", "volume", crop_shape=[64, 64, 64])  # doctest: +SKIP
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names],
        keys: str | Sequence[str] | None = None,
        *,
        crop_shape: Sizes | None = None,
        crop_stride: Sizes | None = None,
        name: str | None = None,
        num_parallel_calls: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        files = names_of("HDF5Dataset", filenames)
        if not files:
            raise ValueError("HDF5Dataset: at least one file was expected, got none")
        crops = Crops("HDF5Dataset", OpenFiles(files, _opened), keys, crop_shape, crop_stride)
        self._become(
            Dataset._of_rows(
                crops,
                name,
                num_parallel_calls,
                output_signature=crops.element_spec,
                part_of="HDF5Dataset",
            )
        )


def _opened(path: str) -> Any:
    h5py = library("HDF5Dataset", "h5py", "hdf5")
    if is_url(path):
        from penstock.remote.reading import ObjectReader

        return _checked(h5py, path, io.BufferedReader(ObjectReader(path), _READ))
    with open(path, "rb"):  # noqa: PTH123 - raises the right error for a missing file
        pass
    return _checked(h5py, path, path)


def _checked(h5py: Any, name: str, file: Any) -> Any:
    with library_errors("HDF5Dataset", name, "this is not a complete HDF5 file: "):
        try:
            return h5py.File(file, "r")
        except OSError as error:
            if "unable to lock file" in str(error):
                raise BlockingIOError(
                    errno.EAGAIN,
                    "HDF5Dataset: the file is locked: another process has it open for writing, or "
                    "its file system has no locks; close it there, or set the environment variable "
                    "HDF5_USE_FILE_LOCKING=FALSE if nobody writes to it",
                    name,
                ) from None
            # Its errno is from the last system call, which succeeded.
            raise ValueError(str(error)) from None
