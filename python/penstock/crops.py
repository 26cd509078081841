"""Rows or crops of HDF5 and Zarr arrays, by position."""

from __future__ import annotations

import bisect
import itertools
import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import DataError
from penstock.libraries import library, library_errors
from penstock.open_files import OpenFiles
from penstock.paths import is_url
from penstock.printable import printable
from penstock.structure import TensorSpec

# Zarr data types that TensorStore does not support: NumPy kinds in format 2, prefixes of names in
# format 3.
_OTHER_KINDS = "MmUSO"
_OTHER_TYPES = ("string", "numpy.", "fixed_length", "null_terminated", "variable_length")

Sizes = Sequence[int]


class Crops:
    """Rows or crops of the arrays in several files; positions continue across files."""

    def __init__(
        self,
        stage: str,
        files: OpenFiles,
        keys: str | Sequence[str] | None,
        crop_shape: Sizes | None,
        crop_stride: Sizes | None,
    ) -> None:
        self._stage = stage
        self._files = files
        if keys is None:
            with library_errors(stage, files.names[0]):
                self._single = hasattr(files[0], "shape")
                self._keys = [""] if self._single else _arrays_of(stage, files[0])
        else:
            self._single = isinstance(keys, str)
            self._keys = _checked_keys(stage, keys)
        self._crop = None if crop_shape is None else tuple(int(n) for n in np.ravel(crop_shape))
        self._stride = (
            self._crop if crop_stride is None else tuple(int(n) for n in np.ravel(crop_stride))
        )
        self._check_crop()
        self._grids = []
        for number, name in enumerate(files.names):
            with library_errors(stage, name):
                self._grids.append(self._grid(number))
                if number > 0:
                    self._check_specs(number)
        self._ends = list(itertools.accumulate(map(math.prod, self._grids)))

    def _check_specs(self, number: int) -> None:
        """Raise ValueError if the elements of a file differ from those of the first file."""
        names = self._files.names
        for key, array in self._arrays(number).items():
            own, first = self._spec(array), self._spec(self._arrays(0)[key])
            if own != first:
                raise ValueError(
                    f"{self._stage}: {printable(names[number])}: {key or 'the array'} has elements "
                    f"{own}, expected {first} as in {printable(names[0])}"
                )

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the elements."""
        specs = {key: self._spec(array) for key, array in self._arrays(0).items()}
        return next(iter(specs.values())) if self._single else specs

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, position: int) -> Any:
        return self.__getitems__([position])[0]

    def __getitems__(self, positions: list[int]) -> list[Any]:
        found: list[Any] = [None] * len(positions)
        # Arrays with asynchronous reads request all regions before any is awaited.
        asked = [
            (number, self._asked(number, region), at)
            for number, region, at in self._regions(positions)
        ]
        for number, parts, at in asked:
            made = self._read(number, parts)
            for i, position in enumerate(at):
                element = made
                if self._crop is None:  # the region is a range of rows
                    element = {key: rows[i] for key, rows in made.items()}
                found[position] = next(iter(element.values())) if self._single else element
        return found

    def _regions(self, positions: list[int]) -> Iterator[tuple[int, Any, list[int]]]:
        """Yield file number, region of the arrays, and indices into `positions` of that region.

        Consecutive rows form one region.
        """
        order = sorted(range(len(positions)), key=positions.__getitem__)
        rows: list[int] = []
        for at, following in itertools.zip_longest(order, order[1:]):
            rows.append(at)
            position = positions[at]
            number = bisect.bisect_right(self._ends, position)
            first = self._ends[number - 1] if number else 0
            if self._crop is not None:
                yield number, self._crop_at(number, position - first), rows
            elif (
                following is not None and position + 1 == positions[following] < self._ends[number]
            ):
                continue
            else:
                end = position - first + 1
                yield number, slice(end - len(rows), end), rows
            rows = []

    def _read(self, number: int, parts: dict[str, Callable[[], Any]]) -> dict[str, Any]:
        with self._naming(number):
            return {key: part() for key, part in parts.items()}

    def _asked(self, number: int, region: Any) -> dict[str, Callable[[], Any]]:
        with self._naming(number):
            return {key: _ask(array, region) for key, array in self._arrays(number).items()}

    def _naming(self, number: int) -> AbstractContextManager[None]:
        return library_errors(self._stage, self._files.names[number], "it cannot be read: ")

    def _arrays(self, number: int) -> dict[str, Any]:
        file = self._files[number]
        return {
            key: _member(self._stage, self._files.names[number], file, key) for key in self._keys
        }

    def _spec(self, array: Any) -> TensorSpec:
        items = _items(array)
        if items is not None:
            return TensorSpec((None,), items)
        shape = tuple(array.shape[1:]) if self._crop is None else self._crop_of(array)
        dtype = _dtype(array)
        kinds: dict[str, Any] = {"O": bytes, "S": bytes, "U": str}
        return TensorSpec(shape, kinds.get(dtype.kind, dtype))

    def _check_type(self, where: str, array: Any) -> None:
        dtype = _dtype(array)
        if dtype.names:
            raise TypeError(
                f"{where} has fields ({', '.join(dtype.names)}), and numbers or strings were "
                "expected: make an array of each, or read the file in from_indexable"
            )
        if dtype.kind == "V" or "ref" in (dtype.metadata or {}):
            raise TypeError(
                f"{where} has {'references' if dtype.kind == 'O' else f'values of {dtype}'}, and "
                "numbers or strings were expected"
            )
        if _items(array) is not None and (self._crop is not None or len(array.shape) != 1):
            raise ValueError(
                f"{where} has values of different sizes, which make rows of one axis, and no crops"
            )

    def _crop_of(self, array: Any) -> tuple[int, ...]:
        assert self._crop is not None
        return (*self._crop, *array.shape[len(self._crop) :])

    def _check_crop(self) -> None:
        if self._crop is None:
            if self._stride is not None:
                raise ValueError(f"{self._stage}: crop_stride is of crops: give crop_shape, too")
            return
        if not self._crop or min(self._crop) < 1:
            raise ValueError(f"{self._stage}: crop_shape must hold sizes >= 1, got {self._crop}")
        assert self._stride is not None
        if len(self._stride) != len(self._crop) or min(self._stride) < 1:
            raise ValueError(
                f"{self._stage}: crop_stride must hold as many sizes >= 1 as crop_shape, got "
                f"{self._stride} for {self._crop}"
            )

    def _grid(self, number: int) -> tuple[int, ...]:
        """Return the number of rows or crops along each axis of a file's arrays."""
        grids = {}
        for key, array in self._arrays(number).items():
            where = f"{self._stage}: {printable(self._files.names[number])}: {key or 'the array'}"
            self._check_type(where, array)
            if self._crop is None or self._stride is None:
                if not array.shape:
                    raise ValueError(f"{where} has no axes, and so no rows")
                grids[key] = (array.shape[0],)
                continue
            if len(array.shape) < len(self._crop):
                raise ValueError(f"{where} has shape {array.shape}, and crops {self._crop}")
            if any(map(operator.lt, array.shape, self._crop)):
                raise ValueError(
                    f"{where} has shape {array.shape}, into which no crop of shape {self._crop} "
                    "fits; use a smaller crop_shape"
                )
            grids[key] = tuple(
                (size - crop) // stride + 1
                for size, crop, stride in zip(array.shape, self._crop, self._stride, strict=False)
            )
        if len(set(grids.values())) > 1:
            sizes = {key: grid[0] if len(grid) == 1 else grid for key, grid in grids.items()}
            raise ValueError(
                f"{self._stage}: {printable(self._files.names[number])}: arrays must have the same "
                f"length, got {sizes}"
            )
        return next(iter(grids.values()))

    def _crop_at(self, number: int, position: int) -> tuple[slice, ...]:
        assert self._crop is not None
        assert self._stride is not None
        at = np.unravel_index(position, self._grids[number])
        return tuple(
            slice(int(i) * stride, int(i) * stride + crop)
            for i, stride, crop in zip(at, self._stride, self._crop, strict=True)
        )


def _ask(array: Any, region: Any) -> Callable[[], Any]:
    """Request a region of an array; the result is a function that waits for it."""
    if hasattr(array, "oindex") and hasattr(array, "read"):  # TensorStore
        return array[region].read().result  # type: ignore[no-any-return]
    return lambda: np.asarray(array[region])


def _dtype(array: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(getattr(array.dtype, "numpy_dtype", array.dtype))
    return found


def _checked_keys(stage: str, keys: Any) -> list[str]:
    wanted = [keys] if isinstance(keys, str) else keys
    named = isinstance(wanted, (list, tuple)) and all(isinstance(k, str) and k for k in wanted)
    if not named or not wanted:
        raise TypeError(
            f"{stage}: keys must be the name of an array, or a list of such, got {keys!r:.200}"
        )
    return list(wanted)


def _items(array: Any) -> np.dtype[Any] | None:
    """Return the item type of an HDF5 variable-length array, or None for other arrays."""
    metadata: Mapping[str, Any] = _dtype(array).metadata or {}
    items = metadata.get("vlen", str)
    return None if items in (str, bytes) else np.dtype(items)


def _member(stage: str, name: str, file: Any, key: str) -> Any:
    if not key:
        return file
    if hasattr(file, "shape"):
        raise ValueError(
            f"{stage}: keys are for groups, and {printable(name)} is a single array; got {key!r}"
        )
    try:
        found = file[key]
    except KeyError:
        there = list(file.keys())
        if key in there:  # the array is damaged
            raise
        raise ValueError(
            f"{stage}: keys must be among {', '.join(map(repr, there))}, the keys of "
            f"{printable(name)}; got {key!r}"
        ) from None
    if not hasattr(found, "shape"):
        raise ValueError(
            f"{stage}: keys must name arrays, got {key!r}, a group of {printable(name)} with "
            f"{printable(', '.join(found.keys()))}"
        )
    return found


def _arrays_of(stage: str, file: Any) -> list[str]:
    names = [key for key in file.keys() if hasattr(_linked(file, key), "shape")]  # noqa: SIM118
    if not names:
        raise ValueError(f"{stage}: there are no arrays at the top; give keys, as 'group/array'")
    return names


def _linked(file: Any, key: Any) -> Any:
    """Return a member of a group, or None for a soft or external link to nothing."""
    found = file.get(key)
    if found is None and type(file).__module__.startswith("h5py."):
        link = file.get(key, getlink=True)
        if type(link).__name__ == "HardLink":  # the object exists but is damaged
            return file[key]
    return found


class _ZarrGroup(Mapping[str, Any]):
    """The arrays in a Zarr folder."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._open: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key not in self._open:
            if not _is_zarr_array(self._path / key):
                raise KeyError(key)
            self._open[key] = _zarr_array(self._path / key)
        return self._open[key]

    def __iter__(self) -> Any:
        return (each.name for each in sorted(self._path.iterdir()) if _is_zarr_array(each))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _RemoteArrays:
    """Zarr arrays in an object store, which TensorStore opens by name."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._open: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key not in self._open:
            self._open[key] = _tensorstore(f"{self._url}/{key}/" if key else f"{self._url}/")
        return self._open[key]


def _is_zarr_array(path: Path) -> bool:
    if (path / ".zarray").exists():
        return True
    meta = path / "zarr.json"
    if not meta.exists():
        return False
    with library_errors("from_zarr", str(meta), "the array cannot be opened: "):
        kind = json.loads(meta.read_bytes())["node_type"]
        if kind not in ("array", "group"):  # skipping it would lose its values in elements
            raise ValueError(f"node_type is {kind!r}")
    return bool(kind == "array")


def open_zarr(path: str, single: bool) -> Any:
    """Open the array, or the arrays, in a Zarr folder.

    A URL is not listed; `single` means that it contains a single array.
    """
    if is_url(path):
        return _RemoteArrays(path)[""] if single else _RemoteArrays(path)
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"from_zarr: there is no folder {path!r}")
    if _is_zarr_array(folder):
        return _zarr_array(folder)
    group = _ZarrGroup(path)
    if not len(group):
        raise DataError("from_zarr: this is no array or group of Zarr, or it has no arrays", path)
    return group


def _zarr_array(folder: Path) -> Any:
    """Open an array with TensorStore, or with zarr if it has strings or times."""
    with library_errors("from_zarr", str(folder), "the array cannot be opened: "):
        meta = folder / "zarr.json"
        if meta.exists():
            kind = json.loads(meta.read_bytes())["data_type"]
            has_kind = isinstance(kind, str) and not kind.startswith(_OTHER_TYPES)
        else:
            kind = json.loads((folder / ".zarray").read_bytes())["dtype"]
            has_kind = not isinstance(kind, str) or kind[1:2] not in _OTHER_KINDS
    if has_kind:
        return _tensorstore(folder)
    zarr = library("from_zarr", "zarr", "zarr")
    with library_errors("from_zarr", str(folder), "the array cannot be opened: "):
        return zarr.open_array(str(folder), mode="r")


def _tensorstore(path: Path | str) -> Any:
    tensorstore = library("from_zarr", "tensorstore", "zarr")
    store = path if isinstance(path, str) else {"driver": "file", "path": f"{path}/"}
    spec = {"driver": "auto", "kvstore": store}
    with library_errors("from_zarr", str(path), "the array cannot be opened: "):
        try:
            return tensorstore.open(spec, open=True, read=True).result()
        except ValueError as error:
            raise ValueError(str(error).partition(" [tensorstore_spec")[0]) from None
