"""``dir()`` of modules with TensorFlow's names, and their errors for missing names."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from penstock.compat.advice import missing

_NAMES = ("penstock.compat.tf", "penstock.compat.v1")


def listing(namespace: dict[str, Any]) -> Callable[[], list[str]]:
    """Return the ``__dir__`` of a module, and add a ``__getattr__`` for missing names.

    Parameters
    ----------
    namespace : dict
        The ``globals()`` of the module. The names in its ``__all__`` are listed, and all others
        (often created in loops) that the module has not imported for internal use.

    Returns
    -------
    callable
        The function to assign to ``__dir__``.
    """
    namespace["__getattr__"] = missing(namespace["__name__"])

    def shown() -> list[str]:
        known = namespace.get("__all__", ())
        return sorted(
            name
            for name, value in namespace.items()
            if name in known or not (name.startswith("_") or name.isupper() or _is_imported(value))
        )

    return shown


def _is_imported(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        if not value.__name__.startswith(_NAMES):
            return True
        # Importing a submodule makes it a variable of its package, whether or not it is one of the
        # names.
        package, _, last = value.__name__.rpartition(".")
        names: tuple[str, ...] = getattr(sys.modules.get(package), "__all__", ())
        return sys.modules.get(value.__name__) is value and last not in names
    home = str(getattr(value, "__module__", None) or "")
    if isinstance(value, types.FunctionType) and home.startswith("penstock"):
        # A listed name is defined there, or wraps one of penstock's functions.
        return not home.startswith(_NAMES) and not hasattr(value, "__wrapped__")
    if isinstance(value, type) and home.startswith("penstock.compat"):
        return not home.startswith(_NAMES)
    return bool(home) and not home.startswith(("penstock", "numpy", "builtins", "functools"))
