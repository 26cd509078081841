"""Objects that a ``with`` block closes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

# Returns whether the interpreter is shutting down. Globals of modules may then be None, and files
# and processes end anyway. A `__del__` binds this function as a parameter's default, because the
# global could be None.
Finalizing = Callable[[], bool]
finalizing: Finalizing = sys.is_finalizing


class _Closes(Protocol):
    def close(self) -> None: ...


class Closing:
    """Mixin for classes with a `close`, which the end of a ``with`` block calls."""

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
