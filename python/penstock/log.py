"""Log messages of runs, through ``logging.getLogger("penstock")``; imported when needed."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.labels import innermost
from penstock.printable import printable

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger("penstock")
logger.addHandler(logging.NullHandler())

_MOST_LINES = 5  # maximum lines of a call stack


class Call(NamedTuple):
    """A running call, as reported by the engine."""

    text: str
    seconds: float
    thread: int | None  # its Python thread id
    called: Any
    worker: int | None  # the process id of its worker
    task: asyncio.Task[Any] | None  # the coroutine of the call, or the one its thread waits for


def inform(text: str) -> None:
    """Log a message at level INFO."""
    logger.info(printable(text))


def warn(text: str) -> None:
    """Log a warning; without a logging handler, issue a RuntimeWarning instead."""
    text = printable(text)
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
    calls: Sequence[tuple[Any, ...]],
    first: Mapping[str, tuple[str, int]],
    now: Mapping[str, tuple[str, int]],
) -> None:
    """Warn that an iterator has stalled.

    Parameters
    ----------
    dataset : str
        The name of the dataset, or "".
    patience : float
        `Options.stall_seconds`.
    seconds : float
        Time without a new element.
    watched : float
        The part of that time in which calls were observed.
    calls : sequence
        Running calls of user functions, as the fields of `Call`.
    first, now : dict
        Label and number of delivered elements of each stage, by path: soon after the wait began,
        and now.
    """
    # A call that has just begun cannot be the cause of the stall.
    long = [call for call in map(Call._make, calls) if call.seconds >= watched / 2]
    if long:
        # A running coroutine blocks all others.
        longest = max(long, key=lambda call: (_runs(call), call.seconds))
        what = _described(longest)
        others = len(long) - 1
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
    described = f"{call.text}, which has run for {call.seconds:.3g} s"
    if call.worker is not None:
        return f"{described} in worker process {call.worker}"
    lines: list[str] = []
    if call.task is not None and _frames_stay():
        # For an asynchronous generator, the task is a penstock coroutine that requests a value.
        made = getattr(call.called, "values", None)
        lines = _lines_of_coroutine(call.task.get_coro() if made is None else made)
    elif call.thread is not None and _frames_stay():
        lines = _lines(sys._current_frames().get(call.thread), _code_of(call.called))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], "...", lines[-1]]
    return f"{described}, at {' > '.join(lines)}" if lines else described


def _lines(frame: FrameType | None, first: CodeType | FrameType | None) -> list[str]:
    """Return the position in a function and in each function that it has called.

    `first` is the code of the function, or a frame to distinguish calls of the same code.
    """
    lines = []
    while frame is not None:
        lines.append(_position(frame))
        if frame is first or frame.f_code is first:
            return lines[::-1]
        frame = frame.f_back
    return []


def _lines_of_coroutine(coroutine: Any) -> list[str]:
    """Return the position in a coroutine or asynchronous generator and in those that it awaits."""
    lines: list[str] = []
    while (kind := _kind_of(coroutine)) is not None:
        frame: FrameType | None = getattr(coroutine, f"{kind}_frame")
        if frame is None:  # it has ended
            break
        if running := _lines(_of_loop(), frame):  # by frame: others may run the same code
            return lines + running
        if frame.f_globals.get("__name__") != "penstock.coroutines":
            lines.append(_position(frame))
        coroutine = getattr(coroutine, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")
    return lines


def _kind_of(coroutine: Any) -> str | None:
    """Return the prefix of a coroutine's attributes, or None for other objects."""
    return next((kind for kind in ("cr", "ag", "gi") if hasattr(coroutine, f"{kind}_frame")), None)


def _of_loop() -> FrameType | None:
    """Return the current frame of the event loop's thread."""
    from penstock import coroutines  # already imported if there is a coroutine

    ident = coroutines.thread_ident()
    return None if ident is None else sys._current_frames().get(ident)


def _frames_stay() -> bool:
    """Return whether frames of other threads can be read safely, which needs a GIL."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def _runs(call: Call) -> bool:
    return call.task is not None and bool(getattr(call.task.get_coro(), "cr_running", False))


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
    """Describe the stage that has stalled: the first one, from the end, whose inputs advance."""
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
