"""Libraries that are not installed with penstock, imported where they are needed."""

from __future__ import annotations

import importlib
from typing import Any


def library(stage: str, name: str, extra: str) -> Any:
    """Import a library.

    Parameters
    ----------
    stage : str
        For errors.
    name : str
        The module.
    extra : str
        The extra of penstock that installs it.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed; it says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{stage}: {error.name} is not installed; pip install 'penstock[{extra}]'",
            name=error.name,
        ) from None
