"""TensorFlow's types: NumPy's dtypes under TensorFlow's names, and strings."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


class DType:
    """A data type: a NumPy dtype, or `string`, which is bytes in object arrays.

    NumPy accepts it wherever it accepts a dtype, and it compares equal to the NumPy dtype.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.float32, tf.int8.max, tf.int64 == np.int64
    (tf.float32, 127, True)
    >>> np.zeros(2, tf.uint8).dtype == tf.uint8
    True
    """

    __slots__ = ("_dtype", "name")

    # Attributes of dtype classes that np.testing and np.save access.
    _is_numeric = True
    _legacy = True

    def __init__(self, name: str, dtype: np.dtype[Any] | None) -> None:
        self.name = name
        self._dtype = dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype; np.dtype(...) reads this attribute."""
        assert self._dtype is not None
        return self._dtype

    @property
    def for_penstock(self) -> Any:
        """The type in the form that penstock's functions accept."""
        return self.dtype

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy class of such values."""
        return self.dtype.type

    @property
    def is_floating(self) -> bool:
        """Whether it is a float."""
        return self.dtype.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer, signed or unsigned."""
        return self.dtype.kind in "iu"

    @property
    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer."""
        return self.dtype.kind == "u"

    @property
    def is_bool(self) -> bool:
        """Whether it is `bool`."""
        return self.dtype.kind == "b"

    @property
    def is_complex(self) -> bool:
        """Whether it is complex."""
        return self.dtype.kind == "c"

    @property
    def min(self) -> Any:
        """The minimum value."""
        return self._limits().min

    @property
    def max(self) -> Any:
        """The maximum value."""
        return self._limits().max

    @property
    def size(self) -> int:
        """Size of a value in bytes; 0 for strings, whose lengths vary."""
        return 0 if self.name == "string" else self.dtype.itemsize

    @property
    def limits(self) -> tuple[Any, Any]:
        """The minimum and maximum of an integer type; 0 and 1 for floats."""
        if self.dtype.kind not in "iufb":
            raise ValueError(f"{self!r} does not have defined limits.")
        return (self.min, self.max) if self.dtype.kind in "iu" else (0, 1)

    @property
    def real_dtype(self) -> DType:
        """The type of the parts of a complex number; the type itself for other types."""
        halves = {"complex64": "float32", "complex128": "float64"}
        return DTYPES[halves.get(self.name, self.name)]

    @property
    def is_numeric(self) -> bool:
        """Whether it is a number."""
        return self.is_integer or self.is_floating or self.is_complex

    @property
    def is_quantized(self) -> bool:
        """False: there are no quantized types."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """True: NumPy supports the type."""
        return True

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether another type is the same."""
        return bool(self == other)

    is_subtype_of = is_compatible_with

    @property
    def base_dtype(self) -> DType:
        """The type itself: there are no reference types."""
        return self

    def __getattr__(self, name: str) -> Any:
        # Attributes that NumPy's functions read from the dtype of an array: kind, type, itemsize,
        # ...
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.dtype, name)

    def _limits(self) -> Any:
        if self.dtype.kind in "iu":
            return np.iinfo(self.dtype)
        if self.dtype.kind == "f":
            return np.finfo(self.dtype)
        raise TypeError(f"dtype: a number was expected, {self!r} has no limits")

    def __eq__(self, other: object) -> bool:
        try:
            return self.name == as_dtype(other).name
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"


class String(DType):
    """The type of strings."""

    __slots__ = ()

    _is_numeric = False
    for_penstock = bytes


class BFloat16(DType):
    """The bfloat16 type, with 8 exponent bits, from the package ml_dtypes."""

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The ml_dtypes dtype.

        Raises
        ------
        ModuleNotFoundError
            If ml_dtypes is not installed.
        """
        if self._dtype is None:
            self._dtype = np.dtype(self._module().bfloat16)
        return self._dtype

    @staticmethod
    def _module() -> Any:
        try:
            return importlib.import_module("ml_dtypes")
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "tf.bfloat16 needs ml_dtypes, which is not installed: pip install ml_dtypes"
            ) from None

    @property
    def is_floating(self) -> bool:
        """True."""
        return True

    @property
    def size(self) -> int:
        """Size of a value in bytes."""
        return 2

    def _limits(self) -> Any:
        return self._module().finfo(self.dtype)

    def __hash__(self) -> int:
        return hash(self.name)


_NUMBERS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
DTYPES = {name: DType(name, np.dtype(name)) for name in _NUMBERS}
DTYPES["bfloat16"] = BFloat16("bfloat16", None)
DTYPES["string"] = String("string", np.dtype(object))
_OTHER_NAMES = {"half": "float16", "float": "float32", "double": "float64"}
_PYTHON = {int: "int32", float: "float32", bool: "bool", str: "string", bytes: "string"}


def as_dtype(type_value: Any) -> DType:
    """Return the type for a name, a NumPy dtype or a Python class.

    Parameters
    ----------
    type_value : str, dtype-like or DType
        The name or another form of the type.

    Returns
    -------
    DType
        The type.

    Raises
    ------
    TypeError
        If there is no such type.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.as_dtype("float"), tf.as_dtype(np.int64), tf.as_dtype(str)
    (tf.float32, tf.int64, tf.string)
    """
    if isinstance(type_value, DType):
        return type_value
    name = _PYTHON.get(type_value) if isinstance(type_value, type) else None
    if isinstance(type_value, str):
        name = _OTHER_NAMES.get(type_value, type_value)
    if name is None and type_value is not None:
        dtype = np.dtype(type_value)
        name = "string" if dtype.kind in "OSU" else dtype.name
    if name not in DTYPES:
        raise TypeError(f"as_dtype: a type of values was expected, got {type_value!r}")
    return DTYPES[name]


def zero_of(dtype: Any) -> Any:
    """Return the default fill value of a type: 0, or an empty string."""
    return b"" if dtype.kind == "O" else 0


def for_penstock(type_value: Any) -> Any:
    """Return a type in the form that penstock's functions accept: `bytes` for strings."""
    return as_dtype(type_value).for_penstock
