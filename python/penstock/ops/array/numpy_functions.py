"""Replacements for NumPy functions that are called with symbols.

Each returns the same as NumPy does for the values. Options that are not here cannot be traced.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from penstock import _core
from penstock.errors import TraceError
from penstock.ops.array import making, shaping
from penstock.ops.array.reducing import AS_INPUT, AS_MEAN, AS_SUM, Axis, reduce
from penstock.ops.array.shaping import axes_of
from penstock.ops.call import apply, call, integers, weakness
from penstock.ops.known_shapes import of_trace
from penstock.ops.python_values import shape_of
from penstock.ops.symbol import NUMPY_FUNCTIONS, ArraySymbol, Symbol, as_operand, weakness_of
from penstock.ops.unknown import ADVICE

_Function = Callable[..., Any]


def _instead_of(
    *functions: _Function, makes_array: bool = False
) -> Callable[[_Function], _Function]:
    """Register a replacement for NumPy functions; options that it lacks are rejected.

    With `makes_array`, the result is an array instead of a scalar even if it has no axes.
    """

    def register(ours: _Function) -> _Function:
        signature = inspect.signature(ours)

        @functools.wraps(ours)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                name = functions[0].__name__
                raise TraceError(
                    f"native: numpy.{name} cannot be traced so: {error}; {ADVICE}"
                ) from None
            made = ours(*args, **kwargs)
            return made.as_array() if makes_array else made

        for function in functions:
            NUMPY_FUNCTIONS[function] = checked
        return ours

    return register


@_instead_of(np.shape)
def _shape(a: Any) -> Any:
    return shape_of(a)


@_instead_of(np.reshape)
def _reshape(a: Any, shape: Any) -> Any:
    return _without_axes(a, shaping.reshape(a, shape))


@_instead_of(np.ravel)
def _ravel(a: Any) -> Any:
    return shaping.reshape(a, -1)


@_instead_of(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    return shaping.expand_dims(a, axis)


@_instead_of(np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> Any:
    attributes = {"axis": axes_of(axis), "of_scalars": _is_one(axis)}
    return _without_axes(a, call("squeeze", [a], attributes))


def _without_axes(a: Any, made: Any) -> Any:
    """Return an array whose axes were dropped; a scalar stays a scalar."""
    is_scalar = isinstance(a, ArraySymbol) and of_trace(a._trace)[a._source].shape == ()
    return made.as_array(of=a) if is_scalar else made.as_array()


@_instead_of(np.transpose)
def _transpose(a: Any, axes: Any = None) -> Any:
    transposed: Any = shaping.transpose(a, axes)
    return transposed.as_array(of=a)


@_instead_of(np.concatenate)
def _concatenate(arrays: Any, axis: int | None = 0) -> Any:
    if axis is not None:
        return call("concat", list(arrays), {"axis": axis})
    attributes = {"axis": 0, "weak": weakness(arrays), "wrap": True}
    return call("concat", [shaping.reshape(array, -1) for array in arrays], attributes)


@_instead_of(np.stack)
def _stack(arrays: Any, axis: int = 0) -> Any:
    # Plain numbers among them become arrays, unlike in the list of values of ps.stack.
    arrays = [a if isinstance(a, Symbol) else np.asarray(a) for a in arrays]
    return call("stack", arrays, {"axis": axis})


_ALL, _BACKWARDS = slice(None), slice(None, None, -1)


def _along(axis: int, part: slice) -> tuple[Any, ...]:
    """Return the index that selects a slice along one axis, which may count from the end."""
    return (_ALL,) * axis + (part,) if axis >= 0 else (..., part) + (_ALL,) * (-axis - 1)


def _sizes_of(name: str, a: Any) -> tuple[int | None, ...]:
    """Return the sizes of the axes; raise TraceError if the number of axes is unknown."""
    if not isinstance(a, Symbol):
        return np.shape(a)
    shape = of_trace(a._trace)[a._source].shape if isinstance(a, ArraySymbol) else None
    if shape is None:
        raise TraceError(
            f"native: numpy.{name} needs an array whose number of axes is known; give the size of "
            f"the axes by reshape, or {ADVICE}"
        )
    return shape


@_instead_of(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    axes = range(len(_sizes_of("flip", m))) if axis is None else axes_of(axis) or []
    for each in axes:
        m = m[_along(each, _BACKWARDS)]
    return m


@_instead_of(np.fliplr)
def _fliplr(m: Any) -> Any:
    return m[:, ::-1]


@_instead_of(np.flipud)
def _flipud(m: Any) -> Any:
    return m[::-1]


@_instead_of(np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(len(_sizes_of("swapaxes", a))))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _transpose(a, order)


@_instead_of(np.moveaxis)
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    rank = len(_sizes_of("moveaxis", a))
    # NumPy computes the order on an array of that rank, and raises its own errors.
    moved = np.moveaxis(np.empty(range(rank)), source, destination)
    return _transpose(a, list(moved.shape))


@_instead_of(np.rot90)
def _rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    first, second = axes
    if k % 4 == 2:
        return _flip(m, (first, second))
    if k % 2 == 0:
        return m[:]
    return _swapaxes(_flip(m, second if k % 4 == 1 else first), first, second)


@_instead_of(np.roll)
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return shaping.reshape(_roll(shaping.reshape(a, -1), shift, 0), shaping.shape(a))
    if isinstance(axis, (list, tuple)) or isinstance(shift, (list, tuple)):
        for each, number in np.broadcast(shift, axis):
            a = _roll(a, each, int(number))
        return a
    length: Any = shaping.shape(a)[axis]
    first = np.mod(np.subtract(0, shift), np.maximum(length, 1))
    parts = a[_along(axis, slice(first, None))], a[_along(axis, slice(None, first))]
    return _concatenate(parts, axis)


@_instead_of(np.split)
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return _parts("split", ary, indices_or_sections, axis)


@_instead_of(np.array_split)
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return _parts("array_split", ary, indices_or_sections, axis)


def _parts(name: str, array: Any, sections: Any, axis: int) -> list[Any]:
    if isinstance(sections, (int, np.integer)):
        size = _sizes_of(name, array)[axis]
        if size is None:
            raise TraceError(
                f"native: numpy.{name} into equal parts needs an axis whose size is known; give "
                f"the positions at which to split, or {ADVICE}"
            )
        function = getattr(np, name)
        ends = np.cumsum([len(part) for part in function(np.empty(size), sections)]).tolist()[:-1]
    else:
        ends = list(sections)
    ranges = zip([0, *ends], [*ends, None], strict=True)
    return [array[_along(axis, slice(begin, end))] for begin, end in ranges]


@_instead_of(np.atleast_1d)
def _atleast_1d(*arys: Any) -> Any:
    return _one_or_all([_with_axes("atleast_1d", a, ((None,),)) for a in arys])


@_instead_of(np.atleast_2d)
def _atleast_2d(*arys: Any) -> Any:
    keys = (None, None), (None, _ALL)
    return _one_or_all([_with_axes("atleast_2d", a, keys) for a in arys])


@_instead_of(np.atleast_3d)
def _atleast_3d(*arys: Any) -> Any:
    keys = (None, None, None), (None, _ALL, None), (_ALL, _ALL, None)
    return _one_or_all([_with_axes("atleast_3d", a, keys) for a in arys])


def _with_axes(name: str, a: Any, keys: tuple[tuple[Any, ...], ...]) -> Any:
    """Return an array indexed by the key for its number of axes, if there is one."""
    a = a if isinstance(a, Symbol) else np.asarray(a)
    rank = len(_sizes_of(name, a))
    return a[keys[rank]] if rank < len(keys) else a


def _one_or_all(made: list[Any]) -> Any:
    return made[0] if len(made) == 1 else tuple(made)


@_instead_of(np.hstack)
def _hstack(tup: Any) -> Any:
    arrays = [_with_axes("hstack", a, ((None,),)) for a in tup]
    return _concatenate(arrays, 0 if len(_sizes_of("hstack", arrays[0])) == 1 else 1)


@_instead_of(np.vstack)
def _vstack(tup: Any) -> Any:
    return _concatenate([_atleast_2d(a) for a in tup], 0)


@_instead_of(np.dstack)
def _dstack(tup: Any) -> Any:
    return _concatenate([_atleast_3d(a) for a in tup], 2)


@_instead_of(np.column_stack)
def _column_stack(tup: Any) -> Any:
    keys = (None, None), (_ALL, None)
    return _concatenate([_with_axes("column_stack", a, keys) for a in tup], 1)


@_instead_of(np.broadcast_to, makes_array=True)
def _broadcast_to(array: Any, shape: Any) -> Any:
    wanted = axes_of(shape) or []
    have = _sizes_of("broadcast_to", array)
    pairs = list(zip(have[::-1], wanted[::-1], strict=False))
    if len(have) > len(wanted) or any(to == 1 and size != 1 for size, to in pairs):
        raise TraceError(
            f"native: numpy.broadcast_to of shape {have} to {tuple(wanted)} cannot be traced; "
            f"{ADVICE}"
        )
    return _where(np.ones(wanted, np.bool_), array, array)


@_instead_of(np.full_like, makes_array=True)
def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    if isinstance(fill_value, Symbol) or np.ndim(fill_value):
        raise TraceError(f"native: numpy.full_like of a value cannot be traced; {ADVICE}")
    if dtype is not None:
        value = np.asarray(fill_value).astype(dtype)
        return making.fill(shaping.shape(a), value)
    if isinstance(fill_value, (bool, int)) and 0 <= fill_value < 128:  # fits every type
        return call("fill_like", [a], {"value": int(fill_value), "dtype": None})
    raise TraceError(
        f"native: numpy.full_like with {fill_value!r} needs a dtype, because the type of the array "
        "is not known"
    )


@_instead_of(np.round, np.around)
def _round(a: Any, decimals: int = 0, out: None = None) -> Any:
    _no_output("round", out)
    return call("round", [a], {"decimals": index(decimals)})


@_instead_of(np.tile, makes_array=True)
def _tile(A: Any, reps: Any) -> Any:
    return call("tile", [A, integers(reps)], {"any_rank": True})


@_instead_of(np.pad, makes_array=True)
def _pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    return call(
        "pad", [array, constant_values, pad_width], {"mode": mode.upper(), "any_rank": True}
    )


@_instead_of(np.take)
def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    if axis is None:
        a, axis = shaping.reshape(a, -1), 0
    return call("gather", [a, indices], {"axis": axis, "batch_dims": 0, "from_end": True})


_MISSING = object()


@_instead_of(np.where, makes_array=True)
def _where(condition: Any, x: Any = _MISSING, y: Any = _MISSING, /) -> Any:
    if x is _MISSING:
        raise TraceError(
            "native: numpy.where of a condition alone cannot be traced, because the length of its "
            f"tuple is not known; use penstock.where, or {ADVICE}"
        )
    return call("where", [x, y, condition], {"weak": weakness([x, y]), "wrap": True})


# The ufuncs that numpy.clip calls, depending on which limits exist.
_CLIP: tuple[np.ufunc, ...] = (
    np._core.umath.clip,  # type: ignore[attr-defined]
    np.minimum,
    np.maximum,
    np.positive,
)


@_instead_of(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is None and high is None:
        return np.positive(a)
    limits = [None if limit is None else weakness_of(limit) for limit in (low, high)]
    op = _core.Op.clip(_CLIP, *limits)
    # A plain number becomes an array, unless it is a limit.
    values = [as_operand("clip", a)]
    for limit, weak in zip((low, high), limits, strict=True):
        if limit is not None:
            values.append(limit if weak else as_operand("clip", limit))
    return apply(op, values)


@_instead_of(np.zeros_like, makes_array=True)
def _zeros_like(a: Any, dtype: Any = None) -> Any:
    return making.zeros_like(a, dtype)


@_instead_of(np.ones_like, makes_array=True)
def _ones_like(a: Any, dtype: Any = None) -> Any:
    return making.ones_like(a, dtype)


@_instead_of(np.sum)
def _sum(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: Any = False
) -> Any:
    return _added("sum", np.add, a, axis, dtype, out, keepdims)


@_instead_of(np.prod)
def _prod(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: Any = False
) -> Any:
    return _added("prod", np.multiply, a, axis, dtype, out, keepdims)


def _added(
    name: str, ufunc: np.ufunc, a: Any, axis: Axis, dtype: Any, out: None, keepdims: Any
) -> Any:
    _no_output(name, out)
    if dtype is None:
        return _reduced(name, ufunc, a, axis, keepdims, AS_SUM)
    return _reduced(name, ufunc, shaping.cast(a, dtype), axis, keepdims)


@_instead_of(np.mean)
def _mean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: Any = False
) -> Any:
    _no_output("mean", out)
    if dtype is None:
        return reduce("mean", np.add, a, axis, keepdims, AS_MEAN)
    return reduce("mean", np.add, shaping.cast(a, dtype), axis, keepdims, AS_INPUT)


@_instead_of(np.average)
def _average(a: Any, axis: Axis = None, *, keepdims: Any = False) -> Any:
    return _mean(a, axis, keepdims=keepdims)


@_instead_of(np.ptp)
def _ptp(a: Any, axis: Axis = None, out: None = None, keepdims: Any = False) -> Any:
    _no_output("ptp", out)
    return np.subtract(_max(a, axis, keepdims=keepdims), _min(a, axis, keepdims=keepdims))


@_instead_of(np.max, np.amax)
def _max(a: Any, axis: Axis = None, out: None = None, keepdims: Any = False) -> Any:
    _no_output("max", out)
    return _reduced("max", np.maximum, a, axis, keepdims)


@_instead_of(np.min, np.amin)
def _min(a: Any, axis: Axis = None, out: None = None, keepdims: Any = False) -> Any:
    _no_output("min", out)
    return _reduced("min", np.minimum, a, axis, keepdims)


@_instead_of(np.any)
def _any(a: Any, axis: Axis = None, out: None = None, keepdims: Any = False) -> Any:
    _no_output("any", out)
    return _reduced("any", np.logical_or, a, axis, keepdims)


@_instead_of(np.all)
def _all(a: Any, axis: Axis = None, out: None = None, keepdims: Any = False) -> Any:
    _no_output("all", out)
    return _reduced("all", np.logical_and, a, axis, keepdims)


def _reduced(
    name: str, ufunc: np.ufunc, a: Any, axis: Axis, keepdims: bool, dtypes: int = AS_INPUT
) -> Any:
    return reduce(name, ufunc, a, axis, keepdims, dtypes, of_scalars=_is_one(axis))


def _is_one(axis: Axis) -> bool:
    """Return whether the axis is an int: for a scalar, NumPy accepts 0 and -1, but not (0,)."""
    return axis is not None and not isinstance(axis, (list, tuple))


def _no_output(name: str, out: Any) -> None:
    if out is not None:
        raise TraceError(f"native: numpy.{name} with out cannot be traced; {ADVICE}")
