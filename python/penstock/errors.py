"""Exceptions of penstock's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from penstock.printable import printable, shown


class DataError(Exception):
    """Corrupt input: a record, an image or a file that is not what it should be.

    Attributes
    ----------
    file : str or None
        The file, when the data came from one.
    offset : int or None
        Byte offset of the record in the file.
    element : int or None
        Number of the element in its source.

    Notes
    -----
    One that a function of yours raises without a file gets that of the element it was called with.
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
    """A worker process has ended, or was ended, while it had this element."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclasses.dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Where an element failed: what `on_error` functions are given beside the error.

    Attributes
    ----------
    stage : str
        The stage that failed; if that is not known, the one that the error left.
    element : int
        Number of the element in that stage, as the note of the error has it; of a reader, number
        of the record in its file.
    file : str or None
        The file that the element came from, when it came from one.
    offset : int or None
        Byte offset in the file, when it is known.
    name : str or None
        What the stage was given as its `name`.
    function : str or None
        The names of the functions that the stage calls.
    text : str or None
        A short form of the element: strings (file names, for example) and numbers as they are, long
        ones shortened in the middle; arrays as dtype and shape. None if it is not known which
        element it was, or if it has only arrays.
    """

    stage: str
    element: int
    file: str | None = None
    offset: int | None = None
    name: str | None = None
    function: str | None = None
    text: str | None = None


class OutOfRangeError(StopIteration):
    """The end of the data, as `Iterator.get_next` reports it; a StopIteration."""


class TraceError(TypeError):
    """A function that `native` cannot turn into a program; says at which line, and why."""


class StateError(ValueError):
    """A saved state that belongs to another pipeline, or to the same one over other data.

    Attributes
    ----------
    differences : tuple of str
        What differs, each in words: ``"batch: batch_size 32, the state has 64"``.
    """

    def __init__(self, message: str, differences: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.differences = tuple(differences)
