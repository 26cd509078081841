"""Find the function that a frame is calling, if its code shows it."""

from __future__ import annotations

import dis
from types import FrameType, ModuleType
from typing import Any

import numpy as np

# NumPy functions that dispatch on the classes of their arguments. They use the class only to decide
# which implementation comes first, as isinstance does.
_DISPATCHED = type(np.concatenate)
_UNKNOWN = object()


def calls_numpy(frame: FrameType) -> bool:
    """Return whether a frame is calling such a function by name (``np.concatenate``)."""
    return isinstance(_called(frame), _DISPATCHED)


def _called(frame: FrameType) -> Any:
    """Return the callee; `_UNKNOWN` unless it is a name, or an attribute of a module."""
    instructions = list(dis.get_instructions(frame.f_code))
    at = next((i for i, each in enumerate(instructions) if each.offset == frame.f_lasti), None)
    if at is None or not instructions[at].opname.startswith("CALL"):
        return _UNKNOWN
    start = _start(instructions[at])
    found: Any = _UNKNOWN
    # The callee starts at the same position as the call.
    for each in instructions[:at]:
        if start is None or _start(each) != start or not each.opname.startswith("LOAD_"):
            continue
        if each.opname == "LOAD_CONST":  # the names of keyword arguments, part of the call
            continue
        if each.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
            known = isinstance(found, ModuleType)
            found = getattr(found, each.argval, _UNKNOWN) if known else _UNKNOWN
        else:
            found = _value_of(frame, each.argval)
    return found


def _start(instruction: dis.Instruction) -> tuple[int, int] | None:
    place = instruction.positions
    if place is None or place.lineno is None or place.col_offset is None:
        return None
    return place.lineno, place.col_offset


def _value_of(frame: FrameType, name: Any) -> Any:
    for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if isinstance(name, str) and name in names:
            return names[name]
    return _UNKNOWN
