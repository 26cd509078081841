"""Conversion of elements and arguments between penstock and programs written for TensorFlow."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._core import without_class
from penstock.arguments.checks import SYMBOLS
from penstock.compat.composite import (
    Composite,
    Variant,
    is_batch,
    is_composite,
    joined,
    may_hold_composites,
)
from penstock.compat.composite_specs import spec_of_leaf
from penstock.compat.dataset_spec import DatasetSpec
from penstock.compat.ragged import RaggedTensor
from penstock.compat.shape import TensorShape, TensorSpec
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import Tensor, tensor, text
from penstock.dataset import Dataset
from penstock.probing import first_of
from penstock.structure import TensorSpec as PenstockSpec
from penstock.structure import is_nested, map_parts, parts_of
from penstock.traits import main_form, traits_of


def tensors(value: Any) -> Any:
    """Return penstock's nested values in the form passed to functions: `Tensor` at each leaf."""
    handler = _TENSORS.get(type(value))
    return _other_tensors(value) if handler is None else handler(value)


def _other_tensors(value: Any) -> Any:
    for penstock_class, own_class in _CLASSES:
        if isinstance(value, penstock_class):
            return own_class._wrap(value)  # type: ignore[attr-defined]
    if isinstance(value, np.generic):  # a type added by a package, such as bfloat16
        return _of_scalar(value)
    return _rebuilt(value, tensors)


@without_class
def plain(value: Any) -> Any:
    """Convert nested values for penstock, by TensorFlow's rules.

    A list becomes one array.
    """
    handler = _PLAIN.get(type(value))
    return handler(value) if handler is not None else _other_plain(value)


def _plain_strings(value: Tensor) -> Any:
    return value.view(_array) if value.ndim else value.item()


def _other_plain(value: Any) -> Any:
    for _, own_class in _CLASSES:
        if isinstance(value, own_class):
            return value._inner  # type: ignore[attr-defined]
    return _rebuilt(value, plain)


def result(value: Any) -> Any:
    """Convert a function's result for penstock; a list counts as a tuple."""
    return tuple(map(plain, value)) if type(value) is list else plain(value)


def call_with_tensors(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function written for TensorFlow with penstock's values."""
    if len(args) == 1:
        (arg,) = args
        handler = _TENSORS.get(type(arg))
        made = function(_other_tensors(arg) if handler is None else handler(arg))
    else:
        made = function(*map(tensors, args))
    made = result(made)
    return made[()] if type(made) is _array and not made.ndim else made


def numpy_values(value: Any) -> Any:
    """Return nested tensors as NumPy arrays, NumPy scalars and bytes."""
    if type(value) is Tensor:
        return value._numpy()
    if hasattr(value, "__tf_tensor__"):
        return value.__tf_tensor__()._numpy()
    return value.numpy() if isinstance(value, Composite) else _rebuilt(value, numpy_values)


def specs_of(dataset: Any) -> Any:
    """Return the element spec of a penstock dataset in TensorFlow's form."""
    found = dataset.element_spec
    if not may_hold_composites(found):
        return specs(found)
    try:
        return _specs_by(found, first_of(dataset))
    except StopIteration:
        chooses = traits_of(dataset._kind).of_positions or main_form(dataset._kind) == "filter"
        if chooses and dataset._inputs:
            return specs_of(dataset._inputs[0])
        raise ValueError(
            "element_spec: the types of ragged and sparse tensors, and of windows, are known from "
            "the first element, and there is none"
        ) from None


def _specs_by(spec: Any, element: Any) -> Any:
    """Return nested specs; those of composite tensors and windows follow an element."""
    if is_nested(spec):
        parts = dict(parts_of(element))
        return map_parts(lambda key, part: _specs_by(part, parts[key]), spec)
    if is_composite(element):
        return spec_of_leaf(spec.shape, element)
    if isinstance(element, Dataset):
        return DatasetSpec(specs_of(element))
    return specs(spec)


def specs(value: Any) -> Any:
    """Return nested penstock specs in TensorFlow's form."""
    if isinstance(value, PenstockSpec):
        shape = None if value.shape is None else TensorShape(value.shape)
        return TensorSpec(shape, value.dtype, value.name)
    return _rebuilt(value, specs)


def nested_map(function: Callable[[Any], Any], value: Any) -> Any:
    """Return nested tuples and dicts with each leaf converted."""
    if type(value) is dict or type(value) is tuple or hasattr(value, "_fields"):
        return _rebuilt(value, functools.partial(nested_map, function))
    return function(value)


def _rebuilt(value: Any, each: Callable[[Any], Any]) -> Any:
    """Return a structure with `each` applied to its parts; other values unchanged."""
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return type(value)(*map(each, value))
        return _tuple(value, each)
    if isinstance(value, dict):
        return type(value)(_dict(value, each))
    if isinstance(value, type):
        return value
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    elif hasattr(value, "__attrs_attrs__"):
        names = [attribute.name for attribute in value.__attrs_attrs__]
    else:
        return value
    return type(value)(**{name: each(getattr(value, name)) for name in names})


def _tuple(value: Any, each: Callable[[Any], Any]) -> Any:
    return tuple(map(each, value))


def _dict(value: Any, each: Callable[[Any], Any]) -> Any:
    return {key: each(item) for key, item in value.items()}


def _view(array: np.ndarray[Any, Any]) -> Any:
    # The engine's strings are all bytes or all str, so the first one decides.
    if array.dtype is not _OBJECT or (array.size and type(array.flat[0]) is bytes):
        return array.view(Tensor)
    return joined(array).value if is_batch(array) else tensor(array)


def _of_scalar(value: np.generic) -> Any:
    return _asarray(value).view(Tensor)


_OBJECT = np.dtype(object)
_asarray = np.asarray
_array = np.ndarray
_SCALARS = [np.dtype(code).type for code in np.typecodes["All"] if code not in "OSUV"]


def _as_it_is(value: Any) -> Any:
    return value


# Pairs of a penstock class and a class of this package, which are converted to each other.
_CLASSES: list[tuple[type, type]] = []

_TENSORS: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys(_SCALARS, _of_scalar),
    np.ndarray: _view,
    bytes: text,
    str: text,
    tuple: lambda value: tuple(map(tensors, value)),
    dict: lambda value: _dict(value, tensors),
    list: lambda value: list(map(tensors, value)),
    bool: tensor,
    int: tensor,
    float: tensor,
    Variant: lambda leaf: leaf.value,
    type(None): _as_it_is,
    **dict.fromkeys(SYMBOLS, _as_it_is),
}
_PLAIN: dict[type, Callable[[Any], Any]] = {
    tuple: lambda value: tuple(map(plain, value)),
    dict: lambda value: _dict(value, plain),
    list: lambda value: plain(tensor(value)),
    Tensor: _plain_strings,
    np.ndarray: lambda value: plain(tensor(value)) if value.dtype.kind in "OUS" else value,
    bytes: lambda value: value,
    str: str.encode,
    np.str_: str.encode,
    np.bytes_: bytes,
    bool: np.bool_,
    int: lambda value: tensor(value)._numpy(),
    float: np.float32,
    complex: np.complex128,
    range: lambda value: plain(tensor(value)),
    RaggedTensor: Variant.of,
    SparseTensor: Variant.of,
    TensorShape: lambda shape: plain(tensor(shape)),
    type(None): _as_it_is,
    **dict.fromkeys(SYMBOLS, _as_it_is),
}


def register(penstock_class: type, own_class: type) -> None:
    """Register a pair of classes whose objects, also of subclasses, are converted to each other."""
    _CLASSES.append((penstock_class, own_class))


def register_value(own_class: type, convert: Callable[[Any], Any]) -> None:
    """Register a class whose objects are converted to tensors by a function."""
    _PLAIN[own_class] = lambda value: plain(convert(value))
