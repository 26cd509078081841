"""Sources that are classes, for isinstance and for subclassing."""

from __future__ import annotations

from typing import Any, Self

from penstock.arguments.checks import is_symbol
from penstock.dataset import Dataset
from penstock.stage import Stage


class Source(Dataset):
    """Base of datasets that are created by calling their class.

    Transformations of a source return a plain `Dataset`.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Create the instance, or return a reader if an argument is symbolic (native functions)."""
        made = object.__new__(cls)
        if any(map(is_symbol, (*args, *kwargs.values()))):
            made.__init__(*args, **kwargs)  # type: ignore[misc]
            return made._args["reader"]  # type: ignore[no-any-return]
        return made

    def __getattr__(self, name: str) -> Any:
        if name in Stage.__slots__:
            raise AttributeError(
                f"{type(self).__name__}: nothing has made this dataset yet; call super().__init__ "
                "with what is to be read"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _become(self, made: Any) -> None:
        """Copy the attributes of a dataset; anything else is the reader of a native function."""
        if not isinstance(made, Dataset):
            self._args = {"reader": made}
            return
        for name in Stage.__slots__:
            setattr(self, name, getattr(made, name))
