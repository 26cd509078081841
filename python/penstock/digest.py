"""Identities of Python values: digests of functions, objects and arrays, equal in any process.

An identity covers the contents of a value, but not addresses, hashes of strings, the order of sets,
paths of code or line numbers. A value is examined once, regardless of the number of references, and
references may be circular.
"""

from __future__ import annotations

import collections
import enum
import functools
import mmap
import os
import struct
import sys
import types
from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock.code_names import globals_of, names_of, passed_on
from penstock.contents import (
    attributes_of,
    function_of,
    is_a_library,
    is_of_a_table,
    marshalled,
    member_of,
    members_of,
    reduction_of,
    some_rows,
    varies,
)
from penstock.encode import Indexable, Reader
from penstock.exclusions import Ignored
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
_MAX_DEPTH = 50  # each level takes several Python stack frames
_CONTAINERS = (tuple, list, set, frozenset, dict, types.MappingProxyType)
_USED_WHOLE = (
    *(*_CONTAINERS, np.ndarray, np.generic, np.ufunc, enum.Enum),
    *(types.FunctionType, types.MethodType, types.CodeType, *BUILTIN),
)

# Limits while a pipeline is built; `exact` digests have none.
_MAX_BYTES = 1 << 30  # of arrays
_MAX_OBJECTS = 20_000  # other than plain values
_MAX_PLAIN = 5_000_000  # plain values in a container
_SAMPLES = 256  # of the items of a container beyond the limits
_PIECES = 16  # samples of the bytes of an array beyond the limits
_PIECE = 1 << 12  # bytes of each sample
_CHUNK = 1 << 20  # bytes of a large array per checksum


_GETATTRIBUTE = object.__getattribute__


class Identity(NamedTuple):
    """The digest of a value, with the data to compare and explain it."""

    digest: bytes
    exact: bool  # the value was examined completely, not sampled
    datasets: tuple[Stage, ...]  # datasets that it refers to, whose contents are not in the digest
    parts: Mapping[str, bytes]  # digests of a function's variables by name; "": code


def identity_of(value: Any, exact: bool = False) -> Identity:
    """Return the identity of a value.

    Parameters
    ----------
    value : object
        A function, or any other value.
    exact : bool
        Examine everything, regardless of size. Otherwise arrays in files, arrays larger than 1 GiB,
        and containers with more than 20,000 objects are sampled.
    """
    digests = _Digests(exact)
    digest = digests.digest(value)
    return Identity(digest, digests.exact, tuple(digests.datasets), digests.parts)


class Use(NamedTuple):
    """The attributes that code reads from an object, by name."""

    names: frozenset[str]
    passed_on: frozenset[str]  # attributes whose whole value is used


class _Digests:
    """The digests of all values that one value refers to."""

    def __init__(self, complete: bool) -> None:
        self.exact = True
        self.datasets: list[Stage] = []
        self.parts: dict[str, bytes] = {}
        self._complete = complete
        self._bytes = _MAX_BYTES
        self._objects = _MAX_OBJECTS
        self._in_part = False
        # By value and use. Values are kept alive, so that ids are not reused.
        self._done: dict[tuple[int, Use | None], tuple[Any, bytes]] = {}
        # The values that contain the current one, with their depths: a value may contain itself.
        self._open: dict[tuple[int, Use | None], int] = {}

    def digest(self, value: Any) -> bytes:
        """Return the digest of a value."""
        hasher = Hasher()
        self._add(hasher, value, Use(frozenset(), frozenset()))
        return hasher.digest()

    def _add(self, out: Hasher, value: Any, use: Use | None = None) -> None:
        """Add a whole value, or only the parts that are used."""
        if isinstance(value, ExecutedFunction):  # the executor does not affect elements
            value = value.__wrapped__
        kind = type(value)
        if kind in SIMPLE:
            out.text(f"{kind.__module__}.{kind.__qualname__}")
            out.text(repr(value))
        elif kind is Ignored:
            out.text("ignored")
        else:
            out.bytes(self._once(value, None if isinstance(value, _USED_WHOLE) else use))

    def _once(self, value: Any, use: Use | None) -> bytes:
        key = id(value), use
        found = self._done.get(key)
        if found is not None:
            return found[1]
        if key in self._open:
            return f"again {self._open[key]}".encode()
        if len(self._open) > _MAX_DEPTH or (len(self._done) > self._objects and not self._complete):
            self.exact = False
            return name_of(type(value)).encode()
        self._open[key] = len(self._open)
        hasher = Hasher()
        try:
            self._value(hasher, value, use)
        except Exception:
            # Examining an object may run code of its class (__reduce__, __fspath__), which may
            # raise anything. Then only the type counts.
            hasher = Hasher()
            hasher.text(name_of(type(value)))
        finally:
            del self._open[key]
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
        if kind is types.FunctionType:
            self._function(out, value)
        elif kind is types.CodeType:
            out.bytes(_digest_of_code(value))
        elif isinstance(value, types.ModuleType):
            self._module(out, value, use)
        elif varies(value):
            return
        elif isinstance(value, type):
            self._class(out, value)
        elif isinstance(value, enum.Enum):
            out.text(str(value._name_))
            self._add(out, value._value_)
        elif isinstance(value, SIMPLE):
            base: Any = next(each for each in kind.__mro__ if each in SIMPLE)
            out.text(base.__repr__(value))
            self._object(out, value, None)  # attributes in addition to its value
        elif isinstance(value, (np.ndarray, np.generic)):
            self._array(out, np.asarray(value), _is_mapped(value))
            if isinstance(value, np.ma.MaskedArray):
                self._array(out, np.ma.getmaskarray(value), False)
                self._add(out, value.fill_value)
        elif isinstance(value, np.dtype):
            out.text(value.str if value.fields is None else repr(value.descr))
        elif isinstance(value, _CONTAINERS):
            self._container(out, value)
            if not is_a_library(kind.__module__):
                self._object(out, value, None)  # attributes in addition to the items
        elif isinstance(value, struct.Struct):
            out.text(value.format)
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
            self._dataset(out, value)
        elif (array := _array_of(value)) is not None:
            self._array(out, array, False)
        elif (name := _fingerprint_of(value)) is not None:
            out.text(name)
        else:
            self._callable(out, value, use)

    def _dataset(self, out: Hasher, value: Stage) -> None:
        known = [id(each) for each in self.datasets]
        if id(value) not in known:
            self.datasets.append(value)
            known.append(id(value))
        out.text(str(known.index(id(value))))

    def _module(self, out: Hasher, value: types.ModuleType, use: Use | None) -> None:
        """Add a module; for a module of the program, also the attributes that code uses."""
        out.text(value.__name__)
        if use is not None and not is_a_library(value.__name__):
            for name in sorted(use.names & vars(value).keys()):
                self._held(out, name, vars(value)[name], use)

    def _container(self, out: Hasher, value: Any) -> None:
        size = _len(value)
        out.text(str(size))
        plain = marshalled(value, sys.maxsize if self._complete else _MAX_PLAIN)
        if plain is not None:
            out.bytes(plain)
        elif size > self._objects and not self._complete:
            self.exact = False
            if isinstance(value, (list, tuple)):
                self._all(out, (value[i] for i in _sample(size)))
        elif isinstance(value, (dict, types.MappingProxyType)):
            if isinstance(value, collections.defaultdict):
                self._add(out, value.default_factory)
            pairs = dict.items(value) if isinstance(value, dict) else value.items()
            self._all(out, (item for pair in pairs for item in pair))
        elif isinstance(value, (set, frozenset)):
            base: Any = set if isinstance(value, set) else frozenset
            for digest in sorted(self._digest_of_item(item) for item in base.__iter__(value)):
                out.bytes(digest)
        else:
            self._all(out, (list if isinstance(value, list) else tuple).__iter__(value))

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
        elif isinstance(value, (*BUILTIN, np.ufunc)):
            out.text(name_of(value))
            owner = getattr(value, "__self__", None)
            if not isinstance(owner, types.ModuleType):
                self._add(out, owner)
        elif is_of_a_table(value):  # attributes of tables hold caches
            self._table(out, value)
        else:
            if not hasattr(value, "__dict__"):
                self._add(out, reduction_of(value))
            self._object(out, value, use)

    def _table(self, out: Hasher, value: Any) -> None:
        """Add the data of a pandas, Polars or Arrow table, as pickle would write it."""
        size, nbytes = len(value) if hasattr(value, "__len__") else 0, _bytes_of_table(value)
        out.text(str(size))
        if not self._takes(nbytes):
            value = some_rows(value, _sample(size))
        self._add(out, reduction_of(value))

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

    def _array(self, out: Hasher, array: np.ndarray[Any, Any], mapped: bool) -> None:
        out.text(f"{array.dtype.str if array.dtype.fields is None else array.dtype.descr}")
        out.text(str(array.shape))
        if array.dtype.hasobject:
            self._container(out, array.ravel().tolist())
        elif array.nbytes <= _PIECES * _PIECE:
            out.bytes(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        elif self._takes(array.nbytes) if not mapped else self._complete:
            data: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            for start in range(0, data.size, _CHUNK):
                checksum = _core.masked_crc32c(data[start : start + _CHUNK])
                out.bytes(checksum.to_bytes(4, "little"))
        else:
            self.exact = False
            if array.flags.c_contiguous:
                flat = array.reshape(-1).view(np.uint8)
                for i in range(_PIECES):
                    start = (flat.size - _PIECE) * i // (_PIECES - 1)
                    out.bytes(flat[start : start + _PIECE])
            else:
                out.bytes(np.array([array.flat[i] for i in _sample(array.size)]).view(np.uint8))

    def _takes(self, size: int) -> bool:
        """Subtract a size from the limit, and return whether the limit allows it."""
        if self._complete:
            return True
        self._bytes -= size
        self.exact = self.exact and self._bytes >= 0
        return self._bytes >= 0

    # --- functions ---

    def _function(self, out: Hasher, function: types.FunctionType) -> None:
        code = function.__code__
        closure = dict(
            zip(code.co_freevars, map(contents_of, function.__closure__ or ()), strict=True)
        )
        if (function.__module__ or "").partition(".")[0] == "penstock":
            # Penstock's own functions count by name, and by the values that users passed in.
            out.text(function.__qualname__)
            self._all(out, closure.values())
            return
        self._part(out, "", code)
        use = Use(names_of(code), passed_on(code))
        for name, value in {**_defaults(function), **closure}.items():
            self._held(out, name, value, use)
        scope = function.__globals__
        for name in sorted(globals_of(code) & scope.keys()):
            value = scope[name]
            if _is_of_a_library(value) and value.__module__ != function.__module__:
                out.text(f"{name} {name_of(value)}")
            else:
                self._held(out, name, value, use)
        for name, value in sorted(vars(function).items()):
            self._held(out, name, value, None)

    def _held(self, out: Hasher, name: str, value: Any, use: Use | None) -> None:
        """Add a variable or an attribute."""
        out.text(name)
        whole = use is None or (name in use.passed_on and not isinstance(value, type))
        self._part(out, name, value, None if whole else use)

    def _part(self, out: Hasher, name: str, value: Any, use: Use | None = None) -> None:
        """Add a direct reference of a function, and record its digest."""
        if self._in_part:
            self._add(out, value, use)
            return
        self._in_part = True
        hasher = Hasher()
        self._add(hasher, value, use)
        self._in_part = False
        digest = hasher.digest()
        self.parts[name] = self.parts.get(name, b"") + digest
        out.bytes(digest)

    # --- objects and classes ---

    def _object(self, out: Hasher, value: Any, use: Use | None) -> None:
        """Add an instance of a class: its attributes, and the methods that may be called."""
        cls = type(value)
        reached = methods_reached(cls, use.names) if use else []
        use = _use_of_all(cls, reached, use)
        held = attributes_of(value)
        if use is None:
            self._add(out, cls)
            names = {*held}
        else:
            out.text(name_of(cls))
            for function in sorted(reached, key=lambda each: each.__qualname__):
                self._method_code(out, function)
            held = data_of(cls) | held
            names = held.keys() & use.names
        for name in sorted(names):
            # A cached property exists only after its first use.
            if not isinstance(member_of(cls, name), functools.cached_property):
                self._held(out, name, held[name], use)

    def _class(self, out: Hasher, cls: type) -> None:
        """Add a class; for a class of the program, also its body and those of its bases."""
        out.text(" ".join(map(name_of, cls.__mro__)))
        if not is_a_library(str(type(cls).__module__)):
            self._add(out, type(cls))
        for each in cls.__mro__:
            if is_a_library(str(each.__module__)):
                continue
            for name, member in members_of(each).items():
                value = function_of(member) or member
                if isinstance(member, property):
                    value = (member.fget, member.fset)
                elif isinstance(member, (classmethod, staticmethod)):
                    value = member.__func__
                out.text(name)
                self._add(out, value)


class Hasher:
    """Hashes chunks with their lengths, so that different sequences have different bytes."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    def digest(self) -> bytes:
        """Return the 16-byte digest of all chunks so far."""
        return self._hash.digest()

    def bytes(self, data: Any) -> None:
        """Add an object with a buffer."""
        if type(data) is not bytes:
            data = memoryview(data).cast("B")
        self._hash.update(len(data).to_bytes(8, "little"))
        self._hash.update(data)

    def text(self, text: str) -> None:
        """Add a text."""
        self.bytes(text.encode("utf-8", "surrogatepass"))


def name_of(value: Any) -> str:
    """Return the qualified name of a function, class or module, including its module."""
    module = getattr(value, "__module__", "") or ""
    return f"{module}.{getattr(value, '__qualname__', None) or value.__name__}"


def methods_reached(cls: type, names: Iterable[str]) -> list[types.FunctionType]:
    """Return the methods that may run when an object is called, indexed or used by these names."""
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
    """Add the uses of an object by its own methods; None means the whole object."""
    if use is None or _is_opaque(cls, use.names):
        return None
    names = use.names.union(*(names_of(method.__code__) for method in reached))
    handed = [passed_on(method.__code__) for method in reached]
    for method, each in zip(reached, handed, strict=True):
        if not each.isdisjoint(method.__code__.co_varnames[:1]):  # self
            return None
    if not names.isdisjoint(("__dict__", "__class__")):
        return None
    return Use(names, use.passed_on.union(*handed))


def _is_opaque(cls: type, names: Set[str]) -> bool:
    """Return whether these names may access the whole object, by C code or `__getattr__`."""
    if member_of(cls, "__getattr__") or member_of(cls, "__getattribute__") != _GETATTRIBUTE:
        return True
    call = member_of(cls, "__call__")
    if call is not None and function_of(call) is None:
        return True
    return any(isinstance(member_of(cls, name), types.MethodDescriptorType) for name in names)


def data_of(cls: type) -> dict[str, Any]:
    """Return the class attributes that are data."""
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
    """Return the value of a closure variable."""
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


@functools.lru_cache(4096)
def _digest_of_code(code: types.CodeType) -> bytes:
    """Return the digest of code and its constants, without file names and line numbers."""
    out = Hasher()
    out.bytes(code.co_code)
    out.bytes(code.co_exceptiontable)
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars
    out.bytes(_Digests(complete=True).digest((counts, names, code.co_consts)))
    return out.digest()


def _is_of_a_library(value: Any) -> bool:
    """Return whether a value is a function or class defined in an installed package."""
    made_once = (
        isinstance(value, (type, types.FunctionType)) and "<locals>" not in value.__qualname__
    )
    return made_once and is_a_library(str(value.__module__))


def _len(value: Any) -> int:
    base = next((each for each in _CONTAINERS if isinstance(value, each)), type(value))
    return base.__len__(value)


def _sample(size: int) -> range | list[int]:
    if size <= _SAMPLES:
        return range(size)
    return [(size - 1) * i // (_SAMPLES - 1) for i in range(_SAMPLES)]


def _is_mapped(array: Any) -> bool:
    """Return whether an array is a view of a memory-mapped file."""
    while array is not None:
        if isinstance(array, (np.memmap, mmap.mmap)):
            return True
        array = getattr(array, "base", None)
    return False


def _array_of(value: Any) -> np.ndarray[Any, Any] | None:
    """Return a PyTorch, JAX or TensorFlow tensor as an array; None for other values."""
    package = type(value).__module__.partition(".")[0]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensor = value.detach().cpu()
        if tensor.dtype == torch.bfloat16:
            tensor = tensor.view(torch.int16)
        return np.asarray(tensor)
    if package in ("jax", "jaxlib", "tensorflow") and hasattr(value, "__array__"):
        return np.asarray(value)
    return None


def _fingerprint_of(value: Any) -> str | None:
    """Return a Hugging Face dataset's own fingerprint, because its table may be large."""
    if type(value).__module__.partition(".")[0] == "datasets":
        return getattr(value, "_fingerprint", None)
    return None


def _bytes_of_table(value: Any) -> int:
    nbytes = getattr(value, "nbytes", 0)
    if isinstance(nbytes, int):
        return nbytes
    return int(getattr(value, "size", 0)) * 8
