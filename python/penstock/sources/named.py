"""Names of the parts of elements, nested as the elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Named:
    """Names in nested tuples and dicts, and the same nesting of the values found by name.

    Parameters
    ----------
    stage, argument : str
        The names to use in errors.
    nested : str, or nested tuples, lists and dicts of str
        The user's argument.

    Raises
    ------
    TypeError, ValueError
        If it is anything else, or contains no names.
    """

    def __init__(self, stage: str, argument: str, nested: Any) -> None:
        self.names: list[str] = []
        self._said = f"{stage}: {argument} must be names, in tuples or dicts of them, got"
        try:
            self._form = self._numbered(nested)
        except RecursionError:
            raise TypeError(f"{self._said} some that are nested without end") from None
        if not all(self.names) or not self.names:
            raise ValueError(f"{self._said} {'no names' if not self.names else 'an empty one'}")

    def _numbered(self, nested: Any) -> Any:
        """Return the nesting with an index in place of each name."""
        if isinstance(nested, str):
            self.names.append(nested)
            return len(self.names) - 1
        if isinstance(nested, Mapping):
            return {key: self._numbered(value) for key, value in nested.items()}
        if isinstance(nested, (tuple, list)):
            return tuple(map(self._numbered, nested))
        raise TypeError(f"{self._said} {nested!r:.200}")

    def nest(self, values: Sequence[Any]) -> Any:
        """Return the nesting with a value in place of each name."""
        return _nest(self._form, values)


def _nest(form: Any, values: Sequence[Any]) -> Any:
    if isinstance(form, dict):
        return {key: _nest(inner, values) for key, inner in form.items()}
    if isinstance(form, tuple):
        return tuple(_nest(inner, values) for inner in form)
    return values[form]
