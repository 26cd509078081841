"""default_collate: collate samples into a batch with NumPy, by PyTorch's rules."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.data_loader import torch_collate, torch_rules
from penstock.structure import map_parts

_Path = tuple[Any, ...]  # the keys from a sample down to one of its values


@checked
def default_collate(batch: Iterable[Any]) -> Any:
    """Collate samples into a batch, as `DataLoader` does by default.

    Parameters
    ----------
    batch : sequence
        Samples of the same structure. Each is an array, a number or a string, or a mapping, named
        tuple, dataclass, tuple or list of these.

    Returns
    -------
    nested arrays
        Arrays of shape ``(...)`` become one array of shape ``(n, ...)``. Floats become a float64
        array, ints int64, bools bool; NumPy scalars keep their dtype. Strings and bytes stay a
        sequence. Containers keep their types, except that a tuple becomes a list, as in PyTorch. If
        the first sample contains a PyTorch tensor, the result is the same as that of PyTorch's
        ``default_collate``.

    Raises
    ------
    ValueError
        If there are no samples, if arrays differ in shape or sequences in length, or if an int does
        not fit in int64. The message names the sample.
    TypeError
        For None and for objects of other types.
    KeyError
        If a mapping lacks a key of the first one.

    Examples
    --------
    >>> ps.default_collate([{"x": 1.5, "name": "a"}, {"x": 2.5, "name": "b"}])
    {'x': array([1.5, 2.5]), 'name': ['a', 'b']}
    """
    if isinstance(batch, np.ndarray) and batch.ndim and batch.dtype.kind in "biufcmM":
        return np.array(batch, order="C")
    samples = batch if isinstance(batch, Sequence) else list(batch)
    if not samples:
        raise ValueError("default_collate: at least one sample was expected, got none")
    if torch_rules.holds_tensors(samples[0]):
        return torch_collate.collate(batch)
    return _collate(samples, ())


def default_convert(sample: Any) -> Any:
    """Convert an unbatched sample as PyTorch does if it contains tensors; else return it."""
    if torch_rules.holds_tensors(sample):
        return torch_rules.data().default_convert(sample)
    return sample


def _collate(batch: Sequence[Any], path: _Path) -> Any:
    first = batch[0]
    if isinstance(first, np.ndarray):
        return _stacked(batch, path)
    if isinstance(first, (str, bytes)):
        return batch
    numbers = (int, float, np.bool_, np.number, np.datetime64)
    if isinstance(first, numbers) or (isinstance(first, np.generic) and _is_added(first)):
        return _numbers(batch, path)
    if isinstance(first, Mapping):
        return _mapping(batch, path)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        return map_parts(
            lambda key, _: _collate([getattr(sample, key) for sample in batch], (*path, key)), first
        )
    if isinstance(first, Sequence):
        return _sequence(batch, path)
    raise TypeError(
        "default_collate: arrays, numbers, strings, mappings and sequences were expected, got a "
        f"{type(first).__name__}{_at(path)}; leave it out of the samples, or give a collate_fn"
    )


def _stacked(batch: Sequence[Any], path: _Path) -> npt.NDArray[Any]:
    shape = batch[0].shape
    arrays = batch
    if [*map(type, batch)].count(np.ndarray) != len(batch):
        for i, sample in enumerate(batch):
            if np.ma.is_masked(sample):
                raise ValueError(
                    f"default_collate: sample {i} is masked{_at(path)}, and masks are not kept; "
                    "fill it in the dataset (array.filled(...)), or give a collate_fn"
                )
        arrays = [np.asarray(sample) for sample in batch]
    if [*map(torch_collate.SHAPE, arrays)].count(shape) != len(arrays):
        i, array = next((i, a) for i, a in enumerate(arrays) if a.shape != shape)
        raise ValueError(
            f"default_collate: arrays of one shape were expected{_at(path)}, {shape} as in sample "
            f"0, got {array.shape} in sample {i}; make them equal in the dataset (pad, crop or "
            "resize), or give a collate_fn"
        )
    if not shape:
        return np.array(arrays)
    return torch_collate.stacked(arrays, np.result_type(*{array.dtype for array in arrays}))


def _numbers(batch: Sequence[Any], path: _Path) -> npt.NDArray[Any]:
    try:
        array = np.array(batch)
    except ValueError:  # some of the samples are arrays
        array = np.array(None)
    if array.dtype.kind in "bi" and array.ndim == 1:
        return array
    # NumPy would convert large ints to uint64, or to floats with rounding.
    for i, sample in enumerate(batch):
        if isinstance(sample, int) and not -(2**63) <= sample < 2**63:
            raise ValueError(
                f"default_collate: an int of 64 bits was expected{_at(path)}, got {sample} in "
                f"sample {i}; make it a float or a string in the dataset"
            )
    if (array.dtype.kind in "ufcmM" or _is_added(array)) and array.ndim == 1:
        return array
    kinds = (int, float, np.number, np.bool_)
    where = next((i for i, sample in enumerate(batch) if not isinstance(sample, kinds)), 0)
    raise TypeError(
        f"default_collate: numbers were expected{_at(path)}, as in sample 0, got "
        f"{batch[where]!r:.200} in sample {where}; give all samples of a dataset the same types"
    )


def _is_added(value: np.generic | npt.NDArray[Any]) -> bool:
    """Return whether a package added the dtype to NumPy's, such as bfloat16."""
    return value.dtype.isbuiltin == 2


def _mapping(batch: Sequence[Any], path: _Path) -> Any:
    first = batch[0]
    parts = {key: _collate(_column(batch, key, path), (*path, key)) for key in first}
    if type(first) is dict:
        return parts
    try:
        if isinstance(first, MutableMapping):
            # Copying keeps attributes that the type has beyond its items.
            filled = copy.copy(first)
            filled.update(parts)
            return filled
        return type(first)(parts)
    except TypeError:
        return parts


def _column(batch: Sequence[Any], key: Any, path: _Path) -> list[Any]:
    try:
        return [sample[key] for sample in batch]
    except KeyError:
        lacking = next(i for i, sample in enumerate(batch) if key not in sample)
        raise KeyError(
            f"default_collate: mappings with the keys of sample 0 were expected{_at(path)}, "
            f"sample {lacking} has no {key!r}"
        ) from None


def _sequence(batch: Sequence[Any], path: _Path) -> Any:
    first = batch[0]
    for i, sample in enumerate(batch):
        if len(sample) != len(first):
            raise ValueError(
                f"default_collate: sequences of one length were expected{_at(path)}, "
                f"{len(first)} as in sample 0, got {len(sample)} in sample {i}; pad them in the "
                "dataset, or give a collate_fn"
            )
    columns = zip(*batch, strict=True)
    parts = [_collate(column, (*path, i)) for i, column in enumerate(columns)]
    if isinstance(first, tuple):
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    if type(first) is list:
        return parts
    try:
        return type(first)(parts)
    except TypeError:
        return parts


def _at(path: _Path) -> str:
    return f" at {''.join(f'[{key!r}]' for key in path)}" if path else ""
