"""The values passed to functions: NumPy arrays with some methods of TensorFlow's tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock._core import TensorOperators
from penstock.arguments.checks import SYMBOLS
from penstock.compat.composite import Composite
from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError, raise_of_index
from penstock.compat.shape import TensorShape
from penstock.ops.array import cast, stack

_ARRAY = np.ndarray
_SHAPE = vars(np.ndarray)["shape"].__get__
_SCALARS = (np.generic, bool, bytes)
_DTYPE = vars(np.ndarray)["dtype"].__get__
_KNOWN: dict[np.dtype[Any], Any] = {}
_NARROW = frozenset("bBhH")  # 8-bit and 16-bit integers


DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


class Reference:
    """A hashable reference to a tensor or variable, for dict keys; `deref` returns it."""

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Any:
        """Return the referenced tensor or variable."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"


class _TensorType(type):
    """Makes lazy values count as tensors in `isinstance`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or hasattr(type(instance), "is_tensor")


class Tensor(TensorOperators, metaclass=_TensorType):
    """A NumPy array that also has the methods `numpy`, `set_shape` and `get_shape`.

    Scalars have shape ``()``, and a string is ``bytes`` in an object array. Operators convert their
    operands to the type of the array, as in TensorFlow: lists and arrays of numbers, and text to
    bytes.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> x = tf.constant([1, 2])
    >>> x, x.numpy(), x.dtype == tf.int32, x.shape.as_list()
    (<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>, array([1, 2], dtype=int32), True, [2])
    >>> tf.constant("path") + "/file"
    <tf.Tensor: shape=(), dtype=string, numpy=b'path/file'>
    """  # noqa: E501 - the output is one line

    __slots__ = ()
    evaluates = False  # whether there was a session: only then `eval` works
    __array_priority__ = 1.0  # operations with other arrays return a tensor

    @property  # type: ignore[misc]
    def shape(self) -> TensorShape:
        """The size of each axis: a tuple with additional methods."""
        return tuple.__new__(TensorShape, _SHAPE(self))

    @property
    def dtype(self) -> Any:
        """The type of the values: a `DType`, which NumPy accepts as a dtype."""
        own = _DTYPE(self)
        return _KNOWN.get(own) or _known(own)

    def __bytes__(self) -> bytes:
        value = self._numpy()
        if isinstance(value, bytes):
            return value
        if self.dtype.kind == "O":  # without it, addresses of objects
            raise TypeError(f"bytes: one string was expected, got {self!r}")
        return self.tobytes()

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # NumPy's functions return NumPy values, as they do for TensorFlow's tensors.
        return func(*map(_plain, args), **{name: _plain(arg) for name, arg in kwargs.items()})

    def _numpy(self) -> Any:
        return self.view(_ARRAY)[()]

    def numpy(self) -> Any:
        """Return the value in NumPy's form: an independent array, a scalar, or bytes."""
        value = self.view(_ARRAY)[()]
        return value.copy() if type(value) is _ARRAY else value

    def get_shape(self) -> TensorShape:
        """Return `shape`."""
        return self.shape

    @property
    def device(self) -> str:  # type: ignore[override]
        """The device of the value: the CPU."""
        return DEVICE

    backing_device = device

    def ref(self) -> Reference:
        """Return a hashable reference to the tensor, for dict keys."""
        return Reference(self)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return `numpy()` in programs that have a session.

        Raises
        ------
        NotImplementedError
            In other programs.
        """
        if not Tensor.evaluates:
            raise NotImplementedError("eval: the value is known already: call .numpy()")
        return self.numpy()

    def _of_graphs(self) -> Any:
        raise AttributeError("tensors that have a value have no name, op and graph")

    name = property(_of_graphs)
    op = property(_of_graphs)
    graph = property(_of_graphs)

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return tensor(self, dtype)

    def set_shape(self, shape: Iterable[int | None] | None) -> None:
        """Check the shape.

        Parameters
        ----------
        shape : sequence of int or None
            The size of each axis; None for any size. None instead of a sequence means any shape.

        Raises
        ------
        ValueError
            If the array has another shape.
        """
        wanted = TensorShape(shape)
        if not wanted.is_compatible_with(self.shape):
            raise ValueError(f"set_shape: shape {wanted} was expected, got {self.shape}")

    def _operate(self, name: str, other: Any) -> Any:
        return _METHODS[name](self, other)

    def __getitem__(self, key: Any) -> Any:
        try:
            item = super().__getitem__(tuple(key) if type(key) is list else key)
        except IndexError as error:
            raise_of_index(error)
        return item if type(item) is Tensor else tensor(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("'Tensor' object does not support item assignment; see tf.where")

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def __reduce__(self) -> Any:
        return tensor, (self._numpy(),)

    def __repr__(self) -> str:
        value = self._numpy()
        text = _below(str(value) if isinstance(value, np.generic) else repr(value))
        return f"<tf.Tensor: shape={self.shape}, dtype={as_dtype(self.dtype).name}, numpy={text}>"

    def __str__(self) -> str:
        text = _below(str(self._numpy()))
        return f"tf.Tensor({text}, shape={self.shape}, dtype={as_dtype(self.dtype).name})"

    def __format__(self, spec: str) -> str:
        value = self._numpy()
        return format(value, spec) if spec or not isinstance(value, bytes) else repr(value)


def _plain(arg: Any) -> Any:
    """Return an argument of a NumPy function without tensors in it."""
    kind = type(arg)
    if kind is Tensor:
        return arg.view(_ARRAY)
    return kind(map(_plain, arg)) if kind is list or kind is tuple else arg


def _known(own: np.dtype[Any]) -> Any:
    try:
        return _KNOWN.setdefault(own, as_dtype(own))
    except TypeError:  # raised by NumPy, for example for times
        return own


def operand(mine: np.dtype[Any], other: Any) -> Any:
    """Convert an operand that is not a tensor to the type of the other one."""
    kind = type(other)
    if kind is Tensor or kind is int or kind is float or kind is bool:
        return other
    if mine.kind == "O":
        return tensor(other)
    if mine.kind in "iuf" and isinstance(other, (list, tuple, np.ndarray, np.generic)):
        array = np.asarray(other)
        # Converting a float to an integer would lose the fraction, so NumPy's rule applies.
        if array.dtype.kind in "biu" or (array.dtype.kind == mine.kind == "f"):
            return array.astype(mine)
    return other


# Operators for operands that TensorOperators does not support: strings, arrays and lists, None, and
# divided integers.
_Method = Callable[[Tensor, Any], Any]


def _of_numpy(name: str) -> _Method:
    operator = getattr(np.ndarray, name)

    def method(self: Tensor, other: Any) -> Any:
        plain = other.view(_ARRAY) if type(other) is Tensor else operand(_DTYPE(self), other)
        made = operator(self.view(_ARRAY), plain)
        if type(made) is _ARRAY:
            return made.view(Tensor)
        return tensor(made) if isinstance(made, _SCALARS) else made

    return method


def _compares(name: str, with_none: bool) -> _Method:
    compare = _of_numpy(name)
    return lambda self, other: with_none if other is None else compare(self, other)


def _divides_whole(name: str) -> _Method:
    divide = _of_numpy(name)
    reflected = name.startswith("__r")

    def method(self: Tensor, other: Any) -> Any:
        if _DTYPE(self).kind in "iu":
            divisor = self.view(_ARRAY) if reflected else other
            if type(divisor) is not float and not np.all(divisor):
                raise InvalidArgumentError(None, None, "Integer division by zero")
        return divide(self, other)

    return method


def _divides(name: str) -> _Method:
    divide = _of_numpy(name)

    def method(self: Tensor, other: Any) -> Any:
        # TensorFlow divides narrow integers as float32, NumPy as float64.
        if _DTYPE(self).char not in _NARROW:
            return divide(self, other)
        converted = np.asarray(operand(_DTYPE(self), other)).astype(np.float32)
        return divide(self.astype(np.float32).view(Tensor), converted.view(Tensor))

    return method


_OPERATORS = [
    *("add", "sub", "mul", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
]
_METHODS = {
    f"__{name}__": _of_numpy(f"__{name}__")
    for name in ("lt", "le", "gt", "ge", *_OPERATORS, *(f"r{name}" for name in _OPERATORS))
}
_METHODS |= {"__eq__": _compares("__eq__", False), "__ne__": _compares("__ne__", True)}
for _name in ("__floordiv__", "__rfloordiv__", "__mod__", "__rmod__"):
    _METHODS[_name] = _divides_whole(_name)
for _name in ("__truediv__", "__rtruediv__"):
    _METHODS[_name] = _divides(_name)
# Python operators that a tensor may support.
OPERATORS = [
    *("__abs__", "__eq__", "__ge__", "__gt__", "__invert__", "__le__", "__lt__", "__ne__"),
    *("__neg__", "__pos__", "__truediv__", "__rtruediv__"),
    *(f"__{name}__" for name in _OPERATORS),
    *(f"__r{name}__" for name in _OPERATORS),
]


def tensor(value: Any, dtype: Any = None) -> Any:
    """Return a value as a `Tensor`, by TensorFlow's rules.

    Parameters
    ----------
    value : array_like
        The value. Python numbers become int32 (int64 if they do not fit) and float32, text becomes
        bytes, and arrays keep their type.
    dtype : dtype-like, optional
        The type of the result.

    Returns
    -------
    Tensor
        The tensor, which shares the memory of `value` if that is an array.

    Raises
    ------
    ValueError
        If rows differ in length.
    """
    if dtype is None and type(value) is Tensor:
        return value
    if isinstance(value, np.generic) and dtype is None and value.dtype.kind not in "US":
        return np.asarray(value).view(Tensor)
    if dtype is not None:
        wanted = as_dtype(dtype).dtype
        if type(value) in SYMBOLS:
            return cast(value, wanted)
        if wanted.kind != "O":
            return _dense(np.asarray(value)).astype(wanted).view(Tensor)
        value = np.array(value, object) if isinstance(value, list) else value
    if isinstance(value, (str, bytes)):
        return text(value)
    if isinstance(value, np.ndarray):
        return (_bytes(value) if value.dtype.kind in "OUS" else value).view(Tensor)
    if type(value) in SYMBOLS:
        return value
    if type(value) is TensorShape:
        return _sizes(value)
    if isinstance(value, (list, tuple)) and _holds_symbol(value):
        return stack([tensor(row) for row in value])
    if hasattr(value, "__tf_tensor__"):
        return value.__tf_tensor__()
    array = rectangular(value)
    kind = array.dtype.kind
    if hasattr(value, "__array__") and kind in "biufc":  # already typed, such as a table
        return array.view(Tensor)
    if kind in "if":
        leaf = _typed_leaf(value)
        if leaf is not None:
            array = array.astype(leaf.dtype, copy=False)
        elif kind == "f":
            array = array.astype(np.float32)
        elif _fits(array):
            array = array.astype(np.int32)
    elif kind in "US":  # NumPy would drop trailing zero bytes
        array = np.array(value, dtype=object)
        if any(isinstance(item, (bool, int, float)) for item in array.flat):
            raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
        array = _bytes(array)
    elif kind == "O":
        array = _bytes(_dense(array))
    return array.view(Tensor)


def given(value: Any, dtype: Any = None, refusal: type[Exception] = ValueError) -> Any:
    """Return a program's value as an independent tensor, by the rules of `tensor`.

    Parameters
    ----------
    value, dtype
        See `tensor`. Arrays are copied.
    refusal : type of Exception
        The exception to raise for a tensor of another type.

    Raises
    ------
    TypeError
        If Python values do not have the requested type: a fraction for an integer, or text for a
        number.
    ValueError
        If the value cannot be a tensor.
    """
    kind = type(value)
    if isinstance(value, _ARRAY) and kind is not Tensor:
        value = value.copy()
    elif value is None or isinstance(value, (dict, set)):
        raise ValueError(
            f"Attempt to convert a value ({value!r:.200}) with an unsupported type ({kind}) to a "
            "Tensor."
        )
    elif dtype is not None and kind not in SYMBOLS:
        wanted = as_dtype(dtype)
        if kind is Tensor:
            if value.dtype != wanted:
                raise refusal(
                    f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
                    f"{as_dtype(value.dtype).name}: {value!r:.200}; use tf.cast"
                )
        elif isinstance(value, (bool, int, float, complex, str, bytes, list, tuple)):
            _check_kind(value, wanted)
    return tensor(value, dtype)


_KINDS_FOR = {"b": "b", "i": "iub", "u": "iub", "f": "iubf", "c": "iubfc", "O": "OSU"}


def _check_kind(value: Any, wanted: Any) -> None:
    if _holds_symbol(value) or _typed_leaf(value) is not None:
        return
    found = rectangular(value)
    if found.size and found.dtype.kind not in _KINDS_FOR.get(wanted.dtype.kind, found.dtype.kind):
        raise TypeError(f"Cannot convert {value!r:.200} to EagerTensor of dtype {wanted.name}")


def rectangular(value: Any) -> np.ndarray[Any, Any]:
    """Return nested lists as an array.

    Raises
    ------
    ValueError
        If rows differ in length.
    """
    try:
        return np.asarray(value)
    except UnicodeDecodeError:  # for text and bytes that are not UTF-8
        return np.array(value, object)
    except ValueError:
        raise ValueError(
            "Can't convert non-rectangular Python sequence to Tensor: rows differ in length; "
            "tf.ragged.constant takes them"
        ) from None


def _sizes(shape: TensorShape) -> Tensor:
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
    array = np.array(shape, np.int64)
    return (array.astype(np.int32) if _fits(array) else array).view(Tensor)


def _below(text: str) -> str:
    """Start text of several lines on a new line."""
    return f"\n{text}" if "\n" in text else text


def array(value: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return a value as a NumPy array, by the rules of `tensor`."""
    return np.asarray(tensor(value, dtype))


def converted(value: Any, dtype: np.dtype[Any]) -> Any:
    """Convert a value to a tensor of a type, where TensorFlow converts implicitly.

    Raises
    ------
    TypeError
        If it is a tensor of another type, or would lose its fraction.
    """
    made = tensor(value)
    if made.dtype == dtype:
        return made
    whole = made.dtype.kind in "iu" and dtype.kind in "iu"
    if hasattr(value, "__tf_tensor__") or not (
        whole or (made.dtype.kind in "iuf" and np.can_cast(made.dtype, dtype, "same_kind"))
    ):
        raise TypeError(f"Cannot convert {value!r} to a tensor of {as_dtype(dtype)!r}")
    return tensor(made, dtype)


def text(value: str | bytes) -> Tensor:
    """Return a string as a `Tensor` of shape ``()``."""
    array = np.empty((), object)
    array[()] = value.encode() if isinstance(value, str) else bytes(value)
    return array.view(Tensor)


def in_one_type(values: Sequence[Any]) -> list[Any]:
    """Return values as tensors of one type: Python numbers take the type of the first array.

    Without arrays, all values take the type of the first one.
    """
    kinds = set(map(type, values))
    if kinds == {Tensor}:
        return list(values)
    if kinds == {Tensor, float}:
        dtype = _DTYPE(next(value for value in values if type(value) is Tensor))
        if dtype.kind == "f":
            return [
                value if type(value) is Tensor else np.array(value, dtype).view(Tensor)
                for value in values
            ]
    if any(type(value) in SYMBOLS for value in values):  # numbers take the type of the lazy value
        numbers = (bool, int, float)
        return [value if type(value) in numbers else tensor(value) for value in values]
    typed = [leaf for leaf in map(_typed_leaf, values) if leaf is not None]
    first = tensor(typed[0] if typed else values[0])
    if first.dtype.kind == "O":
        return list(map(tensor, values))
    return [_in_type_of(first, value) for value in values]


def _in_type_of(first: Tensor, value: Any) -> Any:
    made = operand(first.dtype, value if type(value) is Tensor else np.asarray(value))
    return tensor(made if made.dtype == first.dtype else value)


def _fits(array: np.ndarray[Any, Any]) -> bool:
    if array.size == 0:
        return True
    limits = np.iinfo(np.int32)
    return bool(limits.min <= array.min() and array.max() <= limits.max)


def _holds_symbol(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_symbol, value))
    return type(value) in SYMBOLS


def _typed_leaf(value: Any) -> Any:
    """Return the first array or NumPy scalar in nested lists, or None."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value
    if hasattr(value, "__tf_tensor__"):
        return value.__tf_tensor__()
    if isinstance(value, (list, tuple)):
        return next((leaf for leaf in map(_typed_leaf, value) if leaf is not None), None)
    return None


def _dense(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array; raise an error if it contains a ragged or sparse tensor."""
    if array.dtype.kind == "O" and any(isinstance(item, Composite) for item in array.flat):
        raise ValueError(f"a tensor was expected, got {array.flat[0]!r:.200}; make it one first")
    return array


def _bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of strings as an array of bytes; other object arrays unchanged."""
    if array.dtype.kind in "US":
        array = array.astype(object)
    if not any(type(item) is Tensor or isinstance(item, str) for item in array.flat):
        return array
    made = np.empty(array.shape, object)
    made.reshape(-1)[:] = list(map(_item, array.flat))
    return made


def _item(item: Any) -> Any:
    if isinstance(item, str):
        return item.encode()
    return item.item() if type(item) is Tensor else item
