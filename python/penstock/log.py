"""What runs log, through ``logging.getLogger("penstock")``; imported with the first text."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from penstock.labels import innermost

logger = logging.getLogger("penstock")
logger.addHandler(logging.NullHandler())

_MOST_LINES = 5  # that say where a function stands

# A call as the engine sees it: text, seconds, Python's id of its thread or None, what is called or
# None, the worker process or None.
Call = tuple[str, float, int | None, Any, int | None]


def inform(text: str) -> None:
    """Log what a user may want to know."""
    logger.info(text)


def warn(text: str) -> None:
    """Log what a user should know; where logging has no handler for it, it is a RuntimeWarning."""
    if _is_heard():
        logger.warning(text)
    else:
        warnings.warn(f"penstock: {text}", RuntimeWarning, stacklevel=2)


def _is_heard() -> bool:
    found: logging.Logger | None = logger
    while found is not None:
        if any(not isinstance(each, logging.NullHandler) for each in found.handlers):
            return True
        found = found.parent if found.propagate else None
    return False


def tell_stall(
    dataset: str,
    patience: float,
    seconds: float,
    watched: float,
    calls: Sequence[Call],
    first: Mapping[str, tuple[str, int]],
    now: Mapping[str, tuple[str, int]],
) -> None:
    """Warn that an iterator gives nothing.

    Parameters
    ----------
    dataset : str
        The name of the dataset, or "".
    patience : float
        `Options.stall_seconds`.
    seconds : float
        For how long nothing has come.
    watched : float
        For how long of that the calls were looked at.
    calls : sequence
        The calls of the user's functions that run now.
    first, now : dict
        What the stages are called and how many elements they had given, by path: soon after the
        wait began, and now.
    """
    longest = max(calls, key=lambda call: call[1], default=None)
    # A call that has just begun is not what everything waits for.
    if longest is not None and longest[1] >= watched / 2:
        what = _described(longest)
        others = sum(call[1] >= watched / 2 for call in calls) - 1
        if others:
            what += f" ({others} more calls run as long)" if others > 1 else " (as does 1 more)"
    else:
        what = _idle_stage(first, now)
    text = (
        f"no element has come for {seconds:.3g} s: everything waits for {what}; this is said once "
        f"for each wait of Options.stall_seconds ({patience:g} s)"
    )
    warn(f"dataset {dataset}: {text}" if dataset else text)


def _described(call: Call) -> str:
    text, seconds, thread, called, worker = call
    described = f"{text}, which has run for {seconds:.3g} s"
    if worker is not None:
        return f"{described} in worker process {worker}"
    frame = sys._current_frames().get(thread) if thread is not None else None
    return described + _line(frame, _code_of(called))


def _line(frame: FrameType | None, code: CodeType | None) -> str:
    """Return where a function stands, and where those stand that it has called."""
    lines = []
    while frame is not None:
        lines.append(_position(frame))
        if frame.f_code is code:
            shown = lines[::-1]
            if len(shown) > _MOST_LINES:
                shown = [*shown[: _MOST_LINES - 1], "...", shown[-1]]
            return f", at {' > '.join(shown)}"
        frame = frame.f_back
    return ""


def _position(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def _code_of(called: Any) -> CodeType | None:
    function = innermost(called)
    for name in ("__code__", "gi_code"):
        code = getattr(function, name, None)
        if isinstance(code, CodeType):
            return code
    for method in ("__call__", "__next__", "__getitem__"):
        code = getattr(getattr(type(function), method, None), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def _idle_stage(first: Mapping[str, tuple[str, int]], now: Mapping[str, tuple[str, int]]) -> str:
    """Return the stage that has given nothing, although those before it may have."""
    path = "0"
    while True:
        inputs = {each for each in now if each.rpartition(".")[0] == path}
        moved = {each for each in inputs if now[each][1] > first.get(each, ("", 0))[1]}
        if moved or not inputs:
            break
        path = min(inputs, key=lambda each: (now[each][1], each))
    text = now[path][0] if path in now else "the first stage"
    if not moved:
        return f"{text}, which has given nothing"
    taken = sum(now[each][1] - first.get(each, ("", 0))[1] for each in moved)
    return f"{text}, which has taken {taken:,} elements meanwhile and given none"
