"""What values consist of, for digests: attributes, and what pickle would write of the others."""

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

# What they hold changes with every use; which numbers they give does not belong to a pipeline.
_VARYING = (random.Random, types.ModuleType)
_VARYING_OF_NUMPY = ("Generator", "RandomState", "BitGenerator")  # of numpy.random
# Packages whose objects belong to the process, and not to the data.
_OF_THE_PROCESS = frozenset(
    (
        *("_queue", "_thread", "_weakref", "_weakrefset", "asyncio", "concurrent", "logging"),
        *("multiprocessing", "queue", "socket", "threading", "weakref"),
    )
)
_CONTAINERS = frozenset((list, tuple, set, frozenset, dict))
_TEXTS = frozenset((str, bytes))
_PLAIN = _CONTAINERS | _TEXTS | {type(None), bool, int, float, complex}
_MANY = 1000  # containers on one level
_DEEPEST_PLAIN = 50

# Members of a class for what its objects hold, and for what C code does.
_DESCRIPTORS = (
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType),
)


def varies(value: Any) -> bool:
    """Return whether what a value holds changes with every use, or with every process."""
    if type(value).__module__.partition(".")[0] in _OF_THE_PROCESS or value is os.environ:
        return True
    if isinstance(value, Iterator) and not hasattr(value, "__dict__"):
        return True
    if isinstance(value, _VARYING):
        return True
    # No value is of them before their module is loaded, which takes 6 MB.
    numpys = sys.modules.get("numpy.random")
    return numpys is not None and any(
        isinstance(value, getattr(numpys, name, ())) for name in _VARYING_OF_NUMPY
    )


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes that an object has of its own, those of ``__slots__`` among them."""
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
    """Return what a class has by a name, itself or inherited; None if nothing."""
    return next((vars(each)[name] for each in cls.__mro__ if name in vars(each)), None)


def members_of(cls: type) -> dict[str, Any]:
    """Return what the body of a class says: its functions and values, without its names."""
    return {
        name: member
        for name, member in sorted(vars(cls).items())
        if not isinstance(member, _DESCRIPTORS)
        # Data with such names is Python's: where the class stands, and what it has made of it.
        and not (name[:1] == name[-1:] == "_" and function_of(member) is None)
    }


def function_of(member: Any) -> types.FunctionType | None:
    """Return what runs when a member of a class is called or read."""
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
    """Return whether a module is installed, and none of the program's own."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names or package in ("numpy", "penstock"):
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def marshalled(value: Any, most: int) -> bytes | None:
    """Return a container of plain values as bytes: equal ones for equal contents.

    Parameters
    ----------
    value : list, tuple, set, frozenset or dict
        Exactly one of these types, not a subclass; the same applies to nested containers.
    most : int
        The maximum number of values, including those in nested containers.

    Returns
    -------
    bytes or None
        None if it holds more values, or values of other types.
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
    """Return whether a value is of pandas, Polars or Arrow; their attributes hold caches."""
    return type(value).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")


def some_rows(table: Any, positions: Iterable[int]) -> Any:
    """Return some rows of a table as a short one; what is no table as it is."""
    rows = list(positions)
    if type(table).__name__ not in ("DataFrame", "Series", "Table", "ChunkedArray"):
        return table
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table.take(rows) if hasattr(table, "take") else table[rows]


def reduction_of(value: Any) -> Any:
    """Return what pickle would write of a value, as nested tuples, or None where it varies.

    Parameters
    ----------
    value : object
        Of any type.

    Returns
    -------
    object
        Of the callable that makes it again, its arguments, and what is set afterwards; for buffers
        their format, shape and bytes.
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
        # A type may refuse in any way: then nothing is known of the value but its type.
        return None
