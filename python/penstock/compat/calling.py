"""Wrap penstock's functions and methods for calls from programs written for TensorFlow."""

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

# Arguments that contain elements or parts of them, whose types follow TensorFlow's rules.
_VALUES = frozenset(
    (
        *("initial_state", "serialized", "records", "contents"),
        *("a", "t", "x", "y", "input", "input_tensor", "input_bytes", "tensor", "value"),
        *("params", "indices", "on_value", "off_value", "condition", "image", "images"),
    )
)
# Lists of values that are concatenated or stacked.
_LISTS = frozenset({"values", "inputs"})
# Arguments that only penstock has: calls with them concern errors and rows, not elements.
_AS_THEY_ARE = frozenset({"on_error", "obj"})
_TEXTS = frozenset({"sep", "separator", "rewrite"})
# Lists of default values, for columns.
_DEFAULTS = frozenset({"record_defaults", "column_defaults"})
# Values that take the type of the leaf they are inserted into.
_FILLERS = frozenset({"padding_values", "default_value", "constant_values"})
# Functions that TensorFlow traces when the dataset is defined.
_TRACED = frozenset(
    (
        *("map_func", "predicate", "key_func", "reduce_func", "scan_func", "class_func"),
        *("element_length_func", "window_size_func"),
    )
)
# Lists of sizes, in which floating-point tensors count as integers.
_SIZES = frozenset({"multiples", "shape", "size"})
_SEEDS = frozenset({"seed", "shuffle_seed"})
_FILE_NAMES = frozenset({"filename", "filenames", "path", "pattern"})


_SIMPLE = frozenset({int, bool, type(None)})
_OBJECT = np.dtype(object)
_array = np.ndarray
_convert = operator.call
_FEATURES = (FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, VarLenFeature)


def argument(value: Any, name: str = "") -> Any:
    """Convert an argument for penstock's functions.

    Parameters
    ----------
    value : object
        The program's argument.
    name : str
        Name of the parameter.

    Returns
    -------
    object
        Tensors become NumPy values; types, specs and datasets become penstock's; functions are
        wrapped to be called with tensors.
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
    """Return nested values like `plain`, with copies of arrays that the program could modify."""

    def leaf(given: Any) -> Any:
        if hasattr(given, "columns") and hasattr(given, "__array__"):  # a table of numbers
            array = np.asarray(given)
            return array if array.dtype.kind in "biufc" else given
        # Copy the program's arrays, but not those just created from its lists.
        return given.copy() if type(given) is _array and given.flags.writeable else given

    def typed(made: Any) -> Any:
        if type(made) is _array and made.dtype is _OBJECT and not made.size:
            return np.empty(made.shape, "S")  # strings, whose type cannot be inferred
        return made

    return nested_map(typed, plain(nested_map(leaf, value)))


def _patterns(value: Any) -> Any:
    found = _nested(_file_name, value)
    if isinstance(found, (list, tuple)):
        return [from_here(each) if isinstance(each, str) else each for each in found]
    return from_here(found) if isinstance(found, str) else found


def from_here(pattern: str) -> str:
    """Return a pattern whose matches have TensorFlow's form: ``./a`` for the pattern ``*``."""
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
        # Readers of files are penstock's own and run without Python; subclasses of them do not.
        if native := vars(value).get("_native"):
            return native
        if not hasattr(value, "_inner"):
            return value
    if isinstance(unwrapped(value), NativeFunction):
        return unwrapped(value)
    return of_tensors(value)


def of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors as a function of penstock values; messages show the former."""
    made: functools.partial[Any] = (
        _OfFunction(call_with_tensors, captured(function.python_function))
        if type(function) is Function
        else functools.partial(call_with_tensors, function)
    )
    made.stands_for = function  # type: ignore[attr-defined]
    return made


class _OfFunction(functools.partial[Any]):
    """Calls the function that a `Function` wraps; it is pickled as that function."""

    def __reduce__(self) -> Any:
        return of_tensors, (self.stands_for,)  # type: ignore[attr-defined]


def ported(
    function: Callable[..., Any],
    convert: Callable[[Any], Any] = tensors,
    by_kind: Mapping[type[Composite] | None, Callable[..., Any]] | None = None,
    refused: Callable[..., Any] = raise_translated,
) -> Any:
    """Wrap a penstock function for calls from programs written for TensorFlow.

    Parameters
    ----------
    function : callable
        The function, or a method. For a method, the first argument is an object whose ``_inner`` is
        penstock's.
    convert : callable
        Converts the result.
    by_kind : mapping, optional
        Functions for ragged and sparse tensors; their first argument is the function for arrays.
    refused : callable
        Called with an error of the function, and the arguments.

    Returns
    -------
    callable
        Takes and returns tensors; raises the errors of `penstock.compat.tf.errors`.
    """
    converters = [*map(_converter, _parameters(function))] or [_converter("")]
    last = converters[-1]
    most = len(converters)
    of_arrays = ported(function, convert, None, refused) if by_kind else None

    # An operation takes only a microsecond, so do nothing here that most calls do not need.
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
    """Call a function without bfloat16 support with float32 values, and convert the result."""
    wide = [tensor(value, "float32") if _is_bfloat16(value) else value for value in args]
    made = function(*wide, **kwargs)
    return tensor(made, "bfloat16") if made.dtype == "float32" else made


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def port_all(namespace: dict[str, Any], module: Any, names: Iterable[str] | None = None) -> None:
    """Add wrapped public functions of a penstock module to a namespace."""
    for name in module.__all__ if names is None else names:
        thing = getattr(module, name)
        namespace[name] = thing if isinstance(thing, type) else ported(thing)
