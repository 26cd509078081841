"""Functions for ``ds.apply`` that adjust sizes: dense_to_ragged_batch, pad_to_cardinality."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.ops.native import native
from penstock.probing import first_spec
from penstock.structure import TensorSpec, map_leaves


@checked
def dense_to_ragged_batch(
    batch_size: int, drop_remainder: bool = False, row_splits_dtype: Any = np.int64
) -> Callable[[Dataset], Dataset]:
    """Batch elements of different sizes without padding: `Dataset.ragged_batch`.

    Parameters
    ----------
    batch_size, drop_remainder, row_splits_dtype
        As in `Dataset.ragged_batch`.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> ds = ps.Dataset.range(3).map(lambda n: np.full(n, n))
    >>> ds.apply(ps.experimental.dense_to_ragged_batch(3)).first()
    (array([1, 2, 2]), array([0, 0, 1, 3]))
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


@checked
def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Callable[[Dataset], Dataset]:
    """Pad a dataset with zero-valued elements to a given length, and add a mask.

    Parameters
    ----------
    cardinality : int
        The number of elements of the result.
    mask_key : str
        The key of the mask in each element: True for original elements, False for padding.

    Returns
    -------
    callable
        A function for `Dataset.apply`, on a dataset of dicts.

    Raises
    ------
    ValueError
        When the transformation is applied, if the elements are not dicts, or contain opaque objects
        or sizes that `element_spec` does not know; if the number of elements is unknown, infinite,
        or larger than `cardinality`.

    Notes
    -----
    Use it for evaluation on several workers, or in batches of one size, without dropping elements.
    Strings are padded with "". If sizes are unknown because of a function, padding elements have
    the sizes of the first element.

    Examples
    --------
    >>> ds = ps.Dataset.from_tensor_slices({"a": [1, 2]})
    >>> for element in ds.apply(ps.experimental.pad_to_cardinality(3)):
    ...     print(element)
    {'a': np.int64(1), 'valid': np.True_}
    {'a': np.int64(2), 'valid': np.True_}
    {'a': np.int64(0), 'valid': np.False_}
    """
    return lambda dataset: _padded(dataset, cardinality, mask_key)


def _padded(dataset: Dataset, cardinality: int, mask_key: str) -> Dataset:
    known = dataset.cardinality()
    if known < 0:
        which = "infinite" if known == -1 else "unknown"
        raise ValueError(
            f"pad_to_cardinality: a dataset of known cardinality was expected, it is {which}; "
            "use assert_cardinality or take first"
        )
    if known > cardinality:
        raise ValueError(
            f"pad_to_cardinality: at most {cardinality} elements were expected, there are {known}"
        )
    spec = first_spec(dataset)
    if not isinstance(spec, dict):
        raise ValueError(f"pad_to_cardinality: dicts were expected as elements, got {spec!r}")
    padded = dataset.map(_masked(mask_key, True))
    if known == cardinality:
        return padded
    filler = Dataset.from_tensors(map_leaves(_zeros, spec)).map(_masked(mask_key, False))
    return padded.concatenate(filler.repeat(cardinality - known))


def _masked(mask_key: str, valid: bool) -> Any:
    return native(functools.partial(_add_mask, mask_key, valid))


def _add_mask(mask_key: str, valid: bool, element: dict[str, Any]) -> dict[str, Any]:
    return {**element, mask_key: np.bool_(valid)}


def _zeros(spec: TensorSpec) -> Any:
    if spec.shape is None or None in spec.shape or spec.dtype is object:
        raise ValueError(
            f"pad_to_cardinality: numbers or strings of known shape were expected, got {spec!r}; "
            "use padded_batch, or declare the shape in map"
        )
    if isinstance(spec.dtype, type):
        return np.full(spec.shape, spec.dtype(), object) if spec.shape else spec.dtype()
    return np.zeros(spec.shape, spec.dtype)
