"""tf.config.optimizer: settings of graphs, stored without effect."""

from __future__ import annotations

from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf.config import settings

_options: dict[str, Any] = {"disable_model_pruning": False, "disable_meta_optimizer": False}

get_jit = settings.getter("get_jit", "jit", "")
set_jit = settings.setter("optimizer.set_jit", "jit")


def get_experimental_options() -> dict[str, Any]:
    """Return the stored options, which have no effect."""
    return dict(_options)


def set_experimental_options(options: dict[str, Any]) -> None:
    """Store options, which have no effect."""
    _options.update(options)
    settings.say_no_effect("optimizer.set_experimental_options")


__dir__ = listing(globals())
