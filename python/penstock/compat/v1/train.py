"""tf.train as in TensorFlow 1."""

from __future__ import annotations

from typing import Any

from penstock.compat.errors import OutOfRangeError
from penstock.compat.graph import Session
from penstock.compat.listing import listing
from penstock.compat.tf.train import (
    BytesList,
    Checkpoint,
    Example,
    Feature,
    Features,
    FloatList,
    Int64List,
    latest_checkpoint,
)

__all__ = [
    "BytesList",
    "Checkpoint",
    "Example",
    "Feature",
    "Features",
    "FloatList",
    "Int64List",
    "MonitoredTrainingSession",
    "latest_checkpoint",
]


class MonitoredTrainingSession(Session):
    """A session that, as a context, ends without an error at the end of the data."""

    def __exit__(self, *exception: Any) -> bool:  # type: ignore[override]
        return isinstance(exception[1], OutOfRangeError)


__dir__ = listing(globals())
