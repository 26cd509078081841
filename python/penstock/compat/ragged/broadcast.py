"""Element-wise functions of ragged tensors, with broadcasting to the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.ragged.splits import is_ragged, splits_of, take_rows
from penstock.compat.ragged.tensor import RaggedTensor
from penstock.compat.tensor import in_one_type, tensor


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function with the innermost values of ragged tensors.

    Parameters
    ----------
    op : callable
        Returns as many values as it receives.
    *args, **kwargs
        The arguments. Ragged ones, also in lists, must have the same rows.

    Returns
    -------
    RaggedTensor
        The results in these rows; without ragged arguments, the result of the function.

    Raises
    ------
    ValueError
        If the rows differ.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.ragged.map_flat_values(tf.ones_like, tf.ragged.constant([[1, 2], [3]]))
    <tf.RaggedTensor [[1, 1], [1]]>
    """
    found: list[RaggedTensor] = []

    def flat(value: Any) -> Any:
        if isinstance(value, RaggedTensor):
            found.append(value)
            return value.flat_values
        return [flat(part) for part in value] if isinstance(value, (list, tuple)) else value

    given = [flat(value) for value in args]
    named = {name: flat(value) for name, value in kwargs.items()}
    made = op(*given, **named)
    if not found:
        return made
    if not all(same_rows(found[0], other) for other in found[1:]):
        raise ValueError("map_flat_values: the ragged arguments must have the same row splits")
    return found[0].with_flat_values(made)


def same_rows(a: RaggedTensor, b: RaggedTensor) -> bool:
    """Return whether two ragged tensors have the same rows on all ragged axes."""
    mine, others = a.nested_row_splits, b.nested_row_splits
    return len(mine) == len(others) and all(
        x is y or np.array_equal(x, y) for x, y in zip(mine, others, strict=True)
    )


def broadcast(operands: Sequence[Any]) -> list[Any]:
    """Broadcast operands to the same rows, by NumPy's rules for each axis.

    Parameters
    ----------
    operands : sequence of RaggedTensor, Tensor and scalars
        The operands, of which at least one is ragged.

    Returns
    -------
    list
        Ragged tensors. Arrays that do not span a ragged axis of the result are unchanged.

    Raises
    ------
    InvalidArgumentError
        If rows have different lengths and neither length is 1.
    """
    ragged = [operand for operand in operands if is_ragged(operand)]
    rank = max(len(np.shape(operand)) for operand in operands)
    depth = max(rank - len(each.shape) + each.ragged_rank for each in ragged)
    beside = [len(np.shape(operand)) >= rank - depth for operand in operands]
    if all(same_rows(ragged[0], each) for each in ragged[1:]) and not any(
        outer and not is_ragged(operand) for outer, operand in zip(beside, operands, strict=True)
    ):
        return list(operands)
    outer = [_Levels(o, rank, depth) for o, is_in in zip(operands, beside, strict=True) if is_in]
    lengths: list[Any] = []
    uniform: list[int | None] = []
    for axis in range(depth + 1):
        sizes = [each.lengths[axis][each.numbers] for each in outer]
        common = _common(sizes)
        lengths.append(common)
        uniform.append(None)
        for each, size in zip(outer, sizes, strict=True):
            repeats = not np.array_equal(size, common)
            each.descend(axis, common, repeats)
            if each.uniform[axis] is not None and not repeats:
                uniform[axis] = each.uniform[axis]
    made = iter([_rebuilt(each, lengths, uniform, ragged[0]) for each in outer])
    return [next(made) if is_in else o for o, is_in in zip(operands, beside, strict=True)]


class _Levels:
    """An operand as the row lengths of each axis, and all of its values.

    `numbers` maps the rows of the result, in order, to rows of the current axis.
    """

    def __init__(self, operand: Any, rank: int, depth: int) -> None:
        missing = min(rank - len(operand.shape), depth + 1)
        self.lengths = [np.array([1])] * missing
        self.uniform: list[int | None] = [1] * missing
        self.numbers = np.zeros(1, np.int64)
        rows = 1
        for axis in range(missing, depth + 1):
            if axis == missing:
                # The first axis is treated as a single row that contains everything.
                count = operand.shape[0]
                sizes, known = np.array([count]), None if is_ragged(operand) else count
            elif is_ragged(operand):
                sizes, known = operand.starts_and_lengths()[1], operand.uniform
                operand = operand.values
            else:
                known = operand.shape[1]
                sizes = np.full(rows, known)
                operand = operand.reshape(rows * known, *operand.shape[2:])
            rows = int(sizes.sum())
            self.lengths.append(sizes)
            self.uniform.append(known)
        inner = rank - depth
        shape = operand.shape if missing <= depth else (1, *operand.shape)
        self.values = operand.reshape(*shape[:1], *[1] * (inner - len(shape)), *shape[1:])

    def descend(self, axis: int, common: Any, repeats: bool) -> None:
        """Move from the rows of an axis to the next axis."""
        starts = splits_of(self.lengths[axis])[self.numbers]
        splits = splits_of(common)
        within = np.arange(splits[-1]) - np.repeat(splits[:-1], common)
        self.numbers = np.repeat(starts, common) + (0 if repeats else within)


def _common(sizes: list[Any]) -> Any:
    """Return the common lengths of the operands' rows."""
    common = sizes[0]
    for size in sizes[1:]:
        if np.array_equal(size, common) or (size == 1).all():
            continue
        if not (common == 1).all():
            raise InvalidArgumentError(
                None,
                None,
                "Expected 'tf.Tensor False' to be true: unable to broadcast, rows have the "
                f"lengths {common} and {size}",
            )
        common = size
    return common


def _rebuilt(levels: _Levels, lengths: list[Any], uniform: list[Any], like: RaggedTensor) -> Any:
    made = take_rows(levels.values, levels.numbers)
    for size, known in list(zip(lengths, uniform, strict=True))[:0:-1]:
        made = like.with_partition(made, splits_of(size), known)
    return made


def elementwise(function: Callable[..., Any], *operands: Any, **kwargs: Any) -> Any:
    """Call a function with the values of broadcast operands."""
    return map_flat_values(function, *broadcast(_operands(operands)), **kwargs)


def _operands(operands: Sequence[Any]) -> list[Any]:
    """Return operands as tensors, with lists and numbers in the type of the ragged ones."""
    typed = next(operand.flat_values for operand in operands if is_ragged(operand))
    return [
        o if is_ragged(o) or isinstance(o, (int, float, bool)) else in_one_type([typed, o])[1]
        for o in operands
    ]


def _operator(name: str) -> Callable[..., Any]:
    def method(self: RaggedTensor, *others: Any) -> Any:
        return elementwise(lambda x, *rest: getattr(tensor(x), name)(*rest), self, *others)

    method.__name__ = name
    method.__doc__ = f"Return ``{name}`` of each value."
    return method


_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
for _name in (*_OPERATORS, *("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert")):
    setattr(RaggedTensor, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _OPERATORS:
    setattr(RaggedTensor, f"__r{_name}__", _operator(f"__r{_name}__"))
