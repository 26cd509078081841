"""The frameworks that datasets are given to, which are not installed with penstock."""

from __future__ import annotations

from typing import Any

from penstock.libraries import library


def framework(stage: str, name: str) -> Any:
    """Import a framework: "torch", "jax" or "keras", which is also the name of penstock's extra.

    The error where it is not installed says how to install it; `stage` is for that.
    """
    return library(stage, name, name)
