"""Names for the dict keys and classes that elements are made of, for files of elements."""

from __future__ import annotations

import ast
import re
import sys
import weakref
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

# Of this process: classes by the names that files of it have for them. Here and below a class that
# no one else has any more is let go of.
_LOCAL: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
# By the last component of their name: the classes that a caller has given for elements of files.
_GIVEN: dict[str, list[weakref.ref[type]]] = {}

_DEEPEST = 20
# One string, bytes, number or name as Python writes it, without what nests.
_ATOM = re.compile(
    r"""b?'(?:[^'\\]|\\.)*' | b?"(?:[^"\\]|\\.)*"
    | \(-?[0-9.e+]+[+-][0-9.e+-]+j\) | -?[0-9][0-9.e+-]*j? | None | True | False""",
    re.VERBOSE,
)


def name_of(what: str, foreign: Any, fields: tuple[str, ...]) -> tuple[str, bool]:
    """Name a tuple of dict keys, or a class, so that `find` finds it again.

    Parameters
    ----------
    what : {"dict", "tuple", "record"}
        What kind of structure it belongs to.
    foreign : tuple or type
        The keys of the dict, or the class.
    fields : tuple of str
        The names of its fields.

    Returns
    -------
    name : str
        Its name; "" if no file can hold it.
    lasting : bool
        Whether it costs nothing to keep it as long as the process: literal keys, and a class that a
        module has under its name, the first one of that name.
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
    """Let files have elements of these classes.

    Parameters
    ----------
    stage : str
        Whose argument it is, for errors.
    structures : iterable of type, optional
        Named tuples, dataclasses and attrs classes. They are given to the whole process, while
        they are referred to.
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
        _GIVEN[cls.__name__] = [weakref.ref(cls), *alive]  # the last one given comes first


def find(what: str, name: str, fields: tuple[str, ...]) -> Any:
    """Find what `name_of` has named, in this process or another one.

    Parameters
    ----------
    what : {"dict", "tuple", "record"}
        What kind of structure it belongs to.
    name : str
        What `name_of` returned, or anything else that a file holds.
    fields : tuple of str
        The names of its fields.

    Returns
    -------
    tuple or type or None
        The keys or the class, which has these fields; None if there is none. Nothing is imported.
        A named tuple whose class is not known gets one of the same name and fields.
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
            object.__new__(cls)  # elements are made past __init__
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
    """Read a tuple of literals; None for anything else. Nothing in it is evaluated as a whole."""
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
