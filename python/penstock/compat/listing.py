"""What ``dir()`` shows of modules of TensorFlow's names, and what they say of a missing one."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from penstock.compat.advice import missing

_NAMES = ("penstock.compat.tf", "penstock.compat.v1")
# Parts of the modules of names that have no such name themselves.
_PARTS = tuple(
    f"penstock.compat.tf.{part}"
    for part in (
        *("arrays", "autograph_experimental", "config.devices", "config.settings", "counting"),
        *("distribute_experimental", "draws", "elementwise", "examples", "functions"),
        *("generator", "gfile", "indexing", "loggers", "lookup_experimental", "strategies"),
        *("looping", "messages", "old_image", "random_experimental"),
        *("segments", "shaping", "special", "stateless", "tensor_array", "tensor_proto"),
        *("text_table", "texts", "unicode", "variable", "wire"),
        *("image.boxes", "image.color_spaces", "image.files", "image.jpeg_quality"),
        *("image.neighbors", "image.similarity", "image.suppression"),
        *("keras.arrays", "keras.cached_files", "keras.folders"),
        *("keras.time_series",),
    )
)
_OLD_PARTS = ("penstock.compat.v1.graphs", "penstock.compat.v1.moved")


def listing(namespace: dict[str, Any]) -> Callable[[], list[str]]:
    """Return the ``__dir__`` of a module, and give it a ``__getattr__`` for missing names.

    Parameters
    ----------
    namespace : dict
        The ``globals()`` of the module. What is in its ``__all__`` is shown; of the rest, which is
        often made in loops, all but what the module has imported for itself.

    Returns
    -------
    callable
        To be assigned to ``__dir__``.
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
        return not value.__name__.startswith(_NAMES) or value.__name__ in (*_PARTS, *_OLD_PARTS)
    home = str(getattr(value, "__module__", None) or "")
    if isinstance(value, types.FunctionType) and home.startswith("penstock"):
        # A name is defined there, or wraps one of penstock's functions.
        return not home.startswith(_NAMES) and not hasattr(value, "__wrapped__")
    if isinstance(value, type) and home.startswith("penstock.compat"):
        return not home.startswith(_NAMES)
    return bool(home) and not home.startswith(("penstock", "numpy", "builtins", "functools"))
