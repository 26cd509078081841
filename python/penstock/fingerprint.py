"""Fingerprints of pipelines: equal ones make equal elements, as far as that can be seen."""

from __future__ import annotations

import functools
import hashlib
import os
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.encode import Reader
from penstock.ops.native import NativeFunction
from penstock.pickling import ELEMENTS
from penstock.structure import TensorSpec

if TYPE_CHECKING:
    from penstock.dataset import Dataset

# Stages and arguments that change when elements are made, and not what they are.
_TIMING = frozenset({"prefetch"})
_TIMING_ARGS = frozenset({"num_parallel_calls"})
_SAME_KIND = {
    "parallel_map": "map",
    "parallel_from_indexable": "from_indexable",
    "cache_file": "cache",
}
# Of these a pipeline's elements do not depend, but only where they are kept.
_PLACES = {"cache_file": {"filename"}, "snapshot": {"path", "compression", "shard_func"}}

_SIMPLE = (type(None), bool, int, float, complex, str, bytes)
_DEEPEST = 20


def fingerprint(dataset: Dataset) -> str:
    """Return a digest of all that a pipeline is made of.

    Parameters
    ----------
    dataset : Dataset
        The pipeline.

    Returns
    -------
    str
        32 hexadecimal digits. It is the same in another process, for the same release of Python.

    Notes
    -----
    See docs/guides/caching.md for what is looked at and what is not.
    """
    digests: dict[int, bytes] = {}
    stack = [dataset]  # no recursion: chains are long
    while stack:
        node = stack[-1]
        waiting = [d for d in node._inputs if id(d) not in digests]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        inputs = [digests[id(d)] for d in node._inputs]
        digests[id(node)] = _node(node, inputs)
    return digests[id(dataset)].hex()


def _node(node: Dataset, inputs: list[bytes]) -> bytes:
    if node._kind in _TIMING:
        return inputs[0]
    digest = _Digest()
    digest.text(_SAME_KIND.get(node._kind, node._kind))
    left_out = _TIMING_ARGS | _PLACES.get(node._kind, set())
    given = {name for name, value in node._args.items() if value is not None}
    for name in sorted(given - left_out):
        digest.text(name)
        digest.add(node._args[name])
    for name in _files_of(node):
        digest.file(name)
    if node._kind == ELEMENTS:
        for element in node:
            digest.add(element)
    digest.bytes(b"".join(inputs))
    return digest.digest()


def _files_of(node: Dataset) -> Iterable[Any]:
    """Yield the names of the files that a node reads, as far as they are known."""
    if node._kind == "load":
        yield from sorted(Path(node._args["path"]).glob("*"))
    elif not node._inputs and isinstance(node._args.get("filename"), (str, os.PathLike)):
        yield node._args["filename"]
    elif any(isinstance(value, Reader) for value in node._args.values()):
        open_ = list(node._inputs)
        while open_:
            source = open_.pop()
            open_ += source._inputs
            names = source._args.get("tensors")
            if isinstance(names, np.ndarray) and names.dtype == object:
                yield from (n for n in names.ravel() if isinstance(n, (str, bytes)))


class _Digest:
    """Collects values; each with its kind and length, so that no two sequences are alike."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._open: set[int] = set()  # on the way to here: a value may contain itself

    def digest(self) -> bytes:
        return self._hash.digest()

    def bytes(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        self._hash.update(len(view).to_bytes(8, "little"))
        self._hash.update(view)

    def text(self, text: str) -> None:
        self.bytes(text.encode("utf-8", "surrogatepass"))

    def file(self, name: Any) -> None:
        """Add the size and the time of the last change of a file."""
        self.add(os.fspath(name))
        try:
            stat = os.stat(name)  # noqa: PTH116
            self.add((stat.st_size, stat.st_mtime_ns))
        except OSError:
            self.text("missing")

    def add(self, value: Any) -> None:
        """Add any value: what it is made of, or no more than its type."""
        if id(value) in self._open or len(self._open) > _DEEPEST:
            self.text("again")
            return
        self._open.add(id(value))
        try:
            self._add(value)
        finally:
            self._open.discard(id(value))

    def _add(self, value: Any) -> None:
        kind = type(value)
        self.text(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(value, _SIMPLE):
            self.text(repr(value))
        elif isinstance(value, (np.ndarray, np.generic)):
            self._array(np.asarray(value))
        elif isinstance(value, np.dtype):
            self.text(value.str if value.fields is None else repr(value.descr))
        elif isinstance(value, (tuple, list)):
            self._all(value)
        elif isinstance(value, Mapping):
            self._all(item for pair in value.items() for item in pair)
        elif isinstance(value, (set, frozenset)):
            self._all(sorted(value, key=repr))
        elif isinstance(value, os.PathLike):
            self.text(os.fspath(value) if isinstance(os.fspath(value), str) else repr(value))
        elif isinstance(value, TensorSpec):
            self.text(repr(value))
        elif isinstance(value, Reader):
            self.text(value.kind)
            self.add(value.args)
        elif isinstance(value, NativeFunction):
            self.add(value.__wrapped__)
        elif hasattr(value, "_node") and hasattr(value, "_inputs"):
            self.text(fingerprint(value))
        else:
            self._object(value)

    def _object(self, value: Any) -> None:
        if isinstance(value, functools.partial):
            self._all((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self._all((value.__func__, value.__self__))
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, (type, types.BuiltinFunctionType, types.ModuleType, np.ufunc)):
            module = getattr(value, "__module__", "") or ""
            self.text(f"{module}.{getattr(value, '__qualname__', value.__name__)}")
        elif isinstance(value, types.CellType):
            try:
                self.add(value.cell_contents)
            except ValueError:
                self.text("empty")
        else:
            # An object of the user's: the methods that a call runs, and what it holds.
            for name in ("__call__", "__getitem__"):
                method = vars(type(value)).get(name)
                if isinstance(method, types.FunctionType):
                    self._function(method)
            self.add(getattr(value, "__dict__", {}))

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)
        self.text("end")

    def _array(self, array: np.ndarray[Any, Any]) -> None:
        self.text(f"{array.dtype.str} {array.shape}")
        if array.dtype.hasobject:
            self._all(array.ravel().tolist())
        elif array.size:
            self.bytes(np.ascontiguousarray(array).reshape(-1).view(np.uint8))

    def _function(self, function: types.FunctionType) -> None:
        code = function.__code__
        self._code(code)
        self._all((function.__defaults__, function.__kwdefaults__))
        self._all(function.__closure__ or ())
        for name in sorted(_names_of(code) & function.__globals__.keys()):
            self.text(name)
            self._global(function.__globals__[name], function.__module__)

    def _global(self, value: Any, module: Any) -> None:
        # Functions of the same module belong to the program; those of libraries only by name.
        if isinstance(value, types.FunctionType) and value.__module__ != module:
            self.text(f"{value.__module__}.{value.__qualname__}")
        elif isinstance(value, type) and value.__module__ == module:
            self.text(value.__qualname__)
            for name, member in sorted(vars(value).items()):
                if isinstance(member, (types.FunctionType, *_SIMPLE)) and name != "__module__":
                    self.text(name)
                    self.add(member)
        else:
            self.add(value)

    def _code(self, code: types.CodeType) -> None:
        self.bytes(code.co_code)
        self._all((code.co_names, code.co_varnames, code.co_freevars, code.co_flags))
        self._all(code.co_consts)


def _names_of(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _names_of(const)
    return names
