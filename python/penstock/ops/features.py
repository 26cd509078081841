"""Feature specifications for parsing examples."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked_tuple
from penstock.structure import as_dtype

_FIXED, _RAGGED, _PADDED = range(3)  # FeatureForm of cpp/compute/io/feature.h
_KINDS = {bytes: 1, str: 1, object: 1, np.dtype("float32"): 2, np.dtype("int64"): 3}
_MOST_AXES = 8
_MOST_ITEMS = 2**31
_C = TypeVar("_C", bound=type)


def _feature(cls: _C) -> _C:
    """Return a feature class whose fields, including the dtype, are checked."""
    made = cls.__new__

    @functools.wraps(made)
    def new(kind: Any, *args: Any, **kwargs: Any) -> Any:
        feature: Any = made(kind, *args, **kwargs)
        _dtype(cls.__name__, feature.dtype)
        return feature

    setattr(cls, "__new__", staticmethod(new))  # noqa: B010
    return checked_tuple(cls)


def _dtype(place: str, dtype: Any) -> Any:
    wanted = as_dtype(dtype)
    if wanted not in _KINDS:
        raise TypeError(f"{place}: dtype must be float32, int64, bytes or str, got {wanted}")
    return wanted


@_feature
class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in every example.

    Parameters
    ----------
    shape : sequence of int
        The shape of the values; ``()`` for a single value.
    dtype : dtype-like
        float32, int64, `bytes`, or `str` for UTF-8.
    default_value : array_like, optional
        The values of an example without the feature: an array of this shape, or one value for all
        items. If it is omitted, an example without the feature is an error.

    Examples
    --------
    >>> ps.io.FixedLenFeature((2,), np.float32, default_value=0)
    FixedLenFeature(shape=(2,), dtype=<class 'numpy.float32'>, default_value=0)
    """

    shape: Sequence[int]
    dtype: Any
    default_value: Any = None


@_feature
class VarLenFeature(NamedTuple):
    """A feature with any number of values, including none.

    Parameters
    ----------
    dtype : dtype-like
        float32, int64, `bytes`, or `str` for UTF-8.

    Examples
    --------
    >>> record = ps.io.make_example({"words": [b"a", b"b"]})
    >>> ps.io.parse_single_example(record, {"words": ps.io.VarLenFeature(bytes)})
    {'words': array([b'a', b'b'], dtype=object)}
    """

    dtype: Any


@_feature
class RaggedFeature(NamedTuple):
    """A feature with any number of values, including none, and optionally another name.

    Parameters
    ----------
    dtype : dtype-like
        float32, int64, `bytes`, or `str` for UTF-8.
    value_key : str, optional
        The key of the feature in the example. The default is its key in the results.
    partitions : sequence
        Must be empty: nested rows are not supported.
    row_splits_dtype : dtype-like
        int32 or int64: the dtype of row splits in batches.
    validate : bool
        Ignored; accepted for compatibility with TensorFlow.

    Examples
    --------
    >>> records = [ps.io.make_example({"ids": ids}) for ids in ([1, 2], [3])]
    >>> ps.io.parse_example(records, {"numbers": ps.io.RaggedFeature(np.int64, "ids")})
    {'numbers': (array([1, 2, 3]), array([0, 2, 3], dtype=int32))}
    """

    dtype: Any
    value_key: str | None = None
    partitions: Sequence[Any] = ()
    row_splits_dtype: Any = np.int32
    validate: bool = False


@_feature
class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of rows of one shape: the steps of a sequence.

    Parameters
    ----------
    shape : sequence of int
        The shape of a row.
    dtype : dtype-like
        float32, int64, `bytes`, or `str` for UTF-8.
    allow_missing : bool
        Whether an example without the feature has zero rows. Otherwise it is an error.
    default_value : scalar, optional
        Padding for shorter examples in a batch; by default 0 or an empty string.

    Examples
    --------
    >>> records = [ps.io.make_example({"xy": xy}) for xy in ([1, 2, 3, 4], [5, 6])]
    >>> feature = ps.io.FixedLenSequenceFeature((2,), np.int64, allow_missing=True)
    >>> ps.io.parse_example(records, {"xy": feature})["xy"].tolist()
    [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    """

    shape: Sequence[int]
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


for _class in (FixedLenFeature, VarLenFeature, RaggedFeature, FixedLenSequenceFeature):
    # Restore the annotations as written above, for help().
    _new = inspect.unwrap(_class.__new__)
    _new.__annotations__ = {
        name: getattr(kind, "__forward_arg__", kind) for name, kind in _new.__annotations__.items()
    }

Feature = FixedLenFeature | VarLenFeature | RaggedFeature | FixedLenSequenceFeature


def requests(stage: str, features: Mapping[str, Feature], allowed: tuple[type, ...]) -> _core.Value:
    """Return features as an operation's argument: keys, a table of numbers, and defaults."""
    keys: list[str] = []
    rows: list[list[int]] = []
    defaults: list[Any] = []
    for name, feature in features.items():
        place = f"{stage}: feature {name!r}"
        if not isinstance(feature, allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            raise TypeError(f"{place} must be one of {names}, got {feature!r}")
        key = getattr(feature, "value_key", None) or name
        if not isinstance(name, str) or not isinstance(key, str):
            raise TypeError(f"{place}: the key must be a str")
        if key not in keys:
            keys.append(key)
        row, default = _request(place, feature)
        rows.append([keys.index(key), *row])
        defaults.append(default)
    table = np.array(rows, np.int64)
    return _core.Value((encoded(keys), table, *defaults), False)


def encoded(keys: Iterable[str]) -> np.ndarray[Any, Any]:
    """Return keys as an operation's attribute."""
    return np.array([*(key.encode() for key in keys), None], object)[:-1]


def _narrow_splits(place: str, dtype: Any) -> bool:
    """Return whether row splits are int32 rather than int64."""
    if np.dtype(dtype) not in (np.dtype("int32"), np.dtype("int64")):
        raise ValueError(f"{place}: row_splits_dtype must be int32 or int64, got {dtype!r}")
    return np.dtype(dtype) == np.dtype("int32")


def _request(place: str, feature: Feature) -> tuple[list[int], Any]:
    dtype = _dtype(place, feature.dtype)
    shape: tuple[int, ...] = ()
    form, narrow, may_miss = _RAGGED, False, True
    default: Any = None
    if isinstance(feature, RaggedFeature):
        if len(feature.partitions) > 0:
            raise ValueError(
                f"{place}: partitions must be empty, got {feature.partitions!r}; parse the row "
                "splits as features of their own"
            )
        narrow = _narrow_splits(place, feature.row_splits_dtype)
    elif isinstance(feature, FixedLenFeature):
        form, may_miss = _FIXED, feature.default_value is not None
        shape, default = _shape(place, feature.shape), feature.default_value
    elif isinstance(feature, FixedLenSequenceFeature):
        form, may_miss = _PADDED, feature.allow_missing
        shape, default = _shape(place, feature.shape), feature.default_value
        if 0 in shape:
            raise ValueError(f"{place}: shape must have no axis of size 0, got {shape}")
    fill = _default(place, default, dtype, shape if form == _FIXED else ())
    dims = [*shape] + [0] * (_MOST_AXES - len(shape))
    return [form, _KINDS[dtype], dtype is str, narrow, may_miss, len(shape), *dims], fill


def _shape(place: str, shape: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(shape)
    except TypeError:
        sizes = (shape,)
    if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in sizes):
        raise ValueError(
            f"{place}: shape must be sizes >= 0, got {shape!r}; VarLenFeature has no shape"
        )
    if len(sizes) > _MOST_AXES - 2 or math.prod(sizes) >= _MOST_ITEMS:
        raise ValueError(f"{place}: shape {shape!r} has too many axes or values")
    return tuple(map(int, sizes))


def _default(place: str, value: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return default values as an array of the given type and shape."""
    if not isinstance(dtype, np.dtype):
        return _default_strings(place, b"" if value is None else value, shape)
    if value is None:
        return np.zeros(shape, dtype)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or (dtype.kind == "i" and array.dtype.kind == "f"):
        raise TypeError(f"{place}: default_value must be of type {dtype}, got {value!r}")
    return np.ascontiguousarray(_arranged(place, array.astype(dtype), shape))


def _default_strings(place: str, value: Any, shape: tuple[int, ...]) -> Any:
    array = np.array(value, object)
    items = array.ravel().tolist()
    if not all(isinstance(item, (bytes, str)) for item in items):
        raise TypeError(f"{place}: default_value must be bytes or str, got {value!r}")
    encoded = np.empty(len(items), object)
    encoded[:] = [item.encode() if isinstance(item, str) else item for item in items]
    arranged = _arranged(place, encoded.reshape(array.shape), shape).ravel().tolist()
    return arranged or b""


def _arranged(place: str, array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Any:
    if array.size == 1:
        return np.broadcast_to(array.reshape(()), shape)
    if array.size != math.prod(shape):
        raise ValueError(
            f"{place}: default_value must have shape {shape} or be one value, got {array.shape}"
        )
    return array.reshape(shape)
