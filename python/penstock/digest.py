"""Digests of Python values: what a function, an object or an array is made of, as far as it shows.

Every value is looked at once, however often others refer to it, and values may refer in circles.
"""

from __future__ import annotations

import enum
import functools
import os
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np

from penstock.code_effects import effects_of
from penstock.code_names import names_of
from penstock.contents import (
    attributes_of,
    function_of,
    is_a_library,
    is_of_a_table,
    marshalled,
    member_of,
    members_of,
    reduction_of,
    varies,
)
from penstock.encode import Indexable, Reader
from penstock.executors import ExecutedFunction
from penstock.ops.native import NativeFunction
from penstock.stage import Stage
from penstock.structure import TensorSpec

try:
    from _blake2 import blake2b  # the same as hashlib's, which loads 4 MB of OpenSSL first
except ImportError:
    from hashlib import blake2b

SIMPLE = (type(None), bool, int, float, complex, str, bytes)
BUILTIN = (types.BuiltinFunctionType, types.MethodWrapperType)
_CALLED = ("__call__", "__getitem__", "__getitems__", "__iter__", "__len__")
_DEEPEST = 50  # some frames of Python's stack each
_USED_WHOLE = (
    *(tuple, list, set, frozenset, Mapping, np.ndarray, np.generic, np.ufunc, enum.Enum),
    *(types.FunctionType, types.MethodType, types.CodeType, types.ModuleType, *BUILTIN),
)


class Use(NamedTuple):
    """What of an object is used: attributes by these names, and what its methods read."""

    names: frozenset[str]
    handed_on: frozenset[str]  # of these attributes everything is used
    changes: bool = False  # what uses it may change the values of these names


class Changed(NamedTuple):
    """Names of variables or attributes whose values differ in the course of a run."""

    assigned: frozenset[str]
    touched: frozenset[str]  # values that can be changed are


NOTHING_CHANGED = Changed(frozenset(), frozenset())


class Digests:
    """The digests of the values that one question is about.

    Parameters
    ----------
    of_dataset : callable
        From a Dataset among the values, and these digests, to its digest.
    """

    def __init__(self, of_dataset: Callable[[Stage, Digests], bytes]) -> None:
        self._of_dataset = of_dataset
        # By value and how it was looked at. Values are kept: no other one shall get the id of one
        # that has gone.
        self._done: dict[tuple[int, Hashable], tuple[Any, bytes]] = {}
        # On the way to here: a value may contain itself.
        self._open: set[tuple[int, Hashable]] = set()

    def digest(self, value: Any) -> bytes:
        """Return the digest of a value: of what it is made of, or of no more than its type."""
        hasher = Hasher()
        self._add(hasher, value, Use(frozenset(), frozenset()))
        return hasher.digest()

    def _add(self, out: Hasher, value: Any, use: Use | None = None) -> None:
        """Add a value: all of it, or what is used of it."""
        if isinstance(value, ExecutedFunction):  # who calls it changes nothing
            value = value.__wrapped__
        kind = type(value)
        if kind in SIMPLE:
            out.text(f"{kind.__module__}.{kind.__qualname__}")
            out.text(repr(value))
        else:
            use = None if isinstance(value, _USED_WHOLE) else self._limited(use)
            out.bytes(self._once(value, use, lambda inner: self._value(inner, value, use)))

    def _once(self, value: Any, how: Hashable, look: Callable[[Hasher], None]) -> bytes:
        key = id(value), how
        found = self._done.get(key)
        if found is not None:
            return found[1]
        if key in self._open or len(self._open) > _DEEPEST:
            return b"again"
        self._open.add(key)
        hasher = Hasher()
        try:
            look(hasher)
        except Exception:
            # Looking at an object runs code of its class (__len__, __iter__, __repr__, a property),
            # which may raise anything. No more than its type counts then.
            hasher = Hasher()
            hasher.text(name_of(type(value)))
        finally:
            self._open.discard(key)
        digest = hasher.digest()
        self._done[key] = value, digest
        return digest

    def _all(self, out: Hasher, values: Iterable[Any]) -> None:
        for value in values:
            self._add(out, value)
        out.text("end")

    def _value(self, out: Hasher, value: Any, use: Use | None) -> None:
        kind = type(value)
        out.text(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(value, types.ModuleType):
            out.text(name_of(value))
        elif varies(value):
            return
        elif isinstance(value, type):
            self._class(out, value, use)
        elif isinstance(value, enum.Enum):
            out.text(value.name)
            self._add(out, value.value)
        elif isinstance(value, SIMPLE):
            out.text(repr(value))
        elif isinstance(value, (np.ndarray, np.generic)):
            self._array(out, np.asarray(value))
        elif isinstance(value, np.dtype):
            out.text(value.str if value.fields is None else repr(value.descr))
        elif isinstance(value, (tuple, list, set, frozenset, Mapping)):
            self._container(out, value)
            if not is_a_library(kind.__module__):
                self._object(out, value, None)  # what it has beside its items
        elif isinstance(value, os.PathLike):
            out.text(os.fspath(value) if isinstance(os.fspath(value), str) else repr(value))
        elif isinstance(value, TensorSpec):
            out.text(repr(value))
        elif isinstance(value, Reader):
            out.text(value.kind)
            self._add(out, value.args)
        elif isinstance(value, Indexable):
            out.text(str(value.size))
            self._add(out, value.rows, use)
        elif isinstance(value, NativeFunction):
            self._add(out, value.__wrapped__, use)
        elif isinstance(value, Stage):
            out.bytes(self._of_dataset(value, self))
        else:
            self._callable(out, value, use)

    def _container(self, out: Hasher, value: Any) -> None:
        plain = marshalled(value)
        if plain is not None:
            out.bytes(plain)
        else:
            self._items(out, value)

    def _items(self, out: Hasher, value: Any) -> None:
        if isinstance(value, Mapping):
            self._all(out, (item for pair in value.items() for item in pair))
        elif isinstance(value, (set, frozenset)):
            for digest in sorted(self._digest_of_item(item) for item in value):
                out.bytes(digest)
        else:
            self._all(out, value)

    def _digest_of_item(self, item: Any) -> bytes:
        hasher = Hasher()
        self._add(hasher, item)
        return hasher.digest()

    def _callable(self, out: Hasher, value: Any, use: Use | None) -> None:
        if isinstance(value, functools.partial):
            self._add(out, value.func, use)
            self._all(out, (value.args, value.keywords))
        elif isinstance(value, np.vectorize):
            self._all(out, (value.pyfunc, value.otypes, value.signature, value.excluded))
        elif isinstance(value, types.MethodType):
            self._method(out, value)
        elif isinstance(value, types.FunctionType):
            self._function(out, value)
        elif isinstance(value, types.CodeType):
            self._code(out, value)
        elif isinstance(value, (*BUILTIN, np.ufunc)):
            out.text(name_of(value))
            owner = getattr(value, "__self__", None)
            if not isinstance(owner, types.ModuleType):
                self._add(out, owner)
        else:
            self._reduced(out, value)
            if not is_of_a_table(value):  # its attributes hold caches
                self._object(out, value, use)

    def _method(self, out: Hasher, value: types.MethodType) -> None:
        if isinstance(value.__func__, types.FunctionType) and not isinstance(value.__self__, type):
            use = Use(frozenset((value.__func__.__name__,)), frozenset())
            self._method_code(out, value.__func__)
            self._add(out, value.__self__, use)
        else:
            self._all(out, (value.__func__, value.__self__))

    def _method_code(self, out: Hasher, function: types.FunctionType) -> None:
        out.text(function.__qualname__)
        if not is_a_library(str(function.__module__)):
            self._add(out, function)

    def _array(self, out: Hasher, array: np.ndarray[Any, Any]) -> None:
        out.text(f"{array.dtype.str} {array.shape}")
        if array.dtype.hasobject:
            self._container(out, array.ravel().tolist())
        elif array.size:
            out.bytes(np.ascontiguousarray(array).reshape(-1).view(np.uint8))

    # --- functions ---

    def _function(self, out: Hasher, function: types.FunctionType) -> None:
        code = function.__code__
        self._add(out, code)
        closure = map(contents_of, function.__closure__ or ())
        around = {**_defaults(function), **dict(zip(code.co_freevars, closure, strict=True))}
        scope = function.__globals__
        named = {name: scope[name] for name in sorted(names_of(code) & scope.keys())}
        changed = self._changed_by(code, {**named, **around})
        use = Use(frozenset(names_of(code)), effects_of(code).handed_on, bool(changed.touched))
        for name, value in around.items():
            self._held(out, name, value, use, changed)
        for name, value in named.items():
            code_of_another = isinstance(value, (type, types.FunctionType))
            if code_of_another and value.__module__ != function.__module__:
                # Those of the same module belong to the program; those of others only by name.
                out.text(f"{name} {name_of(value)}")
            else:
                self._held(out, name, value, use, changed)
        for name, value in sorted(vars(function).items()):
            self._held(out, name, value, None, changed)

    def _held(self, out: Hasher, name: str, value: Any, use: Use | None, changed: Changed) -> None:
        """Add a variable or an attribute: its value, if that does not change in a run."""
        if name in changed.assigned:
            return
        out.text(name)
        if name in changed.touched and may_change(value):
            out.text(name_of(type(value)))
        elif use is None or (name in use.handed_on and not isinstance(value, type)):
            self._add(out, value)
        else:
            self._add(out, value, use)

    def _code(self, out: Hasher, code: types.CodeType) -> None:
        out.bytes(code.co_code)
        self._all(out, (code.co_names, code.co_varnames, code.co_freevars, code.co_flags))
        self._all(out, code.co_consts)

    # --- objects and classes ---

    def _object(self, out: Hasher, value: Any, use: Use | None) -> None:
        """Add an object of some class: what it holds, and the methods that are called."""
        cls = type(value)
        reached = methods_reached(cls, use.names if use else ())
        use = _use_of_all(cls, reached, use)
        held = attributes_of(value)
        if use is None:
            self._class(out, cls, None)
            names = {*held}
        else:
            out.text(name_of(cls))
            for function in sorted(reached, key=lambda each: each.__qualname__):
                self._method_code(out, function)
            held = data_of(cls) | held
            names = held.keys() & use.names
        changed = self._changed_in(cls, reached, use) if names else NOTHING_CHANGED
        for name in sorted(names):
            # What is computed at the first use is there only afterwards.
            if not isinstance(member_of(cls, name), functools.cached_property):
                self._held(out, name, held[name], use, changed)

    def _reduced(self, out: Hasher, value: Any) -> None:
        """Add what pickle would write of a value whose attributes do not say all."""
        if is_of_a_table(value) or not hasattr(value, "__dict__"):
            self._add(out, reduction_of(value))

    def _class(self, out: Hasher, cls: type, use: Use | None) -> None:
        """Add a class: of one of the program its body, and those of the classes it inherits."""
        out.text(" ".join(map(name_of, cls.__mro__)))
        own = [each for each in cls.__mro__ if not is_a_library(str(each.__module__))]
        changed = self._changed_in(cls, [], None) if own else NOTHING_CHANGED
        if use and use.changes:
            changed = Changed(changed.assigned, changed.touched | use.names)
        for each in own:
            for name, member in members_of(each).items():
                if isinstance(member, property):
                    self._held(out, name, (member.fget, member.fset), None, changed)
                elif isinstance(member, (classmethod, staticmethod)):
                    self._held(out, name, member.__func__, None, changed)
                else:
                    self._held(out, name, function_of(member) or member, None, changed)

    # --- what subclasses leave out ---

    def _limited(self, use: Use | None) -> Use | None:
        """Return what of a value counts, by how it is used."""
        del use
        return None

    def _changed_by(self, code: types.CodeType, around: Mapping[str, Any]) -> Changed:
        """Return which variables around a function it changes."""
        del code, around
        return NOTHING_CHANGED

    def _changed_in(self, cls: type, reached: list[types.FunctionType], use: Use | None) -> Changed:
        """Return which attributes of its objects the methods of a class change."""
        del cls, reached, use
        return NOTHING_CHANGED


class Hasher:
    """Collects chunks, each with its length, so that no two sequences give the same bytes."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    def digest(self) -> bytes:
        """Return the digest of all chunks so far: 16 bytes."""
        return self._hash.digest()

    def bytes(self, data: Any) -> None:
        """Add anything with a buffer."""
        view = memoryview(data).cast("B")
        self._hash.update(len(view).to_bytes(8, "little"))
        self._hash.update(view)

    def text(self, text: str) -> None:
        """Add a text."""
        self.bytes(text.encode("utf-8", "surrogatepass"))


def name_of(value: Any) -> str:
    """Return the name of a function, a class or a module, with that of its module."""
    module = getattr(value, "__module__", "") or ""
    return f"{module}.{getattr(value, '__qualname__', None) or value.__name__}"


def may_change(value: Any) -> bool:
    """Return whether a value can be changed by those that it is given to."""
    if isinstance(value, BUILTIN):
        return may_change(value.__self__)
    fixed = (*SIMPLE, tuple, frozenset, type, np.generic, np.dtype, types.ModuleType)
    return not isinstance(value, (*fixed, types.FunctionType, types.MethodType, np.ufunc))


def methods_reached(cls: type, names: Iterable[str]) -> list[types.FunctionType]:
    """Return the methods that run when an object is called or asked for items or some names."""
    reached: list[types.FunctionType] = []
    waiting = _members(cls, {*names, *_CALLED})
    while waiting:
        method = waiting.pop()
        if method not in reached:
            reached.append(method)
            waiting += _members(cls, names_of(method.__code__))
            if isinstance(inner := vars(method).get("__wrapped__"), types.FunctionType):
                waiting.append(inner)
    return reached


def _members(cls: type, names: Set[str]) -> list[types.FunctionType]:
    members = (function_of(member_of(cls, name)) for name in sorted(names))
    return [member for member in members if member is not None]


def _use_of_all(cls: type, reached: list[types.FunctionType], use: Use | None) -> Use | None:
    """Return what some methods of an object use of it besides; None for all of it."""
    if use is None or _is_opaque(cls, use.names):
        return None
    names = use.names.union(*(names_of(method.__code__) for method in reached))
    effects = [effects_of(method.__code__) for method in reached]
    for method, effect in zip(reached, effects, strict=True):
        if not effect.handed_on.isdisjoint(method.__code__.co_varnames[:1]):  # self
            return None
    if not names.isdisjoint(("__dict__", "__class__")):
        return None
    return Use(names, use.handed_on.union(*(effect.handed_on for effect in effects)))


def _is_opaque(cls: type, names: Set[str]) -> bool:
    """Return whether C code is called by these names, which may use all of an object."""
    call = member_of(cls, "__call__")
    if call is not None and function_of(call) is None:
        return True
    return any(isinstance(member_of(cls, name), types.MethodDescriptorType) for name in names)


def data_of(cls: type) -> dict[str, Any]:
    """Return the values that a class has for all its objects."""
    found: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        simple = is_a_library(str(each.__module__))
        found |= {
            name: member
            for name, member in members_of(each).items()
            if function_of(member) is None
            and not isinstance(member, (property, classmethod, staticmethod))
            and (isinstance(member, SIMPLE) or not simple)
        }
    return found


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    code, given = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
    return {**dict(zip(names, given, strict=True)), **(function.__kwdefaults__ or {})}


def contents_of(cell: types.CellType) -> Any:
    """Return what a variable of a closure refers to."""
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"
