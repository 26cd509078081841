"""Arrays of Zarr as a source."""

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
    """Mixin: datasets of the rows, or crops, of arrays of Zarr."""

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
        """Make a dataset of rows, or crops, of arrays of Zarr.

        Parameters
        ----------
        store : str, path, array or group
            The folder of an array or a group, of format 2 or 3; or what zarr, TensorStore or h5py
            have opened. Folders with strings or times are opened by zarr. All other folders, and
            URLs, are opened by TensorStore. `keys` selects the arrays of a group.
        keys : str or sequence of str, optional
            Which arrays of a group. One str gives elements that are arrays, several give dicts.
            None means all.
        crop_shape : sequence of int, optional
            The shape of crops, for all axes or the first of them. None means rows along the first
            axis.
        crop_stride : sequence of int, optional
            From one crop to the next along each axis; by default `crop_shape`.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        num_parallel_calls : int, optional
            Reads at a time, each on its own thread. None reads in the thread that asks.
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        Dataset
            Of arrays, or of dicts of them.

        Raises
        ------
        ImportError
            If TensorStore or zarr, which read folders, is missing: ``pip install
            'penstock[zarr]'``.
        FileNotFoundError
            If there is no such folder.
        DataError
            If the folder is none of Zarr.
        ValueError
            If there is no such array, arrays differ in length, or crops do not fit.

        Notes
        -----
        The number of elements is known, and each is found by its position: `shuffle` directly after
        it shuffles positions, and a saved state holds a position. Regions of several positions are
        asked for together, and rows that follow one another are read at once. Crops lie on a
        grid, the last axis changing first; those that would end after the array are left out.

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
