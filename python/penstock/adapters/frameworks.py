"""The frameworks that datasets are given to, which are not installed with penstock."""

from __future__ import annotations

import importlib
from typing import Any


def framework(stage: str, name: str) -> Any:
    """Import a framework.

    Parameters
    ----------
    stage : str
        For errors.
    name : str
        The module: "torch", "jax" or "keras", which is also the name of penstock's extra.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed; it says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"{stage}: {name} is not installed; pip install 'penstock[{name}]'", name=name
        ) from None
