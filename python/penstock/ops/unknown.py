"""Operations that a value cannot support during tracing, and what to write instead."""

from __future__ import annotations

import linecache
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.errors import TraceError
from penstock.ops.called import calls_numpy

ADVICE = "drop @ps.native to run it as Python"
_TEXT = "make text of values with ps.strings.as_string and ps.strings.join"
_CHOOSE = "choose between values with np.where or ps.where"
_LOOK_UP = "look values up by their number with ps.gather"
_NAME = "read files with ps.io.read_file, and make names with ps.strings.join"
_KIND = "of what type an element is does not change: decide it outside of the function"
_ARRAY = "put values into one array with np.stack([x, y]); operations take a value as it is"
# Common attributes of values, and what to use instead.
_ATTRIBUTES = {
    **dict.fromkeys(
        (
            "decode",
            "encode",
            "endswith",
            "lower",
            "replace",
            "split",
            "startswith",
            "strip",
            "upper",
        ),
        "text has its operations in ps.strings (text read from files may stay bytes)",
    ),
    **dict.fromkeys(("std", "var"), "use np.sqrt(np.mean((x - np.mean(x)) ** 2))"),
    **dict.fromkeys(
        ("ndim", "size", "dtype"), "use x.shape[0], or decide it outside of the function"
    ),
}
_PLACEHOLDER = "<a value that is known only when the native function runs>"

# The purpose for which some modules request a class.
_FILE = ("the name of a file", _NAME)
_BY_CLASS = {
    **dict.fromkeys(("genericpath", "ntpath", "os", "pathlib", "posixpath"), _FILE),
    "json": ("text (by json)", _TEXT),
}
# Packages that only display text, so it does not become data.
_LOOKERS = frozenset(
    {"IPython", "_pydevd_bundle", "_pydevd_sys_monitoring", "_pytest", "bdb", "debugpy", "doctest"}
    | {"ipdb", "logging", "pdb", "pudb", "pydevd", "rich", "traceback", "warnings"}
)
_active = threading.local()


class Tracing:
    """A function that is being traced, from the perspective of the unknown values in it."""

    refused: TraceError | None = None  # the error of the last use of a value


def active_traces() -> list[Tracing]:
    """Return the active traces of this thread, the innermost function last."""
    traces: list[Tracing] = _active.__dict__.setdefault("traces", [])
    return traces


class Unknown:
    """Mixin that raises a TraceError whenever the value itself is needed.

    Python may request it as text, as a hash, or by its class, where any answer would be wrong. Two
    uses cannot be detected: ``is``, and ``type(x)``.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        _trace: Tracing

    def _refusal(self, what: str, instead: str = "") -> TraceError:
        advice = f"{instead}, or {ADVICE}" if instead else ADVICE
        error = TraceError(
            f"native: a value that is known only when the function runs was used as {what}; "
            f"{advice}"
        )
        self._trace.refused = error  # in case the function catches it
        return error

    @property
    def __class__(self) -> type:
        # isinstance() checks type(x) first, and this property only if that does not match.
        frame = sys._getframe(1)
        if _may_look(frame) or calls_numpy(frame):
            return type(self)
        usual = ("something whose class is asked for (as by isinstance)", _KIND)
        raise self._refusal(*_BY_CLASS.get(_package(frame), usual))

    @__class__.setter
    def __class__(self, value: type) -> None:
        raise TypeError("native: the class of a value that is traced cannot be set")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # protocols, which values do not implement
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise self._refusal(
            f"something with an attribute {name!r}, which a value that is traced does not have",
            _ATTRIBUTES.get(name, "use operators, ufuncs of NumPy and operations of penstock"),
        )

    def __repr__(self) -> str:
        frame = sys._getframe(1)
        if _may_look(frame) or _prints(frame):
            return _PLACEHOLDER
        raise self._refusal("text (by repr or %r)", _TEXT)

    def __str__(self) -> str:
        frame = sys._getframe(1)
        if _may_look(frame) or _prints(frame):
            return _PLACEHOLDER
        raise self._refusal("text (by str, %s or print of more than the value)", _TEXT)

    def __format__(self, spec: str) -> str:
        if _may_look(sys._getframe(1)):
            return _PLACEHOLDER
        raise self._refusal("text (in an f-string or by format)", _TEXT)

    def __hash__(self) -> int:
        raise self._refusal("a key (of a dict or set, or for a cache)", _LOOK_UP)

    def __contains__(self, item: Any) -> bool:
        raise self._refusal("something to search (by in)", "compare with == and np.any")

    def __bool__(self) -> bool:
        raise self._refusal("a condition (in an if or while, or for and, or, not, in)", _CHOOSE)

    def __int__(self) -> int:
        raise self._refusal("an int", "use .astype(np.int64)")

    def __float__(self) -> float:
        raise self._refusal("a float", "use .astype(np.float64)")

    def __complex__(self) -> complex:
        raise self._refusal("a complex number", "use .astype(np.complex128)")

    def __round__(self, digits: Any = None) -> NoReturn:
        raise self._refusal("a number to round", "use np.rint")

    def __trunc__(self) -> NoReturn:
        raise self._refusal("a number to cut", "use np.trunc")

    def __floor__(self) -> NoReturn:
        raise self._refusal("a number to round down", "use np.floor")

    def __ceil__(self) -> NoReturn:
        raise self._refusal("a number to round up", "use np.ceil")

    def __index__(self) -> int:
        raise self._refusal("an index or a count", _LOOK_UP)

    def __len__(self) -> int:
        raise self._refusal("a length", "use ps.shape(x)[0]")

    def __iter__(self) -> Iterator[Any]:
        raise self._refusal("something to loop over or unpack", "use operations on the whole array")

    def __bytes__(self) -> bytes:
        raise self._refusal("bytes")

    def __buffer__(self, flags: int, /) -> memoryview:  # since Python 3.12
        raise self._refusal("memory (as by memoryview or np.frombuffer)", "use ps.io.decode_raw")

    def __fspath__(self) -> str:
        raise self._refusal(*_FILE)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise self._refusal("an array", _ARRAY)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._refusal("something that can be assigned to", _CHOOSE)

    def __delitem__(self, key: Any) -> None:
        raise self._refusal("something that can be assigned to", _CHOOSE)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self._refusal("something to pickle")


def _may_look(frame: FrameType) -> bool:
    """Return whether a value that a frame receives cannot become data.

    This holds outside of tracing, and if the caller is penstock itself, a debugger or a log.
    """
    if not active_traces() or _package(frame) == "penstock":
        return True
    above: FrameType | None = frame
    while above is not None and _package(above) != "penstock":
        if _package(above) in _LOOKERS:
            return True
        above = above.f_back
    return False


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _prints(frame: FrameType) -> bool:
    """Return whether a frame is calling print, according to its source if that is available."""
    place = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line, column = place[0], place[2]
    if line is None or column is None:
        return False
    text = linecache.getline(frame.f_code.co_filename, line, frame.f_globals)
    return text.encode()[column:].startswith(b"print(")
