"""cloudpickle, if installed: pickles by value objects that a worker process cannot import."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from typing import Any


def cloudpickle() -> Any:
    """Return the module; None if it is not installed or cannot be imported."""
    if importlib.util.find_spec("cloudpickle") is None:
        return None
    return _imported()[0]


def advice() -> str:
    """Return advice for an object that cannot be pickled."""
    if importlib.util.find_spec("cloudpickle") is None:
        return "define it at the top of a module, or python -m pip install cloudpickle"
    fault = _imported()[1]
    if fault:
        return (
            "define it at the top of a module, or repair cloudpickle, which cannot be imported "
            f"({fault})"
        )
    return "make what it refers to in the function, not before"


@cache
def _imported() -> tuple[Any, str]:
    """Return the module and "", or None and the reason why it cannot be imported."""
    try:
        return importlib.import_module("cloudpickle"), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
