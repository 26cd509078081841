"""Objects that end with a ``with`` block."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

# Returns whether the interpreter is shutting down: the globals of modules may then be None, and
# files and processes end with it. A `__del__` binds it as the default of a parameter, because a
# global could be None.
Finalizing = Callable[[], bool]
finalizing: Finalizing = sys.is_finalizing


class _Closes(Protocol):
    def close(self) -> None: ...


class Closing:
    """Mixin for classes with a `close`: a ``with`` block gives the object, and closes it."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self: _Closes,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
