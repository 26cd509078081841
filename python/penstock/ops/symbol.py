"""Symbols, which represent values while a function is traced."""

from __future__ import annotations

import enum
import operator
import sys
from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence
from opcode import opname
from types import FrameType
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from penstock import _core
from penstock.arguments.checks import SYMBOLS
from penstock.errors import TraceError
from penstock.ops.unknown import ADVICE, Tracing, Unknown, active_traces

_ABSENT = -(2**63)  # cpp/compute/array/getitem.cc
_NUMBER, _SLICE, _ELLIPSIS, _NEW_AXIS = range(4)
_VIEWS = ("getitem", "transpose")  # these copy in a program, but are views in a plain function
_OF_MASKS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)  # map masks to masks
_WITH_STRINGS = {  # replacements for numeric functions that are called with strings
    "add": "join strings with ps.strings.join",
    **dict.fromkeys(
        ("equal", "not_equal"), "compare strings with ps.strings.regex_full_match(x, 'cat')"
    ),
}
_NUMBERS = (bool, int, float, complex)
_OF_OPERATORS = ("numpy.lib.mixins", "penstock.ops.python_values")  # modules that define operators
_POWERS = (np.power, np.square, np.reciprocal, np.sqrt)  # ufuncs that the operator ** uses
_SQUARES_BOOLS = (np.zeros(1, np.bool_) ** 2).dtype == np.int8  # unlike np.power


class Weakness(enum.IntEnum):
    """The kind of a plain number, which takes the type of other operands; or STRONG."""

    STRONG, INT, FLOAT, COMPLEX = range(4)  # cpp/compute/elementwise.h


# Replacements for NumPy functions that are called with symbols.
NUMPY_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}


class Trace(Tracing):
    """The operations that a function has called so far, in order.

    A value is identified by its source: ``("element", i)``, ``("constant", i)``, or ``(step, i)``
    for output ``i`` of a step.
    """

    def __init__(self) -> None:
        self.leaves: list[tuple[int | None, ...] | None] = []  # their known shapes
        self.constants: list[Any] = []
        self.steps: list[tuple[_core.Op, list[tuple[Any, int]], int | None]] = []
        self.places: list[str] = []  # the position of each step in the user's code
        self.changed: set[Memory] = set()  # modified by in-place operators

    def leaf(self, shape: tuple[int | None, ...] | None = None) -> Symbol:
        """Return the next leaf of the element, with its shape if known."""
        self.leaves.append(shape)
        return ArraySymbol(self, ("element", len(self.leaves) - 1), Memory.new())

    def constant(self, value: Any) -> Symbol:
        """Return a copy of a value that is the same for every element."""
        self.constants.append(np.array(value) if isinstance(value, np.ndarray) else value)
        return ArraySymbol(self, ("constant", len(self.constants) - 1))

    def symbol(self, value: Any) -> Symbol:
        """Return a value as a symbol of this trace."""
        if not isinstance(value, Symbol):
            return self.constant(value)
        if value._trace is not self:
            raise TraceError(f"native: a value of another call was used; {ADVICE}")
        if not self.changed.isdisjoint(value._memory):
            raise TraceError(
                "native: an array was changed in place (as by +=) and is used under another name, "
                "where a plain function may see the change or not; write y = x + 1 for y += 1, or "
                f"{ADVICE}"
            )
        return value.operand()

    def call(self, op: _core.Op, inputs: Sequence[Any], seed: int | None = None) -> Any:
        """Record a call; return a symbol, or a tuple of symbols."""
        symbols = [self.symbol(value) for value in inputs]
        self.steps.append((op, [symbol._source for symbol in symbols], seed))
        self.places.append(_place())
        views = op.key[0] in _VIEWS or not op.fills
        shared = [symbol._memory for symbol in symbols if views]
        memory = Memory.new().union(*shared)
        outputs = [ArraySymbol(self, (len(self.steps) - 1, i), memory) for i in range(op.outputs)]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def is_mask(self, value: Symbol) -> bool:
        """Return whether a value is known to be boolean, from the operations that produced it."""
        step, _ = value._source
        if not isinstance(step, int):
            return False
        op, sources, _ = self.steps[step]
        if not isinstance(function := op.key[1], np.ufunc):
            return False
        if function in _OF_MASKS:
            return any(self.is_mask(Symbol(self, source)) for source in sources)
        return all(types[-1] == "?" for types in function.types if "O" not in types)

    def change(self, array: ArraySymbol, made: ArraySymbol) -> ArraySymbol:
        """Record an in-place operator; `made` is the result of the ordinary operator."""
        op, sources, seed = self.steps[-1]
        if made._source[0] != len(self.steps) - 1 or sources[0] != array._source:
            raise TraceError(
                f"native: an in-place operator (as +=) cannot be traced here; {ADVICE}"
            )
        self.steps[-1] = (op.in_place(array.stays_array), sources, seed)
        self.changed |= array._memory
        return made.as_array(of=array)

    def __enter__(self) -> Trace:
        active_traces().append(self)
        return self

    def __exit__(self, *error: object) -> None:
        active_traces().pop()


def current_trace() -> Trace | None:
    """Return the trace of the function that this thread is tracing."""
    traces = active_traces()
    return cast(Trace, traces[-1]) if traces else None


def _place() -> str:
    """Return the position in the user's code of the current call."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").startswith(("penstock.", "numpy.")) and frame.f_back:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Memory:
    """Memory of an array. A symbol may have several, if it may be a view of any of them."""

    @classmethod
    def new(cls) -> frozenset[Memory]:
        """Return new memory that is not shared."""
        return frozenset({cls()})


class Symbol(Unknown):
    """A value that is known only when the program runs.

    NumPy's ufuncs and penstock's operations on symbols return symbols. Everything else that needs
    the value raises a TraceError.
    """

    __slots__ = ("_memory", "_source", "_trace")

    _trace: Trace

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        SYMBOLS.add(cls)

    def __init__(
        self, trace: Trace, source: tuple[Any, int], memory: frozenset[Memory] = frozenset()
    ) -> None:
        self._trace = trace
        self._source = source
        self._memory = memory

    def __copy__(self) -> Symbol:
        return self  # symbols are immutable

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self.__copy__()

    @property
    def weakness(self) -> int:
        """The kind of plain number that it is to NumPy."""
        return Weakness.STRONG

    def operand(self) -> Symbol:
        """Return the symbol that operations receive."""
        return self

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        by_operator = len(inputs) == 2 and _is_operator(sys._getframe(1))
        if ufunc is np.power and by_operator and isinstance(inputs[0], np.generic):
            return power(*inputs)  # a NumPy scalar calls this for the operator **
        of_scalars = (by_operator or len(inputs) == 1) and not any(map(_stays_array, inputs))
        name = getattr(ufunc, "__name__", str(ufunc))
        if method != "__call__" or any(value is not None for value in kwargs.values()):
            how = f".{method}" if method != "__call__" else " with an argument by name"
            instead = (
                "write x = np.add(x, y) for np.add(x, y, out=x), or " if "out" in kwargs else ""
            )
            raise TraceError(f"native: numpy.{name}{how} cannot be traced; {instead}{ADVICE}")
        weak, operands = [], []
        for value in inputs:
            kind = weakness_of(value)
            weak.append(kind)
            operands.append(value if kind else as_operand(name, value))
        try:
            op = _core.Op.ufunc(ufunc, weak, of_scalars)
        except TypeError as error:
            raise TraceError(f"{error}; {ADVICE}") from None
        return self._trace.call(op, operands)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Mapping[str, Any]
    ) -> Any:
        if function not in NUMPY_FUNCTIONS:
            name = f"{function.__module__}.{function.__name__}"
            raise TraceError(f"native: {name} cannot be traced; {ADVICE}")
        return NUMPY_FUNCTIONS[function](*args, **kwargs)


def _is_operator(caller: FrameType) -> bool:
    """Return whether the NumPy function called by this frame implements an operator."""
    if caller.f_globals.get("__name__") in _OF_OPERATORS:
        return True
    # A NumPy scalar calls the function for an operand of unknown type.
    return opname[caller.f_code.co_code[caller.f_lasti]] in ("BINARY_OP", "COMPARE_OP")


def _stays_array(value: Any) -> bool:
    """Return whether a value is an array in NumPy even without axes."""
    of_symbol = isinstance(value, ArraySymbol) and value.stays_array
    return of_symbol or isinstance(value, np.ndarray)


class SymbolClass(ABCMeta):  # NumPy's mixin has this metaclass according to its type stubs
    """Metaclass of symbols. It makes isinstance, as used by NumPy, ignore ``__class__``."""

    def __instancecheck__(cls, value: Any) -> bool:
        return issubclass(type(value), cls)


def _in_place(plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def change(array: ArraySymbol, other: Any) -> Any:
        return array._trace.change(array, plain(array, other))

    return change


class ArraySymbol(Symbol, NDArrayOperatorsMixin, metaclass=SymbolClass):
    """A NumPy array or scalar, with operators, NumPy-style indexing and some methods.

    Without axes it is a scalar, except where NumPy returns an array: `stays_array`.
    """

    __slots__ = ("stays_array",)

    def __init__(
        self,
        trace: Trace,
        source: tuple[Any, int],
        memory: frozenset[Memory] = frozenset(),
        stays_array: bool = False,
    ) -> None:
        super().__init__(trace, source, memory)
        self.stays_array = stays_array

    def as_array(self, of: Any = None) -> ArraySymbol:
        """Return this symbol with `stays_array`; with `of`, only if that symbol has it."""
        stays_array = of.stays_array if isinstance(of, ArraySymbol) else True
        return ArraySymbol(self._trace, self._source, self._memory, stays_array)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __abs__(self) -> Any:
        if self.stays_array:
            return np.absolute(self)
        return self._trace.call(_core.Op.absolute(np.absolute), [self])

    __iadd__ = _in_place(operator.add)
    __isub__ = _in_place(operator.sub)
    __imul__ = _in_place(operator.mul)
    __itruediv__ = _in_place(operator.truediv)
    __ifloordiv__ = _in_place(operator.floordiv)
    __imod__ = _in_place(operator.mod)
    __ipow__ = _in_place(operator.pow)
    __iand__ = _in_place(operator.and_)
    __ior__ = _in_place(operator.or_)
    __ixor__ = _in_place(operator.xor)
    __ilshift__ = _in_place(operator.lshift)
    __irshift__ = _in_place(operator.rshift)

    def copy(self, order: Any = None) -> ArraySymbol:
        """Return the values in separate memory."""
        source = self._trace.symbol(self)._source
        return ArraySymbol(self._trace, source, Memory.new(), self.stays_array)

    __copy__ = copy

    @property
    def shape(self) -> Any:
        """The sizes of the axes, as a tuple."""
        return np.shape(self)

    def astype(self, dtype: Any) -> Symbol:
        """Convert the values to another number type."""
        converted: ArraySymbol = self._trace.call(
            _core.Op("cast", {"dtype": np.dtype(dtype).name}), [self]
        )
        return converted.as_array(of=self)

    def reshape(self, *shape: Any) -> Any:
        """Change the shape."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Any:
        """Flatten to one axis."""
        return np.ravel(self)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> Any:
        """Remove axes of size 1."""
        return np.squeeze(self, axis)

    def transpose(self, *axes: Any) -> Any:
        """Permute the axes; without arguments, reverse them."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            return np.transpose(self, axes[0])
        return np.transpose(self, axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Exchange two axes."""
        return np.swapaxes(self, axis1, axis2)

    def round(self, decimals: int = 0) -> Any:
        """Round the values to a number of decimals."""
        return np.round(self, decimals)

    @property
    def T(self) -> Any:
        """The array with its axes reversed."""
        return self.transpose()

    def take(self, indices: Any, axis: int | None = None) -> Any:
        """Take slices by index."""
        return np.take(self, indices, axis)

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """Clip the values to a range."""
        return np.clip(self, min, max)

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
    ) -> Any:
        """Sum items along axes."""
        return np.sum(self, axis, dtype, out, keepdims)

    def prod(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
    ) -> Any:
        """Multiply items along axes."""
        return np.prod(self, axis, dtype, out, keepdims)

    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
    ) -> Any:
        """Average items along axes."""
        return np.mean(self, axis, dtype, out, keepdims)

    def max(self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        """Return the maximum of items along axes."""
        return np.max(self, axis, out, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        """Return the minimum of items along axes."""
        return np.min(self, axis, out, keepdims)

    def any(self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        """Test whether any item along axes is true."""
        return np.any(self, axis, out, keepdims)

    def all(self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        """Test whether all items along axes are true."""
        return np.all(self, axis, out, keepdims)

    def __getitem__(self, key: Any) -> Symbol:
        places = key if isinstance(key, tuple) else (key,)
        parts, numbers = index_parts(places)
        item: ArraySymbol = self._trace.call(
            _core.Op("getitem", {"parts": parts}), [self, *numbers]
        )
        return item.as_array() if any(place is Ellipsis for place in places) else item


def index_parts(places: tuple[Any, ...]) -> tuple[list[int], list[Any]]:
    """Return the entries of an index for getitem, and the symbols among its numbers."""
    parts: list[int] = []
    numbers: list[Any] = []
    if sum(place is Ellipsis for place in places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    for place in places:
        if place is Ellipsis:
            parts += [_ELLIPSIS, 0, 0, 0, 0]
        elif place is None:
            parts += [_NEW_AXIS, 0, 0, 0, 0]
        elif isinstance(place, slice):
            _add_place(_SLICE, (place.start, place.stop, place.step), parts, numbers)
        elif isinstance(place, bool):
            raise TraceError(
                f"native: an index {place} adds an axis or takes nothing, which cannot be "
                f"traced; use None, a slice or ps.where, or {ADVICE}"
            )
        else:
            _add_place(_NUMBER, (place, None, None), parts, numbers)
    return parts, numbers


def weakness_of(value: Any) -> int:
    """Return the `Weakness` of a value: the kind of a plain number, or STRONG."""
    kind = type(value)
    if issubclass(kind, Symbol):
        weakness: int = value.weakness
        return weakness
    if kind is int:
        if not -(2**63) <= value < 2**64 and active_traces():
            raise TraceError(
                f"native: the integer {value} has more than 64 bits, which cannot be traced; write "
                f"it as a float where one is meant, or {ADVICE}"
            )
        return Weakness.INT
    return {float: Weakness.FLOAT, complex: Weakness.COMPLEX}.get(kind, Weakness.STRONG)


def as_operand(name: str, value: Any) -> Any:
    """Return an operand, other than a plain number, of the numeric function with that name."""
    if isinstance(value, Symbol):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "?biufc":
        instead = _WITH_STRINGS.get(name, "") if isinstance(value, (str, bytes)) else ""
        raise TraceError(
            f"native: numpy.{name} of {type(value).__name__} cannot be traced; "
            f"{instead + ', or ' if instead else ''}{ADVICE}"
        )
    return array


def power(base: Any, exponent: Any) -> Any:
    """Return ``base ** exponent``, where at least one of them is a symbol."""
    symbol = base if isinstance(base, Symbol) else exponent
    values = (base, exponent)
    if any(not isinstance(value, (Symbol, np.generic, *_NUMBERS)) for value in values):
        return np.power(base, exponent)  # one operand is an array, even without axes
    weak = [weakness_of(value) for value in values]
    op = _core.Op.power(_POWERS, _SQUARES_BOOLS, weak, list(map(_stays_array, values)))
    operands = [v if kind else as_operand("power", v) for v, kind in zip(values, weak, strict=True)]
    return symbol._trace.call(op, operands)


def _add_place(
    kind: int, values: tuple[Any, Any, Any], parts: list[int], numbers: list[Any]
) -> None:
    traced, plain = 0, []
    for bit, value in enumerate(values):
        if isinstance(value, Symbol):
            if value._trace.is_mask(value):
                raise TraceError(
                    "native: an index by a condition takes a number of items that is known only "
                    "when the function runs, which cannot be traced; choose items with "
                    f"np.where(condition, x, 0), or {ADVICE}"
                )
            traced |= 1 << bit
            numbers.append(value)
            plain.append(0)
        else:
            plain.append(_ABSENT if value is None else _index(value))
    parts += [kind, traced, *plain]


def _index(value: Any) -> int:
    try:
        return max(_ABSENT + 1, min(operator.index(value), -_ABSENT - 1))  # beyond any array size
    except TypeError:
        raise TraceError(
            f"native: an index of type {type(value).__name__} cannot be traced; use numbers, "
            f"slices, None and ..., or {ADVICE}"
        ) from None
