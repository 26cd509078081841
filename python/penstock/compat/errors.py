"""Exceptions that programs written for TensorFlow catch."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from penstock.errors import DataError


class OpError(Exception):
    """Base class of the errors in this module.

    Parameters
    ----------
    node_def, op : object
        Ignored; TensorFlow's errors have these arguments.
    message : str
        The message.
    *args
        For OpError itself, the error code.

    Attributes
    ----------
    error_code : int
        Error code of the class, such as `tf.errors.NOT_FOUND`.
    """

    error_code = 2
    experimental_payloads: dict[Any, Any] = {}

    def __init__(self, node_def: Any = None, op: Any = None, message: str = "", *args: Any) -> None:
        Exception.__init__(self, message)
        if args and type(self) is OpError:
            self.error_code = args[0]
        self.node_def = node_def
        self.op = op

    @property
    def message(self) -> str:
        """The message."""
        return str(self.args[0])

    def __str__(self) -> str:
        return self.message


class OutOfRangeError(OpError):
    """There are no more elements."""

    error_code = 11


class InvalidArgumentError(OpError, ValueError):
    """A value, or the contents of an image or message, are invalid."""

    error_code = 3


class DataLossError(OpError, DataError):
    """The contents of a file are corrupt.

    Attributes
    ----------
    file, offset, element : str or int, optional
        See penstock's DataError.
    """

    error_code = 15
    file: str | None = None
    offset: int | None = None
    element: int | None = None


class NotFoundError(OpError, FileNotFoundError):
    """The file does not exist."""

    error_code = 5


class FailedPreconditionError(OpError):
    """A required earlier step is missing."""

    error_code = 9


class UnimplementedError(OpError, NotImplementedError):
    """The operation is not implemented."""

    error_code = 12


class CancelledError(OpError):
    """The operation was cancelled."""

    error_code = 1


class AbortedError(OpError):
    """The operation was aborted."""

    error_code = 10


class UnavailableError(OpError):
    """A service is not available."""

    error_code = 14


class PermissionDeniedError(OpError, PermissionError):
    """The program lacks permission to access a file."""

    error_code = 7


class AlreadyExistsError(OpError, FileExistsError):
    """The file already exists."""

    error_code = 6


class ResourceExhaustedError(OpError, MemoryError):
    """There is not enough memory."""

    error_code = 8


class InternalError(OpError):
    """An internal error of the library."""

    error_code = 13


class DeadlineExceededError(OpError):
    """The operation exceeded its deadline."""

    error_code = 4


class UnauthenticatedError(OpError):
    """The request lacks valid credentials."""

    error_code = 16


class OperatorNotAllowedInGraphError(TypeError):
    """The program used a value that is not known yet."""


class UnknownError(OpError):
    """Any other error."""


class IndexOutOfRangeError(InvalidArgumentError, IndexError):
    """The row does not exist."""


class NoFilesError(InvalidArgumentError, NotFoundError):
    """No file matches the pattern."""


class CardinalityError(FailedPreconditionError, ValueError):
    """A dataset has an unexpected number of elements."""


_READING = re.compile(r"\w+Dataset: record ")  # damage detected by a reader rather than a function

# By the start of the message.
_OWN: dict[str, type[OpError]] = {
    "list_files: no file": NoFilesError,
    "assert_cardinality: ": CardinalityError,
}
_CLASSES: list[tuple[type[BaseException], type[OpError]]] = [
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (FileExistsError, AlreadyExistsError),
]


def raise_translated(error: Exception, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise the TensorFlow error that corresponds to an error, or the error itself.

    The arguments of the failed call are ignored. Errors keep their built-in base class: for a
    ValueError, the raised class also derives from ValueError.
    """
    made: OpError | None = None
    message = str(error)
    if isinstance(error, OpError):
        raise error
    if isinstance(error, DataError):
        made = InvalidArgumentError(None, None, message)
        if error.file is not None and _READING.match(message):
            made = DataLossError(None, None, message)
            made.file, made.offset, made.element = error.file, error.offset, error.element
    elif type(error) is ValueError:
        made = InvalidArgumentError(None, None, message)
    for theirs, ours in _CLASSES:
        if type(error) is theirs:
            made = ours(None, None, message)
    for begin, ours in _OWN.items():
        if made is not None and message.startswith(begin):
            made = ours(None, None, message)
    if made is None:
        raise error
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    raise made from error


def raise_of_index(error: IndexError) -> NoReturn:
    """Raise TensorFlow's error for an IndexError from NumPy."""
    message = str(error)
    if message.startswith("only integers"):
        raise TypeError(message) from None
    raise IndexOutOfRangeError(None, None, message) from None
