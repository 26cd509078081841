"""Exchange of Python objects between a process and its workers; the engine calls this by name."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from types import TracebackType
from typing import Any

from penstock import foreign
from penstock.workers.by_value import advice, cloudpickle
from penstock.workers.main_module import loads

# Classes used by other processes. They are kept, since their elements may arrive at any time.
_CLASSES: dict[str, type] = {}


class WorkerTraceback(Exception):
    """The traceback of an exception in the process that raised it, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def dumps(value: Any) -> bytes:
    """Return `value` as bytes, with cloudpickle if it is installed, else with pickle.

    cloudpickle includes functions and classes of the main module, and local ones, by value.
    """
    data: bytes = (cloudpickle() or pickle).dumps(value)
    return data


def pickled(objects: list[Any]) -> bytes:
    """Pickle a list of objects."""
    try:
        return dumps(objects)
    except Exception as error:
        names = ", ".join(sorted({type(each).__name__ for each in objects}))
        raise TypeError(
            f"executor='process': objects that can be pickled were expected, got {names} "
            f"({type(error).__name__}: {error}); {advice()}"
        ) from error


def unpickled(data: bytes) -> list[Any]:
    """Return the objects that `pickled` serialised."""
    objects: list[Any] = loads(data)
    return objects


def know_classes(data: bytes) -> None:
    """Register the pickled classes as classes of elements."""
    for cls in unpickled(data):
        _CLASSES[f"{cls.__module__}:{cls.__qualname__}"] = cls
        foreign.give("executor='process'", [cls])


def pickled_error(error: BaseException) -> bytes:
    """Return an exception and its traceback text as bytes."""
    text = "".join(traceback.format_exception(None, error, _of_the_user(error.__traceback__)))
    data = None
    with contextlib.suppress(Exception):
        data = pickled([error])
        _exception_of(data)  # some exceptions can be pickled but not unpickled
    try:
        message = str(error)
    except Exception:
        message = "its text cannot be made"
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    return pickle.dumps((data, type(error).__qualname__, message, notes, text))


def unpickled_error(data: bytes) -> BaseException:
    """Return the exception raised in the other process, or one with the same class name."""
    whole, name, message, notes, text = pickle.loads(data)
    error: BaseException
    try:
        error = _exception_of(whole)
    except Exception:
        # The class is not available here, or the exception could not be pickled.
        error = type(name, (RuntimeError,), {"__module__": "penstock.workers"})(message)
        for note in notes:
            error.add_note(note)
    error.__cause__ = WorkerTraceback(text)
    return error


def _exception_of(data: bytes) -> BaseException:
    """Return the exception that `pickled` serialised.

    Raises
    ------
    TypeError
        If unpickling returns another object.
    """
    (error,) = unpickled(data)
    if not isinstance(error, BaseException):
        raise TypeError(f"an exception was expected, got {error!r}")
    return error


def _of_the_user(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback without its first frames that belong to penstock."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(
        ("penstock.workers", "penstock.data_loader")
    ):
        trace = trace.tb_next
    return trace
