"""Python objects on their way between a process and its workers; the engine calls these by name."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from types import TracebackType
from typing import Any

from penstock import foreign
from penstock.workers.by_value import advice, cloudpickle
from penstock.workers.main_module import loads

# Those that the other processes have used: kept, since elements of them may come at any time.
_CLASSES: dict[str, type] = {}


class WorkerTraceback(Exception):
    """The traceback of an exception, as text, in the process that raised it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def dumps(value: Any) -> bytes:
    """Return `value` as bytes: with cloudpickle where it is installed, else with pickle.

    cloudpickle takes functions and classes of the main module, and of functions, with it by value.
    """
    data: bytes = (cloudpickle() or pickle).dumps(value)
    return data


def pickled(objects: list[Any]) -> bytes:
    """Return `objects` as bytes."""
    try:
        return dumps(objects)
    except Exception as error:
        names = ", ".join(sorted({type(each).__name__ for each in objects}))
        raise TypeError(
            f"executor='process': objects that can be pickled were expected, got {names} "
            f"({type(error).__name__}: {error}); {advice()}"
        ) from error


def unpickled(data: bytes) -> list[Any]:
    """Return the objects of which `pickled` has made `data`."""
    objects: list[Any] = loads(data)
    return objects


def know_classes(data: bytes) -> None:
    """Let elements be of the classes that `pickled` has written."""
    for cls in unpickled(data):
        _CLASSES[f"{cls.__module__}:{cls.__qualname__}"] = cls
        foreign.give("executor='process'", [cls])


def pickled_error(error: BaseException) -> bytes:
    """Return an exception with the text of its traceback as bytes."""
    text = "".join(traceback.format_exception(None, error, _of_the_user(error.__traceback__)))
    data = None
    with contextlib.suppress(Exception):
        data = pickled([error])
        _exception_of(data)  # some can be written and not read
    try:
        message = str(error)
    except Exception:
        message = "its text cannot be made"
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    return pickle.dumps((data, type(error).__qualname__, message, notes, text))


def unpickled_error(data: bytes) -> BaseException:
    """Return an exception as the other process has raised it, or one of the same name."""
    whole, name, message, notes, text = pickle.loads(data)
    error: BaseException
    try:
        error = _exception_of(whole)
    except Exception:
        # A class that is not there, or an exception that has no form in bytes.
        error = type(name, (RuntimeError,), {"__module__": "penstock.workers"})(message)
        for note in notes:
            error.add_note(note)
    error.__cause__ = WorkerTraceback(text)
    return error


def _exception_of(data: bytes) -> BaseException:
    """Return the exception of which `pickled` has made `data`.

    Raises
    ------
    TypeError
        If it has become something else on the way.
    """
    (error,) = unpickled(data)
    if not isinstance(error, BaseException):
        raise TypeError(f"an exception was expected, got {error!r}")
    return error


def _of_the_user(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame on that is not penstock's own."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(
        ("penstock.workers", "penstock.data_loader")
    ):
        trace = trace.tb_next
    return trace
