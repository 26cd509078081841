"""The names that a function looks up outside of its own variables."""

from __future__ import annotations

import types


def names_of(code: types.CodeType) -> set[str]:
    """Return the global names and attributes that code uses, with the functions inside it."""
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= names_of(const)
    return names
