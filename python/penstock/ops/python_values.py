"""Symbols for Python tuples and numbers in plain functions: shapes and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from penstock import _core
from penstock.errors import TraceError
from penstock.ops.symbol import (
    ArraySymbol,
    Symbol,
    SymbolClass,
    Trace,
    Weakness,
    index_parts,
    power,
)
from penstock.ops.unknown import ADVICE, Unknown

_COMPARE = "compare its sizes one by one (x.shape[0] == 3), or the array ps.shape(x)"
_KINDS = (bool, int, float)


def shape_of(array: Any) -> Any:
    """Return ``array.shape`` of a symbol."""
    trace = array._trace
    return ShapeSymbol(trace, trace.call(_core.Op("shape", {}), [array])._source)


class ShapeSymbol(Symbol, metaclass=SymbolClass):
    """A shape: a tuple of ints whose length and values are unknown.

    Operators behave as for tuples: ``+`` concatenates, ``*`` repeats, and a slice is a tuple.
    NumPy's functions treat it as an array, penstock's as sizes.
    """

    __slots__ = ("_strong",)

    def __init__(self, trace: Trace, source: tuple[Any, int], strong: bool = False) -> None:
        super().__init__(trace, source)
        self._strong = strong  # some items are NumPy integers

    def sizes(self) -> ArraySymbol:
        """Return the sizes as an array, for functions that accept sizes."""
        return ArraySymbol(self._trace, self._source)

    def operand(self) -> Symbol:
        """Return the array to which NumPy converts the tuple."""
        array: Symbol = self._trace.call(_core.Op("shape_as_array", {}), [self.sizes()])
        return array

    def _made(self, sizes: Any, strong: bool = False) -> ShapeSymbol:
        return ShapeSymbol(self._trace, sizes._source, self._strong or strong)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, (slice, int, np.integer, Symbol)):
            raise TypeError(f"tuple indices must be integers or slices, not {type(key).__name__}")
        parts, numbers = index_parts((key if isinstance(key, (slice, Symbol)) else int(key),))
        op = _core.Op("getitem", {"parts": parts})
        item = self._trace.call(op, [self.sizes(), *numbers])
        if isinstance(key, slice):
            return self._made(item)
        if self._strong:
            raise TraceError(
                "native: an item of a tuple that a shape and other values were joined to cannot be "
                f"traced; take it from the shape or the values, or {ADVICE}"
            )
        return NumberSymbol(self._trace, item._source, int)

    def __add__(self, other: Any) -> Any:
        return self._joined(other, lambda mine, its: [mine, its], (self, other))

    def __radd__(self, other: Any) -> Any:
        return self._joined(other, lambda mine, its: [its, mine], (other, self))

    def _joined(self, other: Any, order: Any, operands: tuple[Any, Any]) -> Any:
        if isinstance(other, (np.ndarray, np.generic, ArraySymbol)):
            return np.add(*operands)
        if isinstance(other, ShapeSymbol):
            its, strong = other.sizes(), other._strong
        elif isinstance(other, tuple):
            if not other:
                return self
            its, strong = self._items(other)
        else:
            raise TypeError(f'can only concatenate tuple (not "{type(other).__name__}") to tuple')
        sizes = self._trace.call(_core.Op("concat", {"axis": 0}), order(self.sizes(), its))
        return self._made(sizes, strong)

    def _items(self, items: tuple[Any, ...]) -> tuple[Any, bool]:
        """Return items to be joined to a shape, and whether any of them is a NumPy integer."""
        numbers: list[Any] = []
        strong = False
        for item in items:
            of_python = type(item) is int or (isinstance(item, NumberSymbol) and item.kind is int)
            if not of_python and not isinstance(item, (np.integer, ArraySymbol)):
                raise TraceError(
                    f"native: a shape was joined to {type(item).__name__}, which cannot be traced; "
                    f"use whole numbers, or {ADVICE}"
                )
            strong = strong or not of_python
            numbers.append(item if isinstance(item, Symbol) else np.asarray(item))
        return self._trace.call(_core.Op("stack", {"axis": 0}), numbers), strong

    def __mul__(self, other: Any) -> Any:
        number = isinstance(other, NumberSymbol) and other.kind is int
        if not number and not isinstance(other, int):
            if isinstance(other, (np.ndarray, np.generic, Symbol)):
                raise _repeated()
            raise TypeError(f"can't multiply sequence by non-int of type {type(other).__name__!r}")
        times = other if number else np.asarray(max(other, 0))
        times = self._trace.call(_core.Op("stack", {"axis": 0}), [times])
        tile = _core.Op("tile", {"any_rank": True})
        return self._made(self._trace.call(tile, [self.sizes(), times]))

    __rmul__ = __mul__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc is np.multiply:
            raise _repeated()
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    def _compared(self, other: Any) -> NoReturn:
        raise self._refusal("a tuple to compare", _COMPARE)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __hash__ = Unknown.__hash__

    def __len__(self) -> int:
        raise self._refusal("a length", "the number of axes is known outside of the function")

    def __iter__(self) -> Iterator[Any]:
        raise self._refusal("something to loop over or unpack", "write x.shape[0], x.shape[1]")


def _repeated() -> TraceError:
    return TraceError(
        "native: a shape times a value is the tuple repeated or an array, which cannot be traced; "
        f"multiply ps.shape(x), or {ADVICE}"
    )


class NumberSymbol(Symbol, metaclass=SymbolClass):
    """A Python number: a size, or a result computed from sizes.

    Combined with arrays it takes their type, as Python numbers do. With other numbers, operators
    behave as in Python.
    """

    __slots__ = ("kind",)

    def __init__(self, trace: Trace, source: tuple[Any, int], kind: type) -> None:
        super().__init__(trace, source)
        self.kind = kind  # bool, int or float

    @property
    def weakness(self) -> int:
        """The kind of plain number that it is to NumPy."""
        return {int: Weakness.INT, float: Weakness.FLOAT}.get(self.kind, Weakness.STRONG)

    def _with(self, name: str, one: Any, two: Any, kind: type | None = None) -> Any:
        kinds = [kind for kind in map(_kind_of, (one, two)) if kind is not None]
        if len(kinds) < 2:
            ufunc = getattr(np, _UFUNCS[name])
            if all(isinstance(each, (np.ndarray, np.generic, Symbol)) for each in (one, two)):
                return ufunc(one, two)
            return NotImplemented
        for each in (one, two):
            if type(each) is int and not -(2**63) <= each < 2**63:
                raise TraceError(
                    f"native: the integer {each} has more than 64 bits, which cannot be traced; "
                    f"{ADVICE}"
                )
        most = max(kinds, key=_KINDS.index)
        if kind is None:
            kind = max(most, int, key=_KINDS.index)
        elif kind is object:  # a bitwise operator
            if most is float:
                return NotImplemented
            kind = most
        made = self._trace.call(_core.Op("python_number", {"operator": name}), [one, two])
        return NumberSymbol(self._trace, made._source, kind)

    def __add__(self, other: Any) -> Any:
        return self._with("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._with("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._with("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, ShapeSymbol) else self._with("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._with("truediv", self, other, float)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with("truediv", other, self, float)

    def __floordiv__(self, other: Any) -> Any:
        return self._with("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._with("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._with("mod", other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __and__(self, other: Any) -> Any:
        return self._with("and", self, other, object)

    def __or__(self, other: Any) -> Any:
        return self._with("or", self, other, object)

    def __xor__(self, other: Any) -> Any:
        return self._with("xor", self, other, object)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lt__(self, other: Any) -> Any:
        return self._with("lt", self, other, bool)

    def __le__(self, other: Any) -> Any:
        return self._with("le", self, other, bool)

    def __gt__(self, other: Any) -> Any:
        return self._with("gt", self, other, bool)

    def __ge__(self, other: Any) -> Any:
        return self._with("ge", self, other, bool)

    def __eq__(self, other: Any) -> Any:
        return self._equal("eq", other)

    def __ne__(self, other: Any) -> Any:
        return self._equal("ne", other)

    __hash__ = Unknown.__hash__

    def _equal(self, name: str, other: Any) -> Any:
        made = self._with(name, self, other, bool)
        return name == "ne" if made is NotImplemented else made  # never equal to other types

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and 0 < other < 64:
            made = +self
            for _ in range(other - 1):
                made = made * self
            return made
        if isinstance(other, (np.ndarray, np.generic, ArraySymbol)):
            return power(self, other)
        raise self._refusal("a number to raise to a power", "use np.power")

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, (np.ndarray, np.generic)):
            return power(other, self)
        raise self._refusal("a number to raise another to", "use np.power")

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << _shift(self, other))

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << _shift(self, other))

    def __pos__(self) -> Any:
        return self + 0 if self.kind is bool else self

    def __neg__(self) -> Any:
        return self * -1  # 0 - x would turn 0.0 into 0.0 instead of -0.0

    def __invert__(self) -> Any:
        if self.kind is float:
            raise TypeError("bad operand type for unary ~: 'float'")
        return self * -1 - 1

    def __abs__(self) -> Any:
        raise self._refusal("a number without its sign", "use np.abs")


def _kind_of(value: Any) -> type | None:
    if isinstance(value, NumberSymbol):
        return value.kind
    return type(value) if type(value) in _KINDS else None


def _shift(number: NumberSymbol, bits: Any) -> int:
    if type(bits) is int and 0 <= bits < 63 and number.kind is not float:
        return bits
    raise number._refusal("a number to shift", "multiply, or divide by //")


_UFUNCS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
