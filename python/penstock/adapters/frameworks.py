"""Import of the frameworks that datasets are converted for; none is a dependency of penstock."""

from __future__ import annotations

from typing import Any

from penstock.libraries import library


def framework(stage: str, name: str) -> Any:
    """Import a framework: "torch", "jax" or "keras", which is also the name of penstock's extra.

    If it is not installed, the error explains how to install it. `stage` is the public name for
    that message.
    """
    return library(stage, name, name)
