"""The source for Zarr arrays: from_zarr."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.crops import Crops, Sizes, open_zarr
from penstock.open_files import OpenFiles
from penstock.paths import name_of
from penstock.stages.from_indexable import FromIndexable

_D = TypeVar("_D", bound="FromZarr")


@checked_methods
class FromZarr(FromIndexable):
    """Mixin: datasets of the rows, or crops, of Zarr arrays."""

    __slots__ = ()

    @classmethod
    def from_zarr(
        cls: type[_D],
        store: Any,
        keys: str | Sequence[str] | None = None,
        *,
        crop_shape: Sizes | None = None,
        crop_stride: Sizes | None = None,
        name: str | None = None,
        num_parallel_calls: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> _D:
        """Create a dataset of rows, or crops, of Zarr arrays.

        Parameters
        ----------
        store : str, path, array or group
            The folder of an array or a group in Zarr format 2 or 3, or an object opened by zarr,
            TensorStore or h5py. Folders with strings or times are opened by zarr; all other
            folders, and URLs, are opened by TensorStore. `keys` selects the arrays of a group.
        keys : str or sequence of str, optional
            The arrays of a group to read. A str yields elements that are arrays; a sequence yields
            dicts. None means all.
        crop_shape : sequence of int, optional
            The shape of crops, for all axes or the leading ones. None yields rows along the first
            axis.
        crop_stride : sequence of int, optional
            Distance between crops along each axis; `crop_shape` by default.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        num_parallel_calls : int, optional
            Number of concurrent reads, each on its own thread. None reads in the consumer's thread.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        Dataset
            Arrays, or dicts of arrays.

        Raises
        ------
        ImportError
            If TensorStore or zarr, which read folders, is not installed:
            ``pip install 'penstock[zarr]'``.
        FileNotFoundError
            If the folder does not exist.
        DataError
            If the folder is not in a Zarr format.
        ValueError
            If an array does not exist, arrays differ in length, or crops do not fit.

        Notes
        -----
        The number of elements is known, and elements have random access: `shuffle` directly after
        it shuffles positions, and a saved state holds a position. Regions for several positions are
        requested together, and consecutive rows are read in one request. Crops lie on a grid, and
        the last axis varies fastest; crops that would extend beyond the array are skipped.

        Examples
        --------
        >>> Dataset.from_zarr("scan.zarr", crop_shape=[64, 64])  # doctest: +SKIP
        """
        if isinstance(store, (str, bytes, os.PathLike)) and store:
            opened = functools.partial(open_zarr, single=keys is None)
            files = OpenFiles([name_of("from_zarr", "store", store)], opened)
        elif hasattr(store, "shape") or hasattr(store, "keys"):
            files = OpenFiles(["the object given"], lambda _: store)
        else:
            raise TypeError(
                f"from_zarr: store must be a path, an array or a group, got {store!r:.200}"
            )
        crops = Crops("from_zarr", files, keys, crop_shape, crop_stride)
        return cls._of_rows(
            crops,
            name,
            num_parallel_calls,
            output_signature=crops.element_spec,
            part_of="from_zarr",
        )
