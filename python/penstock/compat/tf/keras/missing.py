"""What is said about names of Keras that are not here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def missing(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module of Keras's names."""

    def attribute(name: str) -> NoReturn:
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}: it has what reads folders and arrays; "
            "`import keras` has the rest, trains with TensorFlow, JAX or PyTorch, and takes "
            "penstock's datasets through `to_keras`; see the guide 'Feed your trainer'"
        )

    return attribute
