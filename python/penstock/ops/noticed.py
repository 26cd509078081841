"""Detection of functions whose calls have no observable effects.

A plain function may count, print, draw or read, so it must be called exactly as often as
documented. A function that cannot change anything outside itself may be called more often, with
symbols, to infer its results.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import functools
import types
from typing import Any

import numpy as np

from penstock.ops.native import NativeFunction

_MOST_VALUES = 1000  # maximum values examined for one function

# Functions of Python and NumPy that modify nothing except their arguments.
_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        *("abs", "all", "any", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod"),
        *("enumerate", "filter", "float", "format", "frozenset", "int", "isinstance", "issubclass"),
        *("iter", "len", "list", "map", "max", "min", "next", "ord", "pow", "range", "repr"),
        *("reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "zip"),
    )
)
_WRITERS = frozenset(
    {"copyto", "fill_diagonal", "fromfile", "fromregex", "genfromtxt", "info", "load", "loadtxt"}
    | {"place", "printoptions", "put", "put_along_axis", "putmask", "save", "savetxt", "savez"}
    | {"savez_compressed", "set_printoptions", "setbufsize", "seterr", "seterrcall", "show_config"}
    | {"show_runtime", "test"}
)


def _functions(module: Any) -> frozenset[int]:
    """Return the ids of the functions of a NumPy module that have no side effects."""
    # Without getattr, because NumPy loads some modules when they are accessed.
    found = [vars(module).get(name) for name in module.__all__ if name not in _WRITERS]
    return frozenset(id(each) for each in found if callable(each) and not isinstance(each, type))


_NUMPY = _functions(np) | _functions(np.linalg) | _functions(np.fft)
_MODULES = frozenset({"math", "numpy", "numpy.fft", "numpy.linalg"})
_MISSING = object()
_OPERATIONS = "penstock.ops."
_NO_OPERATIONS = frozenset({"cfunction", "matching_files", "write_file"})
# Higher-level modules and packages add themselves, with the names of functions that have effects.
QUIET_MODULES: dict[str, frozenset[str]] = {}
QUIET_TYPES: set[type] = set()  # types whose values never change
WRAPPERS: set[type] = set()  # types whose objects only call their `__wrapped__`
_CALL_PARTIAL = functools.partial.__call__
_DRAWS = ("penstock.random", frozenset({"normal", "shuffle", "uniform"}))
_PLAIN_VALUES = (int, float, complex, str, bytes, range, slice, np.generic, np.dtype, type(None))

# Instructions with effects outside the function. An import may run a module.
_SEEN = frozenset(
    {"BEFORE_ASYNC_WITH", "BEFORE_WITH", "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_NAME"}
    | {"GET_AWAITABLE", "IMPORT_FROM", "IMPORT_NAME", "IMPORT_STAR", "LOAD_BUILD_CLASS"}
    | {"LOAD_SPECIAL", "STORE_ATTR", "STORE_GLOBAL", "STORE_NAME"}
)
# Instructions that modify an array, a list or a dict.
_CHANGES = frozenset({"DELETE_SUBSCR", "STORE_SLICE", "STORE_SUBSCR"})
_CHANGING = frozenset(
    {"add", "append", "byteswap", "clear", "difference_update", "discard", "extend", "fill"}
    | {"insert", "intersection_update", "itemset", "partition", "pop", "popitem", "put", "remove"}
    | {"resize", "reverse", "setdefault", "setfield", "setflags", "sort", "update"}
    | {"symmetric_difference_update"}
)
_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_VARIABLES = frozenset({"LOAD_CLASSDEREF", "LOAD_DEREF", "LOAD_FROM_DICT_OR_DEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_UNUSUAL = 0x3A0  # code flags of generators and asynchronous functions


class _Noticed(Exception):
    """The call may have observable effects."""


def unnoticed(function: Any) -> bool:
    """Return whether calls of a function certainly have no observable effects.

    This holds if everything that it reaches is a constant, an operation of penstock, a function of
    NumPy or Python without side effects, or a function of the same kind. False only means that this
    is not certain.
    """
    look = _Look()
    try:
        look.at(function)
    except _Noticed:
        return False
    return not (look.holds and look.changes)


class _Look:
    """An examination of what a function can reach and modify."""

    def __init__(self) -> None:
        self.holds = False  # it can reach a mutable object
        self.changes = False  # it modifies an object, perhaps a local one
        self._seen: dict[int, Any] = {}  # by id; keeping the values keeps the ids unique

    def at(self, value: Any) -> None:
        """Examine the value of a name."""
        if id(value) in self._seen:
            return
        if len(self._seen) > _MOST_VALUES:
            raise _Noticed
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, functools.partial) and type(value).__call__ is _CALL_PARTIAL:
            self._each((value.func, *value.args, *value.keywords.values()))
        elif isinstance(value, NativeFunction) or type(value) in WRAPPERS:
            self.at(value.__wrapped__)
        elif isinstance(value, (tuple, frozenset)):
            self._each(value)
        elif type(value) in (list, set):
            self.holds = True
            self._each(value)
        elif type(value) is dict:
            self.holds = True
            self._each((*value, *value.values()))
        elif isinstance(value, np.ndarray) and (
            type(value) is np.ndarray or type(value) in QUIET_TYPES
        ):
            self.holds = True
            if value.dtype.hasobject:
                self._each(value.ravel().tolist())
        elif not _is_plain(value):
            raise _Noticed

    def _each(self, values: Any) -> None:
        for value in values:
            self.at(value)

    def _function(self, function: types.FunctionType) -> None:
        module, name = function.__module__ or "", function.__name__
        if module.startswith(_OPERATIONS):
            if name in _NO_OPERATIONS:
                raise _Noticed
            return
        if _is_quiet(module, name):
            return
        if id(function) in _NUMPY or (module == _DRAWS[0] and name in _DRAWS[1]):
            return
        if vars(function).keys() - {"__wrapped__"}:
            raise _Noticed  # attributes of a function are visible to others
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.at(default)
        code = function.__code__
        if code.co_flags & _UNUSUAL:
            raise _Noticed
        names = {**vars(builtins), **function.__globals__}
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self._code(code, names, cells)

    def _code(
        self, code: types.CodeType, names: dict[str, Any], cells: dict[str, types.CellType]
    ) -> None:
        steps = iter([step for step in dis.get_instructions(code) if step.opname != "CACHE"])
        step = next(steps, None)
        while step is not None:
            following = next(steps, None)
            if step.opname in _GLOBALS or (step.opname in _VARIABLES and step.argval in cells):
                value = _value_of(step, names, cells)
                while isinstance(value, types.ModuleType):
                    if following is None or following.opname not in _ATTRIBUTES:
                        raise _Noticed
                    value = _of_module(value, following.argval)
                    following = next(steps, None)
                self.at(value)
            else:
                self._step(step, cells)
            step = following
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):  # an inner function or comprehension
                self._code(constant, names, cells)

    def _step(self, step: dis.Instruction, cells: dict[str, types.CellType]) -> None:
        name = step.argval if isinstance(step.argval, str) else ""
        if step.opname in _SEEN or (step.opname == "STORE_DEREF" and name in cells):
            raise _Noticed
        if step.opname in _ATTRIBUTES:
            if name.startswith("__"):
                raise _Noticed
            self.changes |= name in _CHANGING
        in_place = step.opname == "BINARY_OP" and step.argrepr.endswith("=")
        self.changes |= in_place or step.opname in _CHANGES


def _is_quiet(module: str, name: str) -> bool:
    while module:
        if module in QUIET_MODULES:
            return name not in QUIET_MODULES[module]
        module = module.rpartition(".")[0]
    return False


def _value_of(
    step: dis.Instruction, names: dict[str, Any], cells: dict[str, types.CellType]
) -> Any:
    try:
        return names[step.argval] if step.opname in _GLOBALS else cells[step.argval].cell_contents
    except (KeyError, ValueError):  # undefined, or not assigned yet
        raise _Noticed from None


def _of_module(module: types.ModuleType, name: str) -> Any:
    if module.__name__ == "penstock" or module.__name__.startswith("penstock."):
        found = getattr(module, name, _MISSING)  # may load one of penstock's own modules
    else:
        found = vars(module).get(name, _MISSING) if module.__name__ in _MODULES else _MISSING
    if found is _MISSING:
        raise _Noticed
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, type):
        if issubclass(value, (np.generic, np.ndarray)):
            return True
        if issubclass(value, BaseException):
            return value.__module__ == "builtins"
        return value in _BUILTINS or _is_structure(value)
    if isinstance(value, np.ufunc):  # excludes those that call Python
        return any("O" not in loop for loop in value.types)
    if isinstance(value, types.BuiltinFunctionType) and id(value) not in _NUMPY:
        return value in _BUILTINS or value.__module__ == "math"
    known = isinstance(value, _PLAIN_VALUES) or type(value) in QUIET_TYPES
    return known or id(value) in _NUMPY or value is Ellipsis


def _is_structure(cls: type) -> bool:
    """Return whether constructing an instance only stores values."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return (
            cls.__init__ is tuple.__init__
            and cls.__new__.__module__ == f"namedtuple_{cls.__name__}"
        )
    if not dataclasses.is_dataclass(cls) or hasattr(cls, "__post_init__"):
        return False
    usual = all("__init__" not in vars(base) or _makes_init(base) for base in cls.__mro__[:-1])
    return usual and cls.__new__ is object.__new__ and cls.__setattr__ is object.__setattr__


def _makes_init(cls: type) -> bool:
    return bool(getattr(vars(cls).get("__dataclass_params__"), "init", False))
