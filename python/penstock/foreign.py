"""Names for the dict keys and classes that elements are made of, for files of elements."""

from __future__ import annotations

import ast
import importlib
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

# Of this process: classes that cannot be imported are told apart by where they lie in memory.
_LOCAL: dict[str, Any] = {}


def name_of(what: str, foreign: Any, fields: tuple[str, ...]) -> str:
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
    str
        Its name; "" if no file can hold it.
    """
    if what == "dict":
        text = repr(foreign)
        return text if _is_literal(foreign) and _same(ast.literal_eval(text), foreign) else ""
    path = f"{foreign.__module__}:{foreign.__qualname__}"
    name = "\n".join((path, *fields))
    if _imported(path) is foreign:
        return name
    # Another process makes a named tuple of the same fields; this one knows the class itself.
    name += f"\n@{id(foreign):x}"
    _LOCAL[name] = foreign
    return name


def find(what: str, name: str, fields: tuple[str, ...]) -> Any:
    """Find what `name_of` has named, in this process or another one.

    Parameters
    ----------
    what : {"dict", "tuple", "record"}
        What kind of structure it belongs to.
    name : str
        What `name_of` returned.
    fields : tuple of str
        The names of its fields.

    Returns
    -------
    tuple or type or None
        The keys or the class; None if there is none. A named tuple whose class cannot be imported
        gets one of the same name and fields.
    """
    if what == "dict":
        return ast.literal_eval(name)
    path = name.split("\n")[0]
    local = "@" in name.split("\n")[-1]
    if name in _LOCAL:
        return _LOCAL[name]
    found = None if local else _imported(path)
    if isinstance(found, type) and set(_fields_of(found)) == set(fields):
        return found
    if what == "record":
        return None
    made = namedtuple(path.rpartition(":")[2].rpartition(".")[2], fields)  # type: ignore[misc]
    return _LOCAL.setdefault(name, made)


def _imported(path: str) -> Any:
    module, _, qualname = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        return None
    return found


def _fields_of(cls: type) -> Iterable[str]:
    attributes = getattr(cls, "__attrs_attrs__", None)
    if attributes is not None:
        return [attribute.name for attribute in attributes]
    fields: Iterable[str] = getattr(cls, "_fields", getattr(cls, "__dataclass_fields__", ()))
    return list(fields)


def _is_literal(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_literal, value))
    return type(value) in (str, bytes, int, bool, float, complex, type(None))


def _same(a: Any, b: Any) -> bool:
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)
