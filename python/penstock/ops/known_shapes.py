"""Inference of shapes in traced programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.ops.symbol import Trace

Sizes = tuple[int | None, ...]  # None: any

_MOST_ITEMS = 64  # maximum items of an array whose values are tracked


class Known(NamedTuple):
    """The known properties of a value, which hold for all elements.

    Parameters
    ----------
    shape : tuple, optional
        The sizes of the axes, where None is any size. None if the shape is unknown.
    items : tuple, optional
        The items of an integer array with at most one axis, where None is an unknown item.
    constant : numpy.ndarray, optional
        The value itself, if it is the same for all elements.
    """

    shape: Sizes | None = None
    items: Sizes | None = None
    constant: Any = None


Rule = Callable[[Mapping[str, Any], Sequence[Known]], Known | list[Known]]

# By the name of an operation. The results of operations without a rule are unknown.
RULES: dict[str, Rule] = {}
NOTHING = Known()


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the rule of operations: it maps attributes and inputs to outputs.

    It may raise for inputs that the operation rejects; the outputs are then unknown.
    """

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def of_constant(value: Any) -> Known:
    """Return the properties of a value that is the same for all elements."""
    array = np.asarray(value)
    items: Sizes | None = None
    if array.dtype.kind in "iu" and array.ndim < 2 and array.size <= _MOST_ITEMS:
        items = tuple(map(int, array.ravel()))
    return Known(array.shape, items, array)


def of_trace(
    trace: Trace, leaves: Sequence[Sizes | None] | None = None
) -> dict[tuple[Any, int], Known]:
    """Return the known properties of all values of a trace, by their source.

    Parameters
    ----------
    trace : Trace
        The operations that a function has called so far.
    leaves : sequence of tuple or None, optional
        The known shapes of the leaves of the elements. ``None`` uses those known when the function
        was traced.
    """
    values: dict[tuple[Any, int], Known] = {}
    for i, shape in enumerate(trace.leaves if leaves is None else leaves):
        values["element", i] = Known(shape)
    for i, constant in enumerate(trace.constants):
        values["constant", i] = of_constant(constant)
    for step, (op, inputs, _) in enumerate(trace.steps):
        made = after_step(op.key, op.outputs, [values[source] for source in inputs])
        values |= {(step, i): known for i, known in enumerate(made)}
    return values


def after_step(key: tuple[Any, ...], outputs: int, inputs: Sequence[Known]) -> list[Known]:
    """Return the known properties of each output of a step, given those of its inputs.

    Parameters
    ----------
    key : tuple
        ``Op.key`` of the operation.
    outputs : int
        Number of outputs.
    inputs : sequence of Known
        The inputs, in order.
    """
    try:
        made = _made(key, inputs)
    except (IndexError, KeyError, OverflowError, TypeError, ValueError, ZeroDivisionError):
        made = NOTHING  # the operation rejects the inputs, or has a form unknown to its rule
    found = made if isinstance(made, list) else [made] * outputs
    return found if len(found) == outputs else [NOTHING] * outputs


def _made(key: tuple[Any, ...], inputs: Sequence[Known]) -> Known | list[Known]:
    if isinstance(key[1], tuple):  # in place: an array keeps its shape, but a scalar may not
        shape = inputs[0].shape
        return _made(key[1], inputs) if shape == () else Known(shape)
    if isinstance(key[1], np.ufunc):
        if len(key) == 3:
            return NOTHING if key[1].signature else Known(broadcast([i.shape for i in inputs]))
        return _reduced(inputs[0].shape, axes=key[3], keepdims=key[4])
    found = RULES.get(key[0])
    return found(key[1], inputs) if found else NOTHING


def _reduced(shape: Sizes | None, axes: Sequence[int] | None, keepdims: bool) -> Known:
    if shape is None:
        return Known(()) if axes is None and not keepdims else NOTHING
    gone = set(range(len(shape)) if axes is None else _places(axes, len(shape)))
    kept = [1 if i in gone else size for i, size in enumerate(shape) if keepdims or i not in gone]
    return Known(tuple(kept))


def broadcast(shapes: Sequence[Sizes | None]) -> Sizes | None:
    """Return the shape to which several arrays broadcast."""
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    rows = [(1,) * (rank - len(shape)) + shape for shape in known]
    return tuple(map(_one_size, *rows)) if len(rows) > 1 else rows[0]


def _one_size(*sizes: int | None) -> int | None:
    wide = [size for size in sizes if size not in (None, 1)]
    return wide[0] if wide else None if None in sizes else 1


def _places(axes: Sequence[int], rank: int) -> list[int]:
    if not all(-rank <= axis < rank for axis in axes):
        raise IndexError(axes)
    return [axis % rank for axis in axes]


def shape_of(known: Known) -> Sizes:
    """Return a shape of known rank; raise ValueError if the rank is unknown."""
    if known.shape is None:
        raise ValueError("of unknown rank")
    return known.shape


def sizes_of(known: Known) -> Sizes:
    """Return the sizes in an input array, None for unknown ones."""
    if known.items is not None:
        return known.items
    (count,) = shape_of(known)
    return (None,) * int(count or _none())


def _none() -> int:
    raise ValueError("of unknown length")


# Operations that keep the shape: element-wise ones, and those that change pixels of images.


@rule(
    *("fill_like", "round", "random.shuffle", "io.encode_base64", "io.decode_base64"),
    *("strings.lower", "strings.upper", "strings.strip", "strings.length", "strings.to_number"),
    *("strings.as_string", "strings.to_hash_bucket_fast", "strings.regex_full_match"),
    *("image.convert_image_dtype", "image.adjust_gamma", "image.adjust_brightness"),
    *("image.adjust_contrast", "image.adjust_saturation", "image.adjust_hue"),
    *("image.random_brightness", "image.random_contrast", "image.random_saturation"),
    *("image.random_hue", "image.per_image_standardization", "image.normalize"),
    *("image.flip_left_right", "image.flip_up_down", "image.random_flip_left_right"),
    *("image.random_flip_up_down", "image.rgb_to_hsv", "image.hsv_to_rgb"),
)
def _same(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known(inputs[0].shape)


@rule("cast")
def _cast(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    items = inputs[0].items
    # Sizes always fit in these types.
    return Known(inputs[0].shape, items if attributes["dtype"] in ("int32", "int64") else None)


@rule("where")
def _where(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known(broadcast([each.shape for each in inputs]))


# Operations on shapes.


@rule("shape")
def _shape(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape = inputs[0].shape
    return NOTHING if shape is None else Known((len(shape),), shape)


@rule("shape_as_array")
def _shape_as_array(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return inputs[0]


@rule("python_number")
def _python_number(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known(())


@rule("reshape")
def _reshape(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    wanted = sizes_of(inputs[1])
    if -1 not in wanted:
        return Known(wanted)
    items = _product(inputs[0].shape or (None,)) if inputs[0].shape != () else 1
    others = _product([size for size in wanted if size != -1])
    free = None if items is None or others is None else items // others
    return Known(tuple(free if size == -1 else size for size in wanted))


def _product(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else None


@rule("expand_dims")
def _expand_dims(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape, axes = shape_of(inputs[0]), attributes["axis"]
    rest = iter(shape)
    rank = len(shape) + len(axes)
    added = _places(axes, rank)
    return Known(tuple(1 if i in added else next(rest) for i in range(rank)))


@rule("squeeze")
def _squeeze(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape, axes = shape_of(inputs[0]), attributes["axis"]
    if axes is None:
        return NOTHING if None in shape else Known(tuple(n for n in shape if n != 1))
    gone = _places(axes, len(shape))
    return Known(tuple(size for i, size in enumerate(shape) if i not in gone))


@rule("transpose")
def _transpose(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape, order = shape_of(inputs[0]), attributes["perm"]
    if order is None:
        return Known(shape[::-1])
    return Known(tuple(shape[axis] for axis in _places(order, len(shape))))


# Indexing, joining, padding and filling.


@rule("getitem")
def _getitem(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    x, *numbers = inputs
    parts = np.reshape(attributes["parts"], (-1, 5)).tolist()
    index, position = [], 0
    for kind, traced, *given in parts:
        places: list[Any] = []
        for bit, number in enumerate(given):
            if traced >> bit & 1:
                (found,) = numbers[position].items or (None,)
                position += 1
                places.append(found)
            else:
                places.append(_ABSENT if number == -(2**63) else number)
        index.append((kind, places))
    return Known(_taken(shape_of(x), index), _item(x, index))


_ABSENT = object()  # an omitted start, stop or step of a slice
_NUMBER, _SLICE, _ELLIPSIS = range(3)  # cpp/compute/array/getitem.cc


def _taken(shape: Sizes, index: Sequence[tuple[int, Sequence[Any]]]) -> Sizes:
    named = sum(kind in (_NUMBER, _SLICE) for kind, _ in index)
    rest = list(shape)
    made: list[int | None] = []
    for kind, places in index:
        if kind == _NUMBER:
            rest.pop(0)
        elif kind == _SLICE:
            made.append(_sliced(rest.pop(0), places))
        elif kind == _ELLIPSIS:
            whole = len(shape) - named
            made += rest[:whole]
            del rest[:whole]
        else:
            made.append(1)
    return (*made, *rest)


def _sliced(size: int | None, places: Sequence[Any]) -> int | None:
    if all(place is _ABSENT for place in places[:2]) and places[2] in (_ABSENT, 1, -1):
        return size
    if size is None or None in places:
        return None
    start, stop, step = (None if place is _ABSENT else place for place in places)
    return len(range(size)[start:stop:step])


def _item(x: Known, index: Sequence[tuple[int, Sequence[Any]]]) -> Sizes | None:
    """Return the item that a single number selects from an array with one axis."""
    if x.items is None or len(shape_of(x)) != 1 or len(index) != 1 or index[0][0] != _NUMBER:
        return None
    number = index[0][1][0]
    return None if number is None else (x.items[number],)


@rule("stack")
def _stack(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape = _agreed([shape_of(each) for each in inputs])
    axis = _places([attributes["axis"]], len(shape) + 1)[0]
    known = [each.items or (None,) for each in inputs]
    items = tuple(item for (item,) in known) if shape == () else None
    return Known((*shape[:axis], len(inputs), *shape[axis:]), items)


@rule("concat")
def _concat(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shapes = [shape_of(each) for each in inputs]
    axis = _places([attributes["axis"]], len(shapes[0]))[0]
    along = [shape[axis] for shape in shapes]
    others = _agreed([(*shape[:axis], *shape[axis + 1 :]) for shape in shapes])
    total = None if None in along else sum(size for size in along if size is not None)
    return Known((*others[:axis], total, *others[axis:]))


def _agreed(shapes: Sequence[Sizes]) -> Sizes:
    """Return the common shape; raise ValueError if the ranks differ."""
    if len({len(shape) for shape in shapes}) != 1:
        raise ValueError("of several ranks")
    columns = zip(*shapes, strict=True)
    return tuple(next((size for size in sizes if size is not None), None) for sizes in columns)


@rule("tile")
def _tile(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape, times = shape_of(inputs[0]), sizes_of(inputs[1])
    rank = max(len(shape), len(times))
    ones = [(1,) * (rank - len(sizes)) + sizes for sizes in (shape, times)]
    pairs = zip(*ones, strict=True)
    return Known(tuple(None if n is None or by is None else n * by for n, by in pairs))


@rule("pad")
def _pad(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape, around = shape_of(inputs[0]), inputs[2].constant
    if around is None:
        return Known((None,) * len(shape))
    added = np.broadcast_to(around, (len(shape), 2)).sum(axis=1).tolist()
    return Known(tuple(n if n is None else n + more for n, more in zip(shape, added, strict=True)))


@rule("gather")
def _gather(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    params, indices = shape_of(inputs[0]), shape_of(inputs[1])
    axis, batch = attributes["axis"], attributes["batch_dims"]
    if not isinstance(axis, int) or batch:
        return NOTHING
    axis = _places([axis], len(params))[0]
    return Known((*params[:axis], *indices, *params[axis + 1 :]))


@rule("one_hot")
def _one_hot(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    shape, (depth,) = shape_of(inputs[2]), sizes_of(inputs[3])
    axis = attributes["axis"] % (len(shape) + 1)
    return Known((*shape[:axis], depth, *shape[axis:]))


@rule("fill", "random.uniform", "random.normal")
def _filled(attributes: Mapping[str, Any], inputs: Sequence[Known]) -> Known:
    return Known(sizes_of(inputs[0]))
