"""The global names that a function looks up, and how it uses them."""

from __future__ import annotations

import dis
import functools
import sys
import types

_MAX_CACHED = 4096
_READING = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR")
_OF_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_LOADING = (*_OF_GLOBALS, "LOAD_DEREF", "LOAD_FROM_DICT_OR_DEREF")
_MARKS_METHODS = sys.version_info >= (3, 12)  # by the lowest bit of LOAD_ATTR
_NULL_AFTERWARDS = sys.version_info >= (3, 13)  # in calls, NULL follows the callable


@functools.lru_cache(_MAX_CACHED)
def names_of(code: types.CodeType) -> frozenset[str]:
    """Return the global names and attributes that code and the functions inside it use."""
    return frozenset(code.co_names).union(*map(names_of, _inside(code)))


@functools.lru_cache(_MAX_CACHED)
def globals_of(code: types.CodeType) -> frozenset[str]:
    """Return the global variables that code and the functions inside it read.

    Attributes are in `names_of` instead, even if a global variable has the same name.
    """
    found = {step.argval for step in dis.get_instructions(code) if step.opname in _OF_GLOBALS}
    return frozenset(found).union(*map(globals_of, _inside(code)))


@functools.lru_cache(_MAX_CACHED)
def passed_on(code: types.CodeType) -> frozenset[str]:
    """Return the names whose whole values are used, beyond calls and attribute reads.

    The result is empty for ``config.scale`` and ``config.get()``. It contains ``config`` for
    ``helper(config)`` and ``config[0]``.
    """
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    found: set[str] = set()
    cells = {*code.co_cellvars, *code.co_freevars}
    for before, step, after in zip([None, *steps], steps, [*steps[1:], None], strict=False):
        if "LOAD_FAST" in step.opname:  # some load two variables
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            # This loads a cell only to pass it to an inner function.
            loaded = [name for name in names if name not in cells]
        elif step.opname in (*_LOADING, "LOAD_ATTR"):
            loaded = [step.argval]
        else:
            continue
        read = after is not None and after.opname in _READING
        found.update(loaded[:-1] if read or _is_called(before, step, after) else loaded)
    return frozenset(found).union(*map(passed_on, _inside(code)))


@functools.lru_cache(_MAX_CACHED)
def used_whole(code: types.CodeType) -> frozenset[str]:
    """Return the variables that code uses beyond reading their attributes."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    found = {
        step.argval
        for step, after in zip(steps, [*steps[1:], None], strict=True)
        if step.opname in _LOADING and (after is None or after.opname not in _READING)
    }
    return frozenset(found).union(*map(used_whole, _inside(code)))


def _inside(code: types.CodeType) -> list[types.CodeType]:
    """Return the code of the functions that code defines."""
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


def _is_called(
    before: dis.Instruction | None, step: dis.Instruction, after: dis.Instruction | None
) -> bool:
    marked = ("LOAD_GLOBAL", "LOAD_ATTR") if _MARKS_METHODS else ("LOAD_GLOBAL",)
    if step.opname in marked and (step.arg or 0) & 1:
        return True
    null = after if _NULL_AFTERWARDS else before
    return null is not None and null.opname == "PUSH_NULL"
