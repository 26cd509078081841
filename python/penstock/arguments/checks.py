"""Checks for each kind of argument, which raise TypeError or ValueError with its name.

A check takes the label, ``"batch: batch_size"``, and the value. Symbols of a function that is being
traced are left to the operation, which knows which arguments may depend on an element.
"""

from __future__ import annotations

import codecs
import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from operator import index
from typing import Any

import numpy as np

from penstock.paths import what_came

Check = Callable[[str, Any], None]

MOST_THREADS = 1 << 14
MOST_NESTING = 200  # the engine's limit for elements
TOO_DEEP = f"nested more than {MOST_NESTING} deep (does it contain itself?)"
_MOST = 2**63 - 1
# Classes whose instances represent values during tracing. They register themselves, because the
# module of symbols is in a higher layer.
SYMBOLS: set[type] = set()
_TRUTH = (bool, np.bool_)
_SCALARS = frozenset((bool, int, float, complex, str, bytes, *np.sctypeDict.values())) - {
    np.object_
}


def shown(value: Any) -> str:
    """Return a value as text for an error message."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    try:
        return f"{value!r:.200}"
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deep to be shown"


def is_symbol(value: Any) -> bool:
    """Return whether a value represents an argument of a function being traced."""
    return type(value) in SYMBOLS


def whole(low: int = -(2**63), high: int = _MOST, *, also: str = "") -> Check:
    """Return a check for an int in a range; `also` names other valid values in errors."""

    def check(place: str, value: Any) -> None:
        if type(value) is not int:
            if is_symbol(value):
                return
            value = _index(place, value, "an int")
        if value > _MOST or value < -(2**63):
            raise ValueError(f"{place}: an int of 64 bits was expected, got {value}")
        if value < low:
            raise ValueError(f"{place} must be >= {low}{also}, got {value}")
        if value > high:
            raise ValueError(f"{place} must be <= {high}, got {value}")

    return check


def count_or_all(place: str, value: Any) -> None:
    """Check a number of elements, or `UNKNOWN_CARDINALITY` for all elements."""
    if type(value) is not int or value != -2:
        whole(1, also=" or UNKNOWN_CARDINALITY")(place, value)


def _index(place: str, value: Any, expected: str) -> int:
    if not isinstance(value, _TRUTH) and hasattr(value, "__index__"):
        try:
            return index(value)
        except TypeError:
            pass  # an array with several items, or of another dtype
    raise TypeError(f"{place} must be {expected}, got {shown(value)}")


def whole_of_any_size(place: str, value: Any) -> None:
    """Check an int of any size."""
    _index(place, value, "an int")


_at_least_one = whole(1, MOST_THREADS)


def threads(place: str, value: Any) -> None:
    """Check a number of threads: 1 or more, or AUTOTUNE."""
    if not (isinstance(value, (int, np.integer)) and value == -1):
        _at_least_one(place, value)


_any_size = whole(0, also=" or AUTOTUNE")


def ahead(place: str, value: Any) -> None:
    """Check a number of elements to keep ready: 0 or more, or AUTOTUNE."""
    if not (isinstance(value, (int, np.integer)) and value == -1):
        _any_size(place, value)


def wholes(place: str, value: Any) -> None:
    """Check an int or a sequence of ints."""
    items = value if type(value) in (tuple, list) else (value,)
    if all([type(item) is int and -(2**63) <= item <= _MOST for item in items]):  # noqa: C419
        return
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or is_symbol(value):
        value = [value]
    elif isinstance(value, np.ndarray) and value.ndim == 0:
        value = [value[()]]
    for item in value:
        if type(item) is not int and not is_symbol(item):
            item = _index(place, item, "an int or a sequence of them")
        if type(item) is int and not -(2**63) <= item <= _MOST:
            raise ValueError(f"{place}: ints of 64 bits were expected, got {item}")


def size_or_sizes(place: str, value: Any) -> None:
    """Check the shape of a new array."""
    wholes(place, value)
    sizes = value if type(value) in (tuple, list) else (value,)
    for size in sizes:
        if type(size) is int and size < 0:
            raise ValueError(f"{place} must hold sizes >= 0, got {size}")


def truth(place: str, value: Any) -> None:
    """Check a bool; 0 and 1 are accepted."""
    if value is True or value is False:
        return
    if isinstance(value, _TRUTH) or is_symbol(value):
        return
    if isinstance(value, (int, np.integer)) and value in (0, 1):
        return
    if isinstance(value, np.ndarray) and value.dtype == bool and value.ndim == 0:
        return
    raise TypeError(f"{place} must be a bool, got {shown(value)}")


def real(place: str, value: Any) -> None:
    """Check a number, which may be NaN."""
    if type(value) is float:
        return
    if is_symbol(value):
        return
    try:
        if not isinstance(value, _TRUTH) and hasattr(value, "__float__"):
            float(value)
            return
    except TypeError:
        pass  # an array with several items
    except OverflowError:
        raise ValueError(f"{place} must be finite, got an int that no float can be") from None
    raise TypeError(f"{place} must be a number, got {shown(value)}")


def number(place: str, value: Any) -> None:
    """Check a finite number."""
    real(place, value)
    if not is_symbol(value) and not math.isfinite(float(value)):
        raise ValueError(f"{place} must be finite, got {value}")


def text(place: str, value: Any) -> None:
    """Check a str."""
    if not isinstance(value, str):
        raise TypeError(f"{place} must be a str, got {shown(value)}")


def one_of(*choices: str) -> Check:
    """Return a check for one of several words."""
    wanted = " or ".join((*filter(None, [", ".join(map(repr, choices[:-1]))]), repr(choices[-1])))

    def check(place: str, value: Any) -> None:
        if not isinstance(value, str) or value not in choices:
            wrong = ValueError if isinstance(value, str) else TypeError
            raise wrong(f"{place} must be {wanted}, got {shown(value)}")

    return check


def word_or(word: str, check: Check) -> Check:
    """Return a check that also accepts a word."""

    def both(place: str, value: Any) -> None:
        if not isinstance(value, str):
            check(place, value)
        elif value != word:
            raise ValueError(f"{place} must be a number or {word!r}, got {value!r:.200}")

    return both


def text_or_bytes(place: str, value: Any) -> None:
    """Check a str or bytes."""
    if not isinstance(value, (str, bytes)) and not is_symbol(value):
        raise TypeError(f"{place} must be str or bytes, got {type(value).__name__}")


def or_none(check: Check) -> Check:
    """Return a check that also accepts None."""
    return lambda place, value: None if value is None else check(place, value)


def character(place: str, value: Any) -> None:
    """Check a str of one character."""
    text(place, value)
    if len(value) != 1:
        raise ValueError(f"{place} must be one ASCII character, got {value!r}")


def seconds(place: str, value: Any) -> None:
    """Check a waiting time in seconds."""
    number(place, value)
    if value > threading.TIMEOUT_MAX:
        raise ValueError(f"{place} must be <= {threading.TIMEOUT_MAX:.0f} seconds, got {value}")


def function(place: str, value: Any) -> None:
    """Check a callable."""
    if not callable(value):
        raise TypeError(f"{place} must be callable, got {shown(value)}")


def path(place: str, value: Any) -> None:
    """Check the name of a file or folder."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{place} must be a str or a path, got {what_came(value)}")
    if not os.fspath(value):
        raise ValueError(f"{place} must not be empty")


def truth_or_path(place: str, value: Any) -> None:
    """Check a bool, or the path of a folder."""
    if not isinstance(value, bool):
        path(place, value)


def dtype(place: str, value: Any) -> None:
    """Check anything that NumPy converts to a dtype, except None, which NumPy takes as float64."""
    if type(value) is type and value in _SCALARS:
        return
    if isinstance(value, (np.dtype, type)):
        if isinstance(value, type) and np.dtype(value) == object and value is not object:
            raise TypeError(f"{place} must be a dtype, got {shown(value)}")
        return
    try:
        if value is None:
            raise TypeError
        np.dtype(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{place} must be a dtype, got {shown(value)}") from error


def nested_dtypes(place: str, value: Any) -> None:
    """Check dtypes in nested tuples, lists and dicts."""
    _each_leaf(place, value, dtype, (tuple, list, Mapping), ())


def specification(place: str, value: Any) -> None:
    """Check nested TensorSpecs: anything with a shape and a dtype."""

    def leaf(place: str, value: Any) -> None:
        if not (hasattr(value, "shape") and hasattr(value, "dtype")):
            raise TypeError(f"{place}: a TensorSpec was expected at each leaf, got {shown(value)}")

    _each_leaf(place, value, leaf, (tuple, Mapping), ())


def _each_leaf(
    place: str, value: Any, check: Check, nests: tuple[type, ...], inside: tuple[int, ...]
) -> None:
    if value is None and inside:
        return
    if not isinstance(value, nests):
        check(place, value)
        return
    if id(value) in inside:
        raise ValueError(f"{place} contains itself")
    if len(inside) > MOST_NESTING:
        raise ValueError(f"{place}: {TOO_DEEP}")
    parts: Any = value.values() if isinstance(value, Mapping) else value
    for part in parts:
        _each_leaf(place, part, check, nests, (*inside, id(value)))


def anything(place: str, value: Any) -> None:
    """Accept anything: the function itself raises the error."""


def texts(place: str, value: Any) -> None:
    """Check a str or bytes, or an array or sequence of them."""
    if isinstance(value, (str, bytes)) or is_symbol(value):
        return
    for each in value.flat if isinstance(value, np.ndarray) else _items(place, value):
        text_or_bytes(f"{place}: each item", each)


def _items(place: str, value: Any) -> list[Any]:
    sequence(place, value)
    return list(value)


def encoding(place: str, value: Any) -> None:
    """Check the name of an encoding."""
    text(place, value)
    try:
        codecs.lookup(value)
    except (LookupError, ValueError) as error:
        raise ValueError(f"{place}: there is no encoding {value!r:.200}") from error


def shape(place: str, value: Any) -> None:
    """Check the sizes of axes; None means any size."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, _TRUTH):
        wholes(place, value)
        return
    sequence(place, value)
    wholes(place, [size for size in value if size is not None])


def paths(place: str, value: Any) -> None:
    """Check one or several names of files or folders."""
    if isinstance(value, (str, bytes, os.PathLike)) or is_symbol(value):
        return
    for each in value.flat if isinstance(value, np.ndarray) else _items(place, value):
        path(f"{place}: each item", each)


def nested_arrays(place: str, value: Any) -> None:
    """Check arrays in nested tuples and dicts."""
    _each_leaf(place, value, array, (tuple, Mapping), ())


def names(place: str, value: Any) -> None:
    """Check a sequence of names; the letters of a str are also names."""
    if not isinstance(value, str):
        sequence(place, value)


def mapping(place: str, value: Any) -> None:
    """Check a dict with str keys."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{place} must be a dict, got {shown(value)}")
    for key in value:
        if not isinstance(key, (str, bytes)):
            raise TypeError(f"{place}: its keys must be str, got {shown(key)}")


def sequence(place: str, value: Any) -> None:
    """Check a sequence, or another iterable that is not text."""
    if type(value) is tuple:
        return
    if isinstance(value, list):
        for item in value:
            if item is value:
                raise ValueError(f"{place} contains itself")
        return
    if isinstance(value, (str, bytes)) or not (isinstance(value, Iterable) or is_symbol(value)):
        raise TypeError(f"{place} must be a sequence, got {shown(value)}")


def datasets(place: str, value: Any) -> None:
    """Check Datasets in nested tuples, lists and dicts."""
    _each_leaf(f"{place}: each leaf", value, dataset, (tuple, list, Mapping), ())


def dataset(place: str, value: Any) -> None:
    """Check a Dataset."""
    if not hasattr(type(value), "element_spec") or not hasattr(value, "_then"):
        raise TypeError(f"{place} must be a Dataset, got {shown(value)}")


def array(place: str, value: Any) -> None:
    """Check anything that can be converted to an array."""
    if is_symbol(value):
        return
    try:
        if isinstance(value, (tuple, list)) and any(map(is_symbol, value)):
            return
        made = np.asarray(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{place} must be an array, got {shown(value)}") from error
    if made.dtype == object and made.ndim == 0:
        raise TypeError(f"{place} must be an array, got {shown(value)}")


def numbers(place: str, value: Any) -> None:
    """Check anything that can be converted to an array of numbers."""
    array(place, value)
    if not is_symbol(value) and np.asarray(value).dtype.kind not in "biufc":
        raise TypeError(f"{place} must hold numbers, got {shown(value)}")


def mixes_strings(values: Any) -> bool:
    """Return whether values mix strings and numbers, which NumPy would turn into strings."""
    kinds = set(map(type, values))
    strings = {kind for kind in kinds if issubclass(kind, (str, bytes))}
    others = kinds - strings
    return bool(strings) and any(issubclass(kind, (Number, np.generic)) for kind in others)
