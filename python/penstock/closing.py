"""Objects that end with a ``with`` block."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


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
