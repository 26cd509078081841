"""What runs log, through ``logging.getLogger("penstock")``; imported with the first text."""

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

_MOST_LINES = 5  # that say where a function stands


class Call(NamedTuple):
    """A call as the engine sees it."""

    text: str
    seconds: float
    thread: int | None  # Python's id of it
    called: Any
    worker: int | None  # the process that makes it
    task: asyncio.Task[Any] | None  # the coroutine that it is, or that its thread waits for


def inform(text: str) -> None:
    """Log what a user may want to know."""
    logger.info(printable(text))


def warn(text: str) -> None:
    """Log what a user should know; where logging has no handler for it, it is a RuntimeWarning."""
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
        The calls of the user's functions that run now, as `Call` has them.
    first, now : dict
        What the stages are called and how many elements they had given, by path: soon after the
        wait began, and now.
    """
    # A call that has just begun is not what everything waits for.
    long = [call for call in map(Call._make, calls) if call.seconds >= watched / 2]
    if long:
        # A coroutine that runs keeps all others from going on.
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
        # Of an asynchronous generator the task is one of penstock's that asks for its next value.
        made = getattr(call.called, "values", None)
        lines = _lines_of_coroutine(call.task.get_coro() if made is None else made)
    elif call.thread is not None and _frames_stay():
        lines = _lines(sys._current_frames().get(call.thread), _code_of(call.called))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], "...", lines[-1]]
    return f"{described}, at {' > '.join(lines)}" if lines else described


def _lines(frame: FrameType | None, first: CodeType | FrameType | None) -> list[str]:
    """Return where a function stands, and where those stand that it has called.

    `first` is the function's code, or the frame of one of several calls of the same code.
    """
    lines = []
    while frame is not None:
        lines.append(_position(frame))
        if frame is first or frame.f_code is first:
            return lines[::-1]
        frame = frame.f_back
    return []


def _lines_of_coroutine(coroutine: Any) -> list[str]:
    """Return where a coroutine or asynchronous generator stands, and what it awaits."""
    lines: list[str] = []
    while (kind := _kind_of(coroutine)) is not None:
        frame: FrameType | None = getattr(coroutine, f"{kind}_frame")
        if frame is None:  # it has ended
            break
        if running := _lines(_of_loop(), frame):  # others may run the same code
            return lines + running
        if frame.f_globals.get("__name__") != "penstock.coroutines":
            lines.append(_position(frame))
        coroutine = getattr(coroutine, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")
    return lines


def _kind_of(coroutine: Any) -> str | None:
    """Return the beginning of the names of its attributes; None of what is no coroutine."""
    return next((kind for kind in ("cr", "ag", "gi") if hasattr(coroutine, f"{kind}_frame")), None)


def _of_loop() -> FrameType | None:
    """Return where the event loop's thread is."""
    from penstock import coroutines  # imported before the first of them

    ident = coroutines.thread_ident()
    return None if ident is None else sys._current_frames().get(ident)


def _frames_stay() -> bool:
    """Whether frames of other threads stay as they are while they are read: not without a GIL."""
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
