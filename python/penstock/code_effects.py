"""What a function does to the values that it refers to, as far as its bytecode shows."""

from __future__ import annotations

import dis
import functools
import sys
import types
from typing import NamedTuple

# A function that calls one of these, or stores into something, may change what it refers to.
CHANGING = frozenset(
    (
        *("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "fill"),
        *("insert", "pop", "popitem", "popleft", "put", "remove", "reverse", "rotate", "send"),
        *("setdefault", "sort", "update", "write", "writelines", "__next__", "__setitem__"),
    )
)
_STORING = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR", "STORE_SLICE")
_REBINDING = ("STORE_DEREF", "STORE_GLOBAL", "DELETE_DEREF", "DELETE_GLOBAL")
_READING = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR")
_LOADING = ("LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_DEREF")
_MARKS_METHODS = sys.version_info >= (3, 12)  # in the lowest bit of LOAD_ATTR
_NULL_AFTERWARDS = sys.version_info >= (3, 13)  # on the stack of a call, beside what is called
_MOST_KNOWN = 4096


class Effects(NamedTuple):
    """What a function, with those inside it, does."""

    changes: bool  # it may store into values that it refers to
    rebound: frozenset[str]  # variables around it that it assigns
    attributes: frozenset[str]  # that it assigns, of whatever object
    # Variables and attributes of whose values it uses more than attributes.
    handed_on: frozenset[str]


@functools.lru_cache(_MOST_KNOWN)
def effects_of(code: types.CodeType) -> Effects:
    """Return what code does, with the functions inside it."""
    changes = not CHANGING.isdisjoint(code.co_names)
    rebound: set[str] = set()
    attributes: set[str] = set()
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for step in steps:
        if step.opname in _STORING:
            changes = True
            if step.opname == "STORE_ATTR":
                attributes.add(step.argval)
        elif step.opname in _REBINDING:
            rebound.add(step.argval)
        elif step.opname == "LOAD_GLOBAL" and step.argval == "next":
            changes = True
    handed_on = _handed_on(code, steps)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            inner = effects_of(const)
            changes = changes or inner.changes
            rebound |= inner.rebound
            attributes |= inner.attributes
            handed_on |= inner.handed_on
    return Effects(changes, *map(frozenset, (rebound, attributes, handed_on)))


def _handed_on(code: types.CodeType, steps: list[dis.Instruction]) -> set[str]:
    """Return the names whose values are not only called or asked for attributes."""
    found: set[str] = set()
    cells = {*code.co_cellvars, *code.co_freevars}
    for before, step, after in zip([None, *steps], steps, [*steps[1:], None], strict=False):
        if "LOAD_FAST" in step.opname:  # of two variables at once, as well
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            # Cells are loaded like this only to be given to an inner function.
            loaded = [name for name in names if name not in cells]
        elif step.opname in (*_LOADING, "LOAD_ATTR"):
            loaded = [step.argval]
        else:
            continue
        asked = after is not None and after.opname in _READING
        found.update(loaded[:-1] if asked or _is_called(before, step, after) else loaded)
    return found


def _is_called(
    before: dis.Instruction | None, step: dis.Instruction, after: dis.Instruction | None
) -> bool:
    marked = ("LOAD_GLOBAL", "LOAD_ATTR") if _MARKS_METHODS else ("LOAD_GLOBAL",)
    if step.opname in marked and (step.arg or 0) & 1:
        return True
    beside = after if _NULL_AFTERWARDS else before
    return beside is not None and beside.opname == "PUSH_NULL"
