"""Python objects on their way between a process and its workers; the engine calls these by name."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from types import TracebackType
from typing import Any


class WorkerTraceback(Exception):  # noqa: N818 - the name is what users read
    """The traceback of an exception, as text, in the process that raised it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def pickled(objects: list[Any]) -> bytes:
    """Return `objects` as bytes."""
    try:
        return pickle.dumps(objects, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        import importlib.util

        if importlib.util.find_spec("cloudpickle") is None:
            names = ", ".join(sorted({type(each).__name__ for each in objects}))
            raise TypeError(
                f"executor='process': objects that can be pickled were expected, got {names} "
                f"({error}); return arrays, numbers or strings, or install cloudpickle "
                "(python -m pip install cloudpickle)"
            ) from error
    import cloudpickle

    data: bytes = cloudpickle.dumps(objects)
    return data


def unpickled(data: bytes) -> list[Any]:
    """Return the objects of which `pickled` has made `data`."""
    objects: list[Any] = pickle.loads(data)  # noqa: S301 - from a process of our own
    return objects


def pickled_error(error: BaseException) -> bytes:
    """Return an exception with the text of its traceback as bytes."""
    text = "".join(traceback.format_exception(None, error, _of_the_user(error.__traceback__)))
    data = None
    with contextlib.suppress(Exception):
        data = pickled([error])
        unpickled(data)  # some can be written and not read
    try:
        message = str(error)
    except Exception:
        message = "its text cannot be made"
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    return pickle.dumps((data, type(error).__qualname__, message, notes, text))


def unpickled_error(data: bytes) -> BaseException:
    """Return an exception as the other process has raised it, or one of the same name."""
    whole, name, message, notes, text = pickle.loads(data)  # noqa: S301 - from a process of our own
    error: BaseException
    try:
        (error,) = unpickled(whole)
    except Exception:
        # A class that is not there, or an exception that has no form in bytes.
        error = type(name, (RuntimeError,), {"__module__": "penstock.workers"})(message)
        for note in notes:
            error.add_note(note)
    error.__cause__ = WorkerTraceback(text)
    return error


def _of_the_user(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame on that is not penstock's own."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(
        "penstock.workers"
    ):
        trace = trace.tb_next
    return trace
