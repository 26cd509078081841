"""Rows of ragged tensors as elements: `Dataset.from_tensor_slices` of TensorFlow's programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.ragged import RaggedTensor
from penstock.compat.values import nested_map
from penstock.dataset import Dataset as PenstockDataset
from penstock.structure import TensorSpec


def from_tensor_slices(tensors: Any, name: str | None = None) -> PenstockDataset:
    """Make a dataset of the rows of arrays, some of which may be ragged.

    Parameters
    ----------
    tensors : nested arrays and RaggedTensor
        All with the same number of rows.
    name : str, optional
        A label without further meaning.

    Returns
    -------
    Dataset
        Of arrays: a row of a ragged tensor has a length of its own.

    Raises
    ------
    ValueError
        If a ragged tensor has rows of ragged rows.
    """
    ragged: list[RaggedTensor] = []
    nested_map(
        lambda leaf: ragged.append(leaf) if isinstance(leaf, RaggedTensor) else None, tensors
    )
    if not ragged:
        return PenstockDataset.from_tensor_slices(tensors, name=name)
    if any(isinstance(each.values, RaggedTensor) for each in ragged):
        raise ValueError(
            "from_tensor_slices: a ragged tensor of one ragged axis was expected, got one of more; "
            "slice the values of its rows, or use from_generator"
        )
    marked = nested_map(
        lambda leaf: _Rows(leaf) if isinstance(leaf, RaggedTensor) else leaf, tensors
    )
    places = nested_map(lambda leaf: leaf.places if isinstance(leaf, _Rows) else leaf, marked)
    numbered = PenstockDataset.from_tensor_slices(places, name=name)
    signature = _matched(
        lambda rows, leaf: rows.spec if rows else leaf, marked, numbered.element_spec
    )

    def rows(*element: Any) -> Any:
        whole = element if type(marked) is tuple else element[0]
        return _matched(lambda rows, leaf: rows.values[leaf] if rows else leaf, marked, whole)

    return numbered.map(rows, output_signature=signature)


class _Rows:
    """The rows of a ragged tensor."""

    def __init__(self, ragged: RaggedTensor) -> None:
        flat, splits = np.asarray(ragged.values), np.asarray(ragged.row_splits)
        self.places = np.arange(len(splits) - 1)
        self.values = np.split(flat, splits[1:-1])
        self.spec = TensorSpec((None, *flat.shape[1:]), flat.dtype)


def _matched(function: Callable[[_Rows | None, Any], Any], marked: Any, value: Any) -> Any:
    """Return a nested value with each leaf replaced; _Rows are where they are in `marked`."""
    if isinstance(marked, _Rows):
        return function(marked, value)
    if isinstance(value, tuple) and isinstance(marked, tuple):
        parts = [_matched(function, m, v) for m, v in zip(marked, value, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, dict):
        return {key: _matched(function, marked[key], part) for key, part in value.items()}
    return function(None, value)
