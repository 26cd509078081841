"""Names of dict keys and classes in the structure of elements, for files of elements."""

from __future__ import annotations

import ast
import re
import sys
import weakref
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

# Classes by the names that files written by this process use. References are weak here and below,
# so that unused classes are freed.
_LOCAL: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
# Classes that callers passed for elements of files, by the last component of their names.
_GIVEN: dict[str, list[weakref.ref[type]]] = {}

_DEEPEST = 20
# A string, bytes, number or constant as a Python literal, without nesting.
_ATOM = re.compile(
    r"""b?'(?:[^'\\]|\\.)*' | b?"(?:[^"\\]|\\.)*"
    | \(-?[0-9.e+]+[+-][0-9.e+-]+j\) | -?[0-9][0-9.e+-]*j? | None | True | False""",
    re.VERBOSE,
)


def name_of(what: str, foreign: Any, fields: tuple[str, ...]) -> tuple[str, bool]:
    """Return a name for a tuple of dict keys, or a class, by which `find` finds it.

    Parameters
    ----------
    what : {"dict", "tuple", "record"}
        The kind of structure.
    foreign : tuple or type
        The keys of the dict, or the class.
    fields : tuple of str
        The names of its fields.

    Returns
    -------
    name : str
        The name. "" if files cannot store it.
    lasting : bool
        Whether the name can be cached for the lifetime of the process at no cost. This holds for
        literal keys, and for a class that its module has under its name, if it was the first with
        that name.
    """
    if what == "dict":
        text = repr(foreign)
        literal = _is_literal(foreign) and _same(_keys_of(text), foreign)
        return (text, True) if literal else ("", False)
    name = "\n".join((f"{foreign.__module__}:{foreign.__qualname__}", *fields))
    if _LOCAL.setdefault(name, foreign) is not foreign:
        name += f"\n@{id(foreign):x}"  # another class has the name
        _LOCAL[name] = foreign
        return name, False
    return name, _is_of_module(foreign)


def give(stage: str, structures: Iterable[type] | None) -> None:
    """Register classes for elements of files.

    Parameters
    ----------
    stage : str
        The stage with the argument, for errors.
    structures : iterable of type, optional
        Named tuples, dataclasses and attrs classes. They are registered for the whole process, as
        long as they are referenced elsewhere.
    """
    if structures is None:
        return
    for own in [own for own, known in _GIVEN.items() if all(ref() is None for ref in known)]:
        del _GIVEN[own]
    for cls in structures:
        if not isinstance(cls, type) or _kind_of(cls) is None:
            raise TypeError(
                f"{stage}: structures must be a list of named tuples, dataclasses and attrs "
                f"classes, got {cls!r} in it"
            )
        alive = [known for known in _GIVEN.get(cls.__name__, ()) if known() not in (None, cls)]
        _GIVEN[cls.__name__] = [weakref.ref(cls), *alive]  # the latest registration takes priority


def find(what: str, name: str, fields: tuple[str, ...]) -> Any:
    """Return the keys or the class with a name from `name_of`, of this process or another.

    Parameters
    ----------
    what : {"dict", "tuple", "record"}
        The kind of structure.
    name : str
        A result of `name_of`, or any other text in a file.
    fields : tuple of str
        The names of the fields.

    Returns
    -------
    tuple or type or None
        The keys or the class with these fields, or None. Nothing is imported. For a named tuple of
        an unknown class, a class with the same name and fields is created.
    """
    if what == "dict":
        keys = _keys_of(name)
        texts = None if keys is None else tuple(k if isinstance(k, str) else repr(k) for k in keys)
        return keys if texts == fields and len(set(keys or ())) == len(fields) else None
    own = name.split("\n")[0].rpartition(":")[2].rpartition(".")[2]
    for cls in (_LOCAL.get(name), *(known() for known in _GIVEN.get(own, ()))):
        if cls is not None and _kind_of(cls) == what and _has_fields(cls, fields):
            return cls
    if what == "record":
        return None
    try:
        made = namedtuple(own, fields)  # type: ignore[misc]
    except (TypeError, ValueError):
        return None
    return _LOCAL.setdefault(name, made) if name not in _LOCAL else made


def _is_of_module(cls: type) -> bool:
    found: Any = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _kind_of(cls: type) -> str | None:
    if issubclass(cls, tuple):
        return "tuple" if isinstance(getattr(cls, "_fields", None), tuple) else None
    if hasattr(cls, "__dataclass_fields__") or hasattr(cls, "__attrs_attrs__"):
        try:
            object.__new__(cls)  # elements are created without __init__
        except TypeError:
            return None
        return "record"
    return None


def _has_fields(cls: Any, fields: tuple[str, ...]) -> bool:
    if issubclass(cls, tuple):
        return bool(cls._fields == fields)
    attributes = getattr(cls, "__attrs_attrs__", None)
    own = cls.__dataclass_fields__ if attributes is None else [a.name for a in attributes]
    return len(set(own)) == len(fields) and set(own) == set(fields)


def _keys_of(text: str) -> tuple[Any, ...] | None:
    """Parse a tuple of literals; None for anything else. Nothing is evaluated except atoms."""
    try:
        value, end = _read(text, 0, 0)
    except (ValueError, SyntaxError, IndexError, MemoryError, RecursionError):
        return None
    return value if type(value) is tuple and end == len(text) else None


def _read(text: str, at: int, depth: int) -> tuple[Any, int]:
    atom = _ATOM.match(text, at)
    if atom:
        return ast.literal_eval(atom[0]), atom.end()
    if text[at] != "(" or depth > _DEEPEST:
        raise ValueError("no literal")
    items: list[Any] = []
    at += 1
    while text[at] != ")":
        item, at = _read(text, at, depth + 1)
        items.append(item)
        if text[at] == "," and text[at + 1] in " )":
            at += 2 if text[at + 1] == " " else 1
        elif text[at] != ")" or len(items) < 2:
            raise ValueError("no tuple")
    return tuple(items), at + 1


def _is_literal(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_literal, value))
    return type(value) in (str, bytes, int, bool, float, complex, type(None))


def _same(a: Any, b: Any) -> bool:
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)
