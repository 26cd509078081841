"""The errors that programs written for TensorFlow catch."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from penstock.errors import DataError


class OpError(Exception):
    """What the errors here have in common.

    Parameters
    ----------
    node_def, op : object
        Ignored; TensorFlow's errors have them.
    message : str
        What happened.
    *args
        Of an OpError itself, its number.

    Attributes
    ----------
    error_code : int
        The number of the class: `tf.errors.NOT_FOUND` and others.
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
        """What happened."""
        return str(self.args[0])

    def __str__(self) -> str:
        return self.message


class OutOfRangeError(OpError):
    """There are no more elements."""

    error_code = 11


class InvalidArgumentError(OpError, ValueError):
    """A value, or the contents of an image or message, are not what they should be."""

    error_code = 3


class DataLossError(OpError, DataError):
    """A file is not what it should be.

    Attributes
    ----------
    file, offset, element : str or int, optional
        As in penstock's DataError.
    """

    error_code = 15
    file: str | None = None
    offset: int | None = None
    element: int | None = None


class NotFoundError(OpError, FileNotFoundError):
    """There is no such file."""

    error_code = 5


class FailedPreconditionError(OpError):
    """Something else should have been done before."""

    error_code = 9


class UnimplementedError(OpError, NotImplementedError):
    """There is no such thing."""

    error_code = 12


class CancelledError(OpError):
    """It was called off."""

    error_code = 1


class AbortedError(OpError):
    """It was called off."""

    error_code = 10


class UnavailableError(OpError):
    """A service does not answer."""

    error_code = 14


class PermissionDeniedError(OpError, PermissionError):
    """A file must not be read or written."""

    error_code = 7


class AlreadyExistsError(OpError, FileExistsError):
    """A file is there already."""

    error_code = 6


class ResourceExhaustedError(OpError, MemoryError):
    """There is not enough memory."""

    error_code = 8


class InternalError(OpError):
    """A fault of the library."""

    error_code = 13


class DeadlineExceededError(OpError):
    """It took too long."""

    error_code = 4


class UnauthenticatedError(OpError):
    """A service does not know who asks."""

    error_code = 16


class OperatorNotAllowedInGraphError(TypeError):
    """A value that is not known yet was asked for."""


class UnknownError(OpError):
    """Anything else."""


class IndexOutOfRangeError(InvalidArgumentError, IndexError):
    """There is no such row."""


class NoFilesError(InvalidArgumentError, NotFoundError):
    """No file has a name of this pattern."""


class CardinalityError(FailedPreconditionError, ValueError):
    """A dataset has another number of elements."""


_READING = re.compile(r"\w+Dataset: record ")  # damage that a reader finds, not a function

# By what a message begins with.
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
    """Raise TensorFlow's error for one of penstock's, or the error itself.

    The arguments that led to it do not matter. What is a ValueError stays one, and so on: the
    classes here are derived from Python's.
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
    """Raise what TensorFlow does for an IndexError of NumPy."""
    message = str(error)
    if message.startswith("only integers"):
        raise TypeError(message) from None
    raise IndexOutOfRangeError(None, None, message) from None
