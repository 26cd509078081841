"""Digests for states: what decides a pipeline's data, at a bounded cost, and nothing that varies.

A state is taken in the middle of a run and compared at the beginning of another one. What functions
change while they run (counters, logs, memories) would differ, and is left out; large data is looked
at in samples, so that the first state of a pipeline costs milliseconds.
"""

from __future__ import annotations

import dis
import enum
import functools
import os
import types
from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np

from penstock.code_names import names_of
from penstock.contents import (
    attributes_of,
    is_of_a_table,
    is_of_the_standard_library,
    reduction_of,
    some_rows,
)
from penstock.digest import SIMPLE, Digests, Hasher
from penstock.encode import Indexable, Reader
from penstock.ops.native import NativeFunction
from penstock.stage import Stage
from penstock.structure import TensorSpec

_MOST_BYTES = 1 << 16  # of an array: all of them, or so many of pieces from begin to end
_PIECES = 16
_MOST_ITEMS = 256  # of a container, likewise

# A function that calls one of these, or stores into something, may change what it refers to.
_CHANGING = frozenset(
    (
        *("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "fill"),
        *("insert", "pop", "popitem", "popleft", "put", "remove", "reverse", "rotate", "send"),
        *("setdefault", "sort", "update", "write", "writelines", "__next__", "__setitem__"),
    )
)
_STORING = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR", "STORE_SLICE")
_REBINDING = ("STORE_DEREF", "STORE_GLOBAL", "DELETE_DEREF", "DELETE_GLOBAL")
_MAKING = ("__init__", "__post_init__", "__new__", "__setstate__")
_CALLED = ("__call__", "__getitem__", "__getitems__", "__iter__", "__len__")


class StateDigests(Digests):
    """As `Digests`, but bounded, and without what varies while functions run.

    Parameters
    ----------
    of_dataset : callable
        From a Dataset among the values, and these digests, to its digest.
    """

    def __init__(self, of_dataset: Callable[[Stage, Digests], bytes]) -> None:
        super().__init__(of_dataset)
        self._effects: dict[types.CodeType, _Effects] = {}

    def digest(self, value: Any) -> bytes:
        """Return the digest of a value; of one that cannot be looked into, that of its type."""
        try:
            return super().digest(value)
        except Exception:
            # Looking at an object runs code of its class (__len__, __iter__, __repr__, a property),
            # which may raise anything. A state is saved all the same, with no more than the type.
            self._open.clear()
            return super().digest(f"{type(value).__module__}.{type(value).__qualname__}")

    def _container(self, out: Hasher, value: Any) -> None:
        out.text(str(len(value)))
        if len(value) <= _MOST_ITEMS:
            super()._container(out, value)
        elif isinstance(value, Mapping):
            pairs = (pair for i, pair in enumerate(value.items()) if i < _MOST_ITEMS)
            self._all(out, (item for pair in pairs for item in pair))
        elif not isinstance(value, (set, frozenset)):  # those have no order to take samples by
            self._all(out, (value[i] for i in _sample(len(value))))

    def _array(self, out: Hasher, array: np.ndarray[Any, Any]) -> None:
        out.text(f"{array.dtype.str} {array.shape}")
        if array.dtype.hasobject or array.size == 0:
            flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
            self._all(out, (flat[i] for i in _sample(array.size)))
        elif array.nbytes <= _MOST_BYTES:
            out.bytes(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        elif array.flags.c_contiguous:
            data = array.reshape(-1).view(np.uint8)
            piece = _MOST_BYTES // _PIECES
            for i in range(_PIECES):
                start = (array.nbytes - piece) * i // (_PIECES - 1)
                out.bytes(data[start : start + piece])
        else:
            out.bytes(np.array([array.flat[i] for i in _sample(array.size)]).view(np.uint8))

    def _function(self, out: Hasher, function: types.FunctionType) -> None:
        code = function.__code__
        if (function.__module__ or "").startswith(("penstock.adapters", "penstock.stages")):
            # What the facade puts around functions of the user, or makes of elements itself.
            out.text(function.__qualname__)
            cells = (_contents(cell) for cell in function.__closure__ or ())
            self._all(out, (value for value in cells if isinstance(value, types.FunctionType)))
            return
        effects = self._effects_of(code)
        self._add(out, code)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._seen(out, default, code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            out.text(name)
            if name not in effects.rebound:
                self._seen(out, _contents(cell), code)
        scope = function.__globals__
        for name in sorted((names_of(code) & scope.keys()) - effects.rebound):
            out.text(name)
            if effects.changes and _may_change(scope[name]):
                out.text(type(scope[name]).__qualname__)
            elif _has_attributes(scope[name]):
                self._read(out, scope[name], names_of(code))
            else:
                self._global(out, scope[name], function.__module__)

    def _seen(self, out: Hasher, value: Any, code: types.CodeType) -> None:
        """Add a value that a function refers to: no more than its type if it may change that."""
        if self._effects_of(code).changes and _may_change(value):
            out.text(f"{type(value).__module__}.{type(value).__qualname__}")
        elif _has_attributes(value):
            self._read(out, value, names_of(code))
        else:
            self._add(out, value)

    def _read(self, out: Hasher, owner: Any, names: Set[str]) -> None:
        """Add what is read of an object by these names: attributes, methods, properties."""
        key = id(owner), "read"
        if key in self._open:  # it refers to itself
            out.text("again")
            return
        self._open.add(key)
        try:
            members = (getattr(type(owner), name, None) for name in sorted({*names, *_CALLED}))
            functions = (_function_of(member) for member in members)
            self._parts(out, owner, [f for f in functions if f is not None], names)
        finally:
            self._open.discard(key)

    def _method(self, out: Hasher, value: types.MethodType) -> None:
        if isinstance(value.__func__, types.FunctionType) and not isinstance(value.__self__, type):
            out.text(value.__func__.__name__)
            self._parts(out, value.__self__, [value.__func__])
        else:
            super()._method(out, value)

    def _object(self, out: Hasher, value: Any) -> None:
        if is_of_a_table(value):
            size = len(value) if hasattr(value, "__len__") else 0
            out.text(str(size))
            self._add(out, reduction_of(some_rows(value, _sample(size))))
        elif not hasattr(value, "__dict__") and is_of_the_standard_library(value):
            self._add(out, reduction_of(value))
        found = (getattr(type(value), name, None) for name in _CALLED)
        self._parts(out, value, [f for f in found if isinstance(f, types.FunctionType)])

    def _parts(
        self,
        out: Hasher,
        owner: Any,
        called: list[types.FunctionType],
        names: Set[str] = frozenset(),
    ) -> None:
        """Add what some methods of an object are made of: code, and the attributes they read.

        `names` are those that others read.
        """
        cls = type(owner)
        out.text(f"{cls.__module__}.{cls.__qualname__}")
        methods: list[types.FunctionType] = []
        names = {*names}
        waiting = list(called)
        while waiting:
            method = waiting.pop()
            if method in methods:
                continue
            methods.append(method)
            names |= names_of(method.__code__)
            others = (getattr(cls, name, None) for name in sorted(names_of(method.__code__)))
            waiting += [f for f in map(_function_of, others) if f is not None]
        effects = [self._effects_of(method.__code__) for method in methods]
        changes = any(e.changes for e in effects)
        for method in sorted(methods, key=lambda f: f.__qualname__):
            self._add(out, method)
        held = self._members(cls) | attributes_of(owner)
        # What is computed at the first use is there only afterwards.
        read = {
            name
            for name in names & held.keys()
            if not isinstance(getattr(cls, name, None), functools.cached_property)
        }
        for name in sorted(read - self._stored_by(cls) if read else read):
            out.text(name)
            if changes and _may_change(held[name]):
                out.text(type(held[name]).__qualname__)
            elif _has_attributes(held[name]):
                self._read(out, held[name], names)
            else:
                self._add(out, held[name])

    def _members(self, cls: type) -> dict[str, Any]:
        """Return the simple values that a class has for all its objects."""
        found: dict[str, Any] = {}
        for each in reversed(cls.__mro__):
            found |= {name: v for name, v in vars(each).items() if isinstance(v, SIMPLE)}
        return found

    def _stored_by(self, cls: type) -> set[str]:
        """Return the attributes that methods store, but for those that make the object."""
        stored: set[str] = set()
        for each in cls.__mro__:
            for name, method in vars(each).items():
                if isinstance(method, types.FunctionType) and name not in _MAKING:
                    stored |= self._effects_of(method.__code__).attributes
        return stored

    def _effects_of(self, code: types.CodeType) -> _Effects:
        if code not in self._effects:
            self._effects[code] = _Effects(code)
        return self._effects[code]


class _Effects:
    """What a function, with those inside it, may change."""

    def __init__(self, code: types.CodeType) -> None:
        self.changes = not _CHANGING.isdisjoint(code.co_names)
        self.rebound: set[str] = set()
        self.attributes: set[str] = set()
        for step in dis.get_instructions(code):
            if step.opname in _STORING:
                self.changes = True
                if step.opname == "STORE_ATTR":
                    self.attributes.add(step.argval)
            elif step.opname in _REBINDING:
                self.rebound.add(step.argval)
            elif step.opname == "LOAD_GLOBAL" and step.argval == "next":
                self.changes = True
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                inner = _Effects(const)
                self.changes = self.changes or inner.changes
                self.rebound |= inner.rebound
                self.attributes |= inner.attributes


def _may_change(value: Any) -> bool:
    fixed = (*SIMPLE, tuple, frozenset, type, np.generic, np.dtype, types.ModuleType)
    called = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc)
    return not isinstance(value, (*fixed, *called))


def _function_of(member: Any) -> types.FunctionType | None:
    """Return what runs when a member of a class is called or read."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, functools.cached_property):
        member = member.func
    return member if isinstance(member, types.FunctionType) else None


def _has_attributes(value: Any) -> bool:
    """Return whether a value is an object of some class, whose attributes a function may read."""
    looked_into = (tuple, list, set, frozenset, Mapping, np.ndarray, type, enum.Enum)
    known = (os.PathLike, TensorSpec, Reader, Indexable, NativeFunction, functools.partial)
    if not _may_change(value) or isinstance(value, (*looked_into, *known)):
        return False
    if isinstance(value, Stage) or is_of_a_table(value):
        return False
    if is_of_the_standard_library(value):
        return hasattr(value, "__dict__")
    return hasattr(value, "__dict__") or bool(attributes_of(value))


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


def _sample(size: int) -> range | list[int]:
    if size <= _MOST_ITEMS:
        return range(size)
    return [(size - 1) * i // (_MOST_ITEMS - 1) for i in range(_MOST_ITEMS)]
