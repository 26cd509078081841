"""Penstock's functions and methods as programs written for TensorFlow call them."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from penstock.arguments.checks import SYMBOLS
from penstock.compat.capture import captured
from penstock.compat.composite import Composite, kind_among
from penstock.compat.composite_specs import CompositeSpec
from penstock.compat.dataset_spec import DatasetSpec
from penstock.compat.dtypes import DType, for_penstock
from penstock.compat.errors import raise_translated
from penstock.compat.function import Function, unwrapped
from penstock.compat.graph import Lazy, contains_lazy
from penstock.compat.seeds import with_global
from penstock.compat.shape import TensorShape, penstock_spec
from penstock.compat.tensor import Tensor, in_one_type, tensor
from penstock.compat.values import call_with_tensors, nested_map, plain, tensors
from penstock.ops.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
)
from penstock.ops.native import NativeFunction
from penstock.structure import TensorSpec as PenstockSpec

# Arguments that are elements, or parts of them: TensorFlow's rules give their types.
_VALUES = frozenset(
    (
        *("initial_state", "serialized", "records", "contents"),
        *("a", "t", "x", "y", "input", "input_tensor", "input_bytes", "tensor", "value"),
        *("params", "indices", "on_value", "off_value", "condition", "image", "images"),
    )
)
# Lists of values that are put together.
_LISTS = frozenset({"values", "inputs"})
# What penstock alone has: calls of it are about errors and rows, not about elements.
_AS_THEY_ARE = frozenset({"on_error", "obj"})
_TEXTS = frozenset({"sep", "separator", "rewrite"})
# Lists of such values: defaults of columns.
_DEFAULTS = frozenset({"record_defaults", "column_defaults"})
# Values that take the type of the leaf they are put into.
_FILLERS = frozenset({"padding_values", "default_value", "constant_values"})
# Functions that TensorFlow traces when the dataset is described.
_TRACED = frozenset(
    (
        *("map_func", "predicate", "key_func", "reduce_func", "scan_func", "class_func"),
        *("element_length_func", "window_size_func"),
    )
)
# Lists of sizes, in which tensors of floating-point numbers count as integers.
_SIZES = frozenset({"multiples", "shape", "size"})
_SEEDS = frozenset({"seed", "shuffle_seed"})
_FILE_NAMES = frozenset({"filename", "filenames", "path", "pattern"})


_SIMPLE = frozenset({int, bool, type(None)})
_OBJECT = np.dtype(object)
_array = np.ndarray
_convert = operator.call
_FEATURES = (FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, VarLenFeature)


def argument(value: Any, name: str = "") -> Any:
    """Return an argument as penstock's functions take it.

    Parameters
    ----------
    value : object
        What the program gave.
    name : str
        The name of the parameter.

    Returns
    -------
    object
        Tensors as NumPy values, types and specs as penstock's, datasets as penstock's, and
        functions in a form that is called with tensors.
    """
    return _converter(name)(value)


@functools.cache
def _converter(name: str) -> Callable[[Any], Any]:
    if name in _VALUES or name in _TEXTS:
        return plain
    if name in _LISTS:
        return _values
    if name in _SIZES:
        return _sizes
    if name in _SEEDS:
        return lambda value: with_global(_nested(_other, value))
    if name == "elements":
        return lambda value: list(map(plain, value))
    if name in _AS_THEY_ARE:
        return lambda value: value
    if name in _DEFAULTS:
        return _column_defaults
    if name in _TRACED:
        return lambda value: _other(captured(value) if type(value) is not Function else value)
    if name == "file_pattern":
        return _patterns
    if name == "tensors":
        return _owned
    leaf = _filler if name in _FILLERS else _file_name if name in _FILE_NAMES else _other
    return functools.partial(_nested, leaf)


def _values(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return plain(value)
    if {Tensor}.issuperset(map(type, value)):
        return list(map(plain, value))
    return list(map(plain, in_one_type(value)))


def _sizes(value: Any) -> Any:
    kind = type(value)
    if kind is list or kind is tuple:
        if _SIMPLE.issuperset(map(type, value)):
            return value
        value = [int(x) if type(x) is Tensor and x.dtype.kind == "f" else x for x in value]
    return _nested(_other, value)


def _column_defaults(value: Any) -> Any:
    types = (DType, np.dtype, type)
    return value and [for_penstock(v) if isinstance(v, types) else plain(v) for v in value]


def _nested(leaf: Callable[[Any], Any], value: Any) -> Any:
    kind = type(value)
    if kind is DType:
        return value.for_penstock
    if kind in _SIMPLE or (kind is list and _SIMPLE.issuperset(map(type, value))):
        return value
    if kind in SYMBOLS:
        return value
    if isinstance(value, TensorShape):
        return value.dims
    if isinstance(value, _FEATURES):
        return value._replace(dtype=for_penstock(value.dtype))
    if isinstance(value, (list, tuple)):
        parts = [_nested(leaf, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, Mapping):
        return {key: _nested(leaf, part) for key, part in value.items()}
    return leaf(value)


def _filler(value: Any) -> Any:
    return value if isinstance(value, (int, float)) or value is None else plain(value)


def _owned(value: Any) -> Any:
    """Return nested values as `plain` does, with arrays that the program cannot change later."""

    def leaf(given: Any) -> Any:
        if hasattr(given, "columns") and hasattr(given, "__array__"):  # a table of numbers
            array = np.asarray(given)
            return array if array.dtype.kind in "biufc" else given
        # The arrays of a program, and not what was made of its lists just now.
        return given.copy() if type(given) is _array and given.flags.writeable else given

    def typed(made: Any) -> Any:
        if type(made) is _array and made.dtype is _OBJECT and not made.size:
            return np.empty(made.shape, "S")  # of strings, which no value tells
        return made

    return nested_map(typed, plain(nested_map(leaf, value)))


def _patterns(value: Any) -> Any:
    found = _nested(_file_name, value)
    if isinstance(found, (list, tuple)):
        return [from_here(each) if isinstance(each, str) else each for each in found]
    return from_here(found) if isinstance(found, str) else found


def from_here(pattern: str) -> str:
    """Return a pattern whose matches have TensorFlow's names: ``./a`` where it is ``*``."""
    first = pattern.split("/")[0]
    return f"./{pattern}" if any(each in first for each in "*?[") else pattern


def _file_name(value: Any) -> Any:
    if type(value) is Tensor:
        value = value.tolist()
    if isinstance(value, list):
        return [_file_name(each) for each in value]
    return value.decode() if isinstance(value, bytes) else _other(value)


def _other(value: Any) -> Any:
    value = value.__tf_tensor__() if hasattr(value, "__tf_tensor__") else value
    if type(value) is Tensor:
        return value.item() if not value.ndim else np.asarray(value)
    if isinstance(value, PenstockSpec):
        return penstock_spec(value)
    if isinstance(value, (CompositeSpec, DatasetSpec)):
        return PenstockSpec((), object)
    if isinstance(value, DType):
        return value.for_penstock
    if isinstance(value, Composite) or not callable(value):
        return value._inner if hasattr(value, "_inner") else value
    if isinstance(value, type):
        # A reader of files is penstock's own, which runs without Python; a subclass of one is not.
        if native := vars(value).get("_native"):
            return native
        if not hasattr(value, "_inner"):
            return value
    if isinstance(unwrapped(value), NativeFunction):
        return unwrapped(value)
    return of_tensors(value)


def of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors as one of penstock's values; messages name the former."""
    made: functools.partial[Any] = (
        _OfFunction(call_with_tensors, captured(function.python_function))
        if type(function) is Function
        else functools.partial(call_with_tensors, function)
    )
    made.stands_for = function  # type: ignore[attr-defined]
    return made


class _OfFunction(functools.partial[Any]):
    """Calls what a `Function` was made of; to pickle it is to pickle that function."""

    def __reduce__(self) -> Any:
        return of_tensors, (self.stands_for,)  # type: ignore[attr-defined]


def ported(
    function: Callable[..., Any],
    convert: Callable[[Any], Any] = tensors,
    by_kind: Mapping[type[Composite] | None, Callable[..., Any]] | None = None,
    refused: Callable[..., Any] = raise_translated,
) -> Any:
    """Return a function of penstock as programs written for TensorFlow call it.

    Parameters
    ----------
    function : callable
        The function, or a method: then the first argument is an object whose ``_inner`` it is.
    convert : callable
        What is done with the result.
    by_kind : mapping, optional
        What is called for ragged and sparse tensors, with the form for arrays before the arguments.
    refused : callable
        What is called with an error of the function, and the arguments.

    Returns
    -------
    callable
        Takes and gives tensors; errors are those of `penstock.compat.tf.errors`.
    """
    converters = [*map(_converter, _parameters(function))] or [_converter("")]
    last = converters[-1]
    most = len(converters)
    of_arrays = ported(function, convert, None, refused) if by_kind else None

    # An operation takes a microsecond: nothing is done here that most calls do not need.
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if by_kind and Composite.made and (handler := by_kind.get(kind_among(args, kwargs))):
            return handler(of_arrays, *args, **kwargs)
        if Lazy.used and contains_lazy((args, kwargs)):
            return Lazy(lambda run: call(*run.value(args), **run.value(kwargs)))
        given: Iterable[Any] = map(_convert, converters, args)
        if len(args) > most:
            given = itertools.chain(given, map(last, args[most:]))
        try:
            if kwargs:
                named = {name: _converter(name)(value) for name, value in kwargs.items()}
                made = function(*given, **named)
            else:
                made = function(*given)
            if type(made) is _array and convert is tensors and made.dtype is not _OBJECT:
                return made.view(Tensor)
            return convert(made)
        except TypeError as error:
            if not any(map(_is_bfloat16, args)):
                raise_translated(error)
        except Exception as error:
            return refused(error, *args, **kwargs)
        return _in_float32(call, *args, **kwargs)

    call.dispatching = functools.partial(ported, function, convert, refused=refused)  # type: ignore[attr-defined]
    return call


def _is_bfloat16(value: Any) -> bool:
    return type(value) is Tensor and value.dtype == "bfloat16"


def _in_float32(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a function that does not know bfloat16 makes of wider numbers."""
    wide = [tensor(value, "float32") if _is_bfloat16(value) else value for value in args]
    made = function(*wide, **kwargs)
    return tensor(made, "bfloat16") if made.dtype == "float32" else made


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def port_all(namespace: dict[str, Any], module: Any, names: Iterable[str] | None = None) -> None:
    """Put the public functions of one of penstock's modules into a namespace, ported."""
    for name in module.__all__ if names is None else names:
        thing = getattr(module, name)
        namespace[name] = thing if isinstance(thing, type) else ported(thing)
