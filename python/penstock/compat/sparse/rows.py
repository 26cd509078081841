"""Rows along the last axis of sparse tensors, as lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.sparse.tensor import SparseTensor
from penstock.compat.tensor import tensor

Position = tuple[int, ...]


def rows_of(value: Any) -> tuple[dict[Position, list[Any]], Position]:
    """Return the values of each row of a tensor, and the shape without the last axis.

    Parameters
    ----------
    value : SparseTensor or array_like
        The tensor.

    Returns
    -------
    rows : dict
        The non-empty rows, by position.
    shape : tuple of int
        The number of rows along each axis.
    """
    if isinstance(value, SparseTensor):
        shape = tuple(value.dense_shape.numpy().tolist())
        positions: Any = value.indices.numpy().tolist()
        items = value.values.numpy().tolist()
    else:
        dense = tensor(value).numpy()
        shape, positions, items = dense.shape, np.ndindex(dense.shape), dense.ravel().tolist()
    rows: dict[Position, list[Any]] = {}
    for position, item in zip(positions, items, strict=True):
        rows.setdefault(tuple(position[:-1]), []).append(item)
    return rows, shape[:-1]


def edit_distance(
    hypothesis: SparseTensor,
    truth: SparseTensor,
    normalize: bool = True,
    name: str = "edit_distance",
) -> Any:
    """Return the edit distance between corresponding rows: insertions, deletions and replacements.

    Parameters
    ----------
    hypothesis, truth : SparseTensor
        The rows.
    normalize : bool
        Whether to divide by the length of the row of `truth`.
    name : str
        A label without effect.

    Returns
    -------
    Tensor
        The distances as float32, without the last axis. Normalised by an empty row, the distance is
        infinite, or 0 if both rows are empty.

    Notes
    -----
    Computes the Levenshtein distance with the algorithm of Wagner and Fischer (1974).
    """
    (rows, shape), (wanted, other) = rows_of(hypothesis), rows_of(truth)
    made = np.zeros(tuple(map(max, shape, other)), np.float32)
    for position in {*rows, *wanted}:
        row, goal = rows.get(position, []), wanted.get(position, [])
        distance = _distance(row, goal)
        made[position] = distance / len(goal) if normalize and goal else distance
        if normalize and not goal:
            made[position] = np.inf
    return tensor(made)


def _distance(row: list[Any], goal: list[Any]) -> int:
    costs = list(range(len(goal) + 1))
    for done, item in enumerate(row, 1):
        before, costs[0] = costs[0], done
        for i, wanted in enumerate(goal, 1):
            replaced = before + (item != wanted)
            before = costs[i]
            costs[i] = min(replaced, costs[i] + 1, costs[i - 1] + 1)
    return costs[-1]
