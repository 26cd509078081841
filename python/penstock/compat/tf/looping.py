"""Functions applied to each row of tensors: tf.map_fn, foldl, foldr, scan, vectorized_map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import OutOfRangeError
from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.ragged.factories import constant
from penstock.compat.tensor import tensor
from penstock.compat.tf import nest
from penstock.compat.tf.tensor_array import TensorArray


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Apply `fn` to each row, and stack the results.

    Parameters
    ----------
    fn : callable
        Called with a row of each tensor, in the structure of `elems`.
    elems : nested tensors
        Tensors with the same number of rows.
    dtype : nested dtype-like, optional
        The older name of `fn_output_signature`.
    parallel_iterations, back_prop, swap_memory, infer_shape : object
        Ignored.
    name : str, optional
        A label without effect.
    fn_output_signature : nested dtype-like or specs, optional
        Types of the results of `fn`, if they differ from those of `elems`. With the spec of a
        ragged tensor, rows may differ in length.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.map_fn(tf.reduce_sum, tf.constant([[1, 2], [3, 4]])).numpy().tolist()
    [3, 7]
    """
    rows = _rows(elems, "map_fn")
    given = dtype if fn_output_signature is None else fn_output_signature
    signature = nest.map_structure(lambda leaf: leaf.dtype, elems) if given is None else given
    kinds = nest.flatten(signature)
    made = [nest.flatten(fn(row)) for row in rows]
    columns = list(zip(*made, strict=True)) if made else [()] * len(kinds)
    joined = [_joined(kind, column) for kind, column in zip(kinds, columns, strict=True)]
    return nest.pack_sequence_as(signature, joined)


def _joined(kind: Any, rows: tuple[Any, ...]) -> Any:
    dtype = getattr(kind, "dtype", kind)
    if hasattr(kind, "ragged_rank"):
        lists = [
            row.to_list() if isinstance(row, RaggedTensor) else np.asarray(row).tolist()
            for row in rows
        ]
        return constant(lists, dtype, kind.ragged_rank + 1)
    return TensorArray(as_dtype(dtype), len(rows)).scatter(range(len(rows)), rows).stack()


def _rows(elems: Any, function: str, reverse: bool = False) -> list[Any]:
    columns = [
        leaf if isinstance(leaf, RaggedTensor) else tensor(leaf) for leaf in nest.flatten(elems)
    ]
    if any(np.ndim(column) == 0 for column in columns if not isinstance(column, RaggedTensor)):
        raise ValueError(f"{function}: elems must have one axis or more, got {elems}")
    rows = [nest.pack_sequence_as(elems, row) for row in zip(*columns, strict=True)]
    return rows[::-1] if reverse else rows


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Apply `fn` to each row, and stack the results, which may have any types."""
    return _stacked([fn(row) for row in _rows(elems, "vectorized_map")])


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Call `fn` repeatedly with its previous result and the next row.

    Parameters
    ----------
    fn : callable
        Called with the accumulated value and a row.
    elems : nested tensors
        Tensors with the same number of rows.
    initializer : nested values, optional
        The initial value; the first row by default.
    parallel_iterations, back_prop, swap_memory : object
        Ignored.
    name : str, optional
        A label without effect.

    Returns
    -------
    nested tensors
        The last result of `fn`.
    """
    return _folded(fn, _rows(elems, "foldl"), initializer)[-1]


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Like `foldl`, but from the last row to the first."""
    return _folded(fn, _rows(elems, "foldr", True), initializer)[-1]


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return all results of `fn`; `foldl` returns only the last. `reverse` starts at the end."""
    made = _folded(fn, _rows(elems, "scan", reverse), initializer)
    if initializer is not None:
        first, *made = made
        if not made:
            return nest.map_structure(lambda leaf: tensor(leaf[np.newaxis][:0]), first)
    return _stacked(made[::-1] if reverse else made)


def _stacked(made: list[Any]) -> Any:
    """Stack nested rows, leaf by leaf."""
    return nest.map_structure(lambda *rows: tensor(np.stack(list(map(tensor, rows)))), *made)


def _folded(fn: Callable[[Any, Any], Any], rows: list[Any], initializer: Any) -> list[Any]:
    """Return the first value and all results of `fn`."""
    if initializer is None:
        if not rows:
            message = "elems: a row was expected where there is no initializer"
            raise OutOfRangeError(None, None, message)
        initializer, rows = rows[0], rows[1:]
    made = [nest.map_structure(tensor, initializer)]
    for row in rows:
        made.append(nest.map_structure(tensor, fn(made[-1], row)))
    return made


NAMES = ["foldl", "foldr", "map_fn", "scan", "vectorized_map"]

__dir__ = listing(globals())
