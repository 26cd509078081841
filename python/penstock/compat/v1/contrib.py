"""tf.contrib: only `data`."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf.data import experimental


def batch_and_drop_remainder(batch_size: int) -> Callable[[Any], Any]:
    """Return a function for ``dataset.apply``: batches of equal size."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


data = types.SimpleNamespace(
    **{name: thing for name, thing in vars(experimental).items() if not name.startswith("_")},
    batch_and_drop_remainder=batch_and_drop_remainder,
)

__all__ = ["data"]

__dir__ = listing(globals())
