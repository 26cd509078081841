"""Comparison of a native function's results with those of the plain function."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.errors import TraceError


def comparison(name: str) -> Callable[[int, Any, Any], None]:
    """Return a comparison of results; it refers to nothing but the name of the function."""
    return functools.partial(_compare, name)


def _compare(name: str, index: int, made: Any, wanted: Any) -> None:
    failed = [isinstance(value, BaseException) for value in (made, wanted)]
    if all(failed):
        return
    if any(failed):
        which = ("the program", "the plain function")
        found = f"{which[failed.index(True)]} alone raises {(made if failed[0] else wanted)!r}"
    else:
        found = next(_differences(made, wanted, ""), "")
    if found:
        raise TraceError(
            f"{name}: element {index} is not that of the plain function: {found}; drop @ps.native "
            "to run it as Python"
        )


def _differences(made: Any, wanted: Any, leaf: str) -> Iterator[str]:
    """Describe the differences of two nested values."""
    place = f"at {leaf}: " if leaf else ""
    if type(made) is not type(wanted):
        yield f"{place}{_short(made)} of type {type(made).__name__}, not {_short(wanted)}"
    elif isinstance(wanted, (np.ndarray, np.generic)):
        yield from _of_arrays(np.asarray(made), np.asarray(wanted), place)
    elif isinstance(wanted, dict):
        if set(made) != set(wanted):
            yield f"{place}the keys {list(made)}, not {list(wanted)}"
        for key in wanted:
            yield from _differences(made[key], wanted[key], f"{leaf}[{key!r}]")
    elif isinstance(wanted, tuple):
        if len(made) != len(wanted):
            yield f"{place}{len(made)} values, not {len(wanted)}"
        for i, (part, its) in enumerate(zip(made, wanted, strict=False)):
            yield from _differences(part, its, f"{leaf}[{i}]")
    elif dataclasses.is_dataclass(wanted):
        for field in dataclasses.fields(wanted):
            part, its = getattr(made, field.name), getattr(wanted, field.name)
            yield from _differences(part, its, f"{leaf}.{field.name}")
    elif made is not wanted and made != wanted:
        yield f"{place}{_short(made)}, not {_short(wanted)}"


def _of_arrays(made: Any, wanted: Any, place: str) -> Iterator[str]:
    if made.dtype != wanted.dtype:
        yield f"{place}dtype {made.dtype}, not {wanted.dtype}"
    elif made.shape != wanted.shape:
        yield f"{place}shape {made.shape}, not {wanted.shape}"
    elif made.dtype.hasobject:
        for where in np.ndindex(wanted.shape):
            item = f"{place}item {where} is " if where else place
            yield from (item + found for found in _differences(made[where], wanted[where], ""))
    elif (different := _unequal(made, wanted)).any():
        where = tuple(int(i) for i in np.argwhere(different)[0])
        item = f"item {where} is " if where else ""
        more = f", and {different.sum() - 1} others differ" if different.sum() > 1 else ""
        yield f"{place}{item}{made[where]!r}, not {wanted[where]!r}{more}"


def _unequal(made: Any, wanted: Any) -> Any:
    """Return which items differ in any bit; all NaNs are equal."""
    one, two = (np.ascontiguousarray(each).reshape(-1) for each in (made, wanted))
    if not one.size:
        return np.zeros(made.shape, bool)
    if one.dtype in (np.longdouble, np.clongdouble):  # these have padding bits
        different = one != two
    else:
        bits = (each.view(np.uint8).reshape(each.size, -1) for each in (one, two))
        different = np.not_equal(*bits).any(axis=1)
    if one.dtype.kind in "fc":
        different &= ~(np.isnan(one) & np.isnan(two))
    return different.reshape(made.shape)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
