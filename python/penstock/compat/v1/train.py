"""tf.train as in TensorFlow 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.compat.errors import OutOfRangeError
from penstock.compat.graph import Session
from penstock.compat.listing import listing
from penstock.compat.tf.train import (
    BytesList,
    Checkpoint,
    CheckpointManager,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
    latest_checkpoint,
)

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "MonitoredTrainingSession",
    "SequenceExample",
    "checkpoint_exists",
    "latest_checkpoint",
]


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Return whether something was saved under a name that `Checkpoint.save` returned."""
    path = Path(checkpoint_prefix)
    return any(path.parent.glob(f"{path.name}.*"))


class MonitoredTrainingSession(Session):
    """A session that, as a context, ends without an error at the end of the data."""

    def __exit__(self, *exception: Any) -> bool:  # type: ignore[override]
        return isinstance(exception[1], OutOfRangeError)


__dir__ = listing(globals())
