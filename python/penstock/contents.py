"""The contents of values, for digests: attributes, or what pickle would write."""

from __future__ import annotations

import copyreg
import functools
import marshal
import os
import random
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# Their contents change with every use, and their random numbers are not part of a pipeline.
_VARYING = (random.Random, types.ModuleType)
_VARYING_OF_NUMPY = ("Generator", "RandomState", "BitGenerator")  # of numpy.random
# Packages whose objects are part of the process, not of the data.
_OF_THE_PROCESS = frozenset(
    (
        *("_queue", "_thread", "_weakref", "_weakrefset", "asyncio", "concurrent", "logging"),
        *("multiprocessing", "queue", "socket", "threading", "weakref"),
    )
)
_CONTAINERS = frozenset((list, tuple, set, frozenset, dict))
_TEXTS = frozenset((str, bytes))
_PLAIN = _CONTAINERS | _TEXTS | {type(None), bool, int, float, complex}
_MANY = 1000  # containers at one depth
_DEEPEST_PLAIN = 50

# Class members that describe attributes of instances or are implemented in C.
_DESCRIPTORS = (
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType),
)


def varies(value: Any) -> bool:
    """Return whether the contents of a value change with every use, or with every process."""
    if type(value).__module__.partition(".")[0] in _OF_THE_PROCESS or value is os.environ:
        return True
    if isinstance(value, Iterator) and not hasattr(value, "__dict__"):
        return True
    if isinstance(value, _VARYING):
        return True
    # Values of these types exist only if numpy.random is loaded. Importing it takes 6 MB.
    numpys = sys.modules.get("numpy.random")
    return numpys is not None and any(
        isinstance(value, getattr(numpys, name, ())) for name in _VARYING_OF_NUMPY
    )


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an instance, including those in ``__slots__``."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{cls.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def member_of(cls: type, name: str) -> Any:
    """Return a member of a class, own or inherited, or None."""
    return next((vars(each)[name] for each in cls.__mro__ if name in vars(each)), None)


def members_of(cls: type) -> dict[str, Any]:
    """Return the functions and values in the body of a class, without its special names."""
    return {
        name: member
        for name, member in sorted(vars(cls).items())
        if not isinstance(member, _DESCRIPTORS)
        # Special names without a function are set by Python, such as the module of the class.
        and not (name[:1] == name[-1:] == "_" and function_of(member) is None)
    }


def function_of(member: Any) -> types.FunctionType | None:
    """Return the function that runs when a member of a class is called or read."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, functools.cached_property):
        member = member.func
    elif isinstance(member, (classmethod, staticmethod, types.MethodType)):
        member = member.__func__
    elif not isinstance(member, (type, types.FunctionType)):
        member = getattr(member, "__dict__", {}).get("__wrapped__", member)
    return member if isinstance(member, types.FunctionType) else None


@functools.cache
def is_a_library(module: str) -> bool:
    """Return whether a module is an installed library, not part of the program."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names or package in ("numpy", "penstock"):
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def marshalled(value: Any, most: int) -> bytes | None:
    """Serialise a container of plain values; equal contents have equal bytes.

    Parameters
    ----------
    value : list, tuple, set, frozenset or dict
        Exactly one of these types, not a subclass; the same applies to nested containers.
    most : int
        The maximum number of values, including those in nested containers.

    Returns
    -------
    bytes or None
        None if there are more values, or values of other types.
    """
    if type(value) not in _CONTAINERS or not _is_plain(value, most):
        return None
    # The newest format that ignores object identity. It sorts sets.
    return marshal.dumps(value, 2)


def _is_plain(value: Any, most: int) -> bool:
    """Return whether all values in a container, at any depth, are plain."""
    level = [value]
    for _ in range(_DEEPEST_PLAIN):
        most -= sum(map(len, level))
        if most < 0:
            return False
        items: list[Any] = []
        for each in level:
            items.extend(each)
            if type(each) is dict:
                items.extend(each.values())
        kinds = set(map(type, items))
        if not kinds <= _PLAIN:
            return False
        if kinds.isdisjoint(_CONTAINERS):
            return True
        level = [item for item in items if type(item) in _CONTAINERS]
        # Leave containers with many references to the digest, which examines each once.
        if len(level) > _MANY and len(set(map(id, level))) < len(level) / 2:
            return False
    return False


def is_of_a_table(value: Any) -> bool:
    """Return whether a value is a pandas, Polars or Arrow object; their attributes hold caches."""
    return type(value).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")


def some_rows(table: Any, positions: Iterable[int]) -> Any:
    """Return some rows of a table as a shorter table; other values are unchanged."""
    rows = list(positions)
    if type(table).__name__ not in ("DataFrame", "Series", "Table", "ChunkedArray"):
        return table
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table.take(rows) if hasattr(table, "take") else table[rows]


def reduction_of(value: Any) -> Any:
    """Return the data that pickle would write of a value, or None if it varies.

    Parameters
    ----------
    value : object
        A value of any type.

    Returns
    -------
    object
        Nested tuples: the callable that recreates the value, its arguments, and its state; for
        buffers the format, shape and bytes.
    """
    if isinstance(value, (bytearray, memoryview)):
        view = memoryview(value)
        return view.format, view.shape, view.tobytes()
    if varies(value):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
            if isinstance(reduced, str):
                return reduced
            made, args, state, items, pairs = (*reduced, None, None, None)[:5]
            return made, args, state, items and list(items), pairs and list(pairs)
    except Exception:
        # A type may raise anything; then only its type is known.
        return None
