"""Digests of Python values: what a function, an object or an array is made of, as far as it shows.

Every value is looked at once, however often others refer to it, and values may refer in circles.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import os
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from penstock.code_names import names_of
from penstock.contents import attributes_of, is_of_a_table, reduction_of
from penstock.encode import Indexable, Reader
from penstock.ops.native import NativeFunction
from penstock.stage import Stage
from penstock.structure import TensorSpec

SIMPLE = (type(None), bool, int, float, complex, str, bytes)
_DEEPEST = 50  # some frames of Python's stack each


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
        self._done: dict[tuple[int, str], tuple[Any, bytes]] = {}
        self._open: set[tuple[int, str]] = set()  # on the way to here: a value may contain itself

    def digest(self, value: Any) -> bytes:
        """Return the digest of a value: of what it is made of, or of no more than its type."""
        hasher = Hasher()
        self._add(hasher, value)
        return hasher.digest()

    def _add(self, out: Hasher, value: Any) -> None:
        kind = type(value)
        if kind in SIMPLE:
            out.text(f"{kind.__module__}.{kind.__qualname__}")
            out.text(repr(value))
        else:
            out.bytes(self._once(value, self._value))

    def _once(self, value: Any, look: Callable[[Hasher, Any], None]) -> bytes:
        key = id(value), look.__name__
        found = self._done.get(key)
        if found is not None:
            return found[1]
        if key in self._open or len(self._open) > _DEEPEST:
            return b"again"
        self._open.add(key)
        try:
            hasher = Hasher()
            look(hasher, value)
            digest = hasher.digest()
        finally:
            self._open.discard(key)
        self._done[key] = value, digest
        return digest

    def _all(self, out: Hasher, values: Iterable[Any]) -> None:
        for value in values:
            self._add(out, value)
        out.text("end")

    def _value(self, out: Hasher, value: Any) -> None:
        kind = type(value)
        out.text(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(value, type):
            out.text(_name_of(value))
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
        elif isinstance(value, os.PathLike):
            out.text(os.fspath(value) if isinstance(os.fspath(value), str) else repr(value))
        elif isinstance(value, TensorSpec):
            out.text(repr(value))
        elif isinstance(value, Reader):
            out.text(value.kind)
            self._add(out, value.args)
        elif isinstance(value, Indexable):
            out.text(str(value.size))
            self._add(out, value.rows)
        elif isinstance(value, NativeFunction):
            self._add(out, value.__wrapped__)
        elif isinstance(value, Stage):
            out.bytes(self._of_dataset(value, self))
        else:
            self._callable(out, value)

    def _container(self, out: Hasher, value: Any) -> None:
        if isinstance(value, Mapping):
            self._all(out, (item for pair in value.items() for item in pair))
        elif isinstance(value, (set, frozenset)):
            self._all(out, sorted(value, key=repr))
        else:
            self._all(out, value)

    def _callable(self, out: Hasher, value: Any) -> None:
        if isinstance(value, functools.partial):
            self._all(out, (value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self._method(out, value)
        elif isinstance(value, types.FunctionType):
            self._function(out, value)
        elif isinstance(value, types.CodeType):
            self._code(out, value)
        elif isinstance(value, (types.BuiltinFunctionType, types.ModuleType, np.ufunc)):
            out.text(_name_of(value))
        elif isinstance(value, types.CellType):
            try:
                self._add(out, value.cell_contents)
            except ValueError:
                out.text("empty")
        else:
            self._object(out, value)

    def _method(self, out: Hasher, value: types.MethodType) -> None:
        self._all(out, (value.__func__, value.__self__))

    def _object(self, out: Hasher, value: Any) -> None:
        """Add an object of the user's: the methods that a call runs, and what it holds."""
        for name in ("__call__", "__getitem__"):
            method = vars(type(value)).get(name)
            if isinstance(method, types.FunctionType):
                self._add(out, method)
        if is_of_a_table(value) or not hasattr(value, "__dict__"):
            self._add(out, reduction_of(value))
        self._add(out, {} if is_of_a_table(value) else attributes_of(value))

    def _array(self, out: Hasher, array: np.ndarray[Any, Any]) -> None:
        out.text(f"{array.dtype.str} {array.shape}")
        if array.dtype.hasobject:
            self._all(out, array.ravel().tolist())
        elif array.size:
            out.bytes(np.ascontiguousarray(array).reshape(-1).view(np.uint8))

    def _function(self, out: Hasher, function: types.FunctionType) -> None:
        code = function.__code__
        self._add(out, code)
        self._all(out, (function.__defaults__, function.__kwdefaults__))
        self._all(out, function.__closure__ or ())
        for name in sorted(names_of(code) & function.__globals__.keys()):
            out.text(name)
            self._global(out, function.__globals__[name], function.__module__)

    def _global(self, out: Hasher, value: Any, module: Any) -> None:
        # Functions of the same module belong to the program; those of libraries only by name.
        if isinstance(value, types.FunctionType) and value.__module__ != module:
            out.text(_name_of(value))
        elif isinstance(value, type) and value.__module__ == module:
            out.bytes(self._once(value, self._class))
        else:
            self._add(out, value)

    def _class(self, out: Hasher, value: Any) -> None:
        out.text(value.__qualname__)
        for name, member in sorted(vars(value).items()):
            if isinstance(member, (types.FunctionType, *SIMPLE)) and name != "__module__":
                out.text(name)
                self._add(out, member)

    def _code(self, out: Hasher, code: types.CodeType) -> None:
        out.bytes(code.co_code)
        self._all(out, (code.co_names, code.co_varnames, code.co_freevars, code.co_flags))
        self._all(out, code.co_consts)


class Hasher:
    """Collects pieces, each with its length, so that no two sequences are alike."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def digest(self) -> bytes:
        """Return the digest of all pieces so far: 16 bytes."""
        return self._hash.digest()

    def bytes(self, data: Any) -> None:
        """Add anything with a buffer."""
        view = memoryview(data).cast("B")
        self._hash.update(len(view).to_bytes(8, "little"))
        self._hash.update(view)

    def text(self, text: str) -> None:
        """Add a text."""
        self.bytes(text.encode("utf-8", "surrogatepass"))


def _name_of(value: Any) -> str:
    module = getattr(value, "__module__", "") or ""
    return f"{module}.{getattr(value, '__qualname__', value.__name__)}"
