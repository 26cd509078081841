"""tf.train as in TensorFlow 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.compat.errors import OutOfRangeError
from penstock.compat.listing import listing
from penstock.compat.session import Session
from penstock.compat.tf.train import (
    BytesList,
    Checkpoint,
    CheckpointManager,
    Coordinator,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "Coordinator",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "SequenceExample",
    "SingularMonitoredSession",
    "checkpoint_exists",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "start_queue_runners",
]


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Return whether a checkpoint with this prefix exists."""
    path = Path(checkpoint_prefix)
    return any(path.parent.glob(f"{path.name}.*"))


class MonitoredSession(Session):
    """A session whose ``with`` block ends without an error at the end of the data."""

    def __exit__(self, *exception: Any) -> bool:  # type: ignore[override]
        return isinstance(exception[1], OutOfRangeError)


class MonitoredTrainingSession(MonitoredSession):
    """A session whose ``with`` block ends without an error at the end of the data."""


class SingularMonitoredSession(MonitoredSession):
    """A session whose ``with`` block ends without an error at the end of the data."""


def start_queue_runners(
    sess: Any = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = "queue_runners",
) -> list[Any]:
    """Return an empty list: datasets have no queues."""
    return []


__dir__ = listing(globals())
