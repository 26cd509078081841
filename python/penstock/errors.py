"""Exceptions defined by penstock."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from penstock.printable import printable, shown


class DataError(Exception):
    """Corrupt input: an invalid record, image or file.

    Attributes
    ----------
    file : str or None
        The file, if the data came from one.
    offset : int or None
        Byte offset of the record in the file.
    element : int or None
        Number of the element in its source.

    Notes
    -----
    If a function that a pipeline calls raises a DataError without a file, it gets the file of the
    element that the function was called with.
    """

    def __init__(
        self, message: str, file: str | None = None, offset: int = -1, element: int = -1
    ) -> None:
        super().__init__(message)
        self.file = None if file is None else shown(file)
        self.offset = None if offset < 0 else offset
        self.element = None if element < 0 else element

    def __str__(self) -> str:
        text = str(self.args[0])
        if self.file is not None:
            text += f" (file {printable(self.file)}"
            text += ")" if self.offset is None else f", byte {self.offset})"
        return text


class WorkerError(RuntimeError):
    """A worker process ended, or was terminated, while it processed this element."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclasses.dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Where an element failed: the second argument of `on_error` functions.

    Attributes
    ----------
    stage : str
        The stage that failed. If it is unknown, the stage that the error was raised from.
    element : int
        Index of the element in that stage, as in the note of the error. For a reader, the index of
        the record in its file.
    file : str or None
        The file that the element came from, if any.
    offset : int or None
        Byte offset in the file, if known.
    name : str or None
        The `name` argument of the stage.
    function : str or None
        The names of the functions that the stage calls.
    text : str or None
        A short form of the element: strings (such as file names) and numbers unchanged, with long
        ones shortened in the middle; arrays as dtype and shape. None if the element is unknown, or
        consists only of arrays.
    """

    stage: str
    element: int
    file: str | None = None
    offset: int | None = None
    name: str | None = None
    function: str | None = None
    text: str | None = None


class OutOfRangeError(StopIteration):
    """The end of the data, raised by `Iterator.get_next`; a subclass of StopIteration."""


class TraceError(TypeError):
    """A function that `native` cannot trace. The message has the line and the reason."""


class StateError(ValueError):
    """A state of another pipeline, or of the same pipeline over other data.

    Attributes
    ----------
    differences : tuple of str
        A description of each difference: ``"batch: batch_size 32, the state has 64"``.
    """

    def __init__(self, message: str, differences: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.differences = tuple(differences)
