"""tf.train: example messages, and checkpoints of iterators."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf.checkpoints import (
    Checkpoint,
    CheckpointOptions,
    get_checkpoint_state,
    in_folder,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    write_state,
)
from penstock.compat.tf.coordinator import Coordinator
from penstock.compat.tf.examples import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)


class CheckpointManager:
    """Save checkpoints in a folder, and remove old ones.

    Parameters
    ----------
    checkpoint : Checkpoint
        The objects to save.
    directory : str
        The folder.
    max_to_keep : int or None
        Number of checkpoints to keep; None for all.
    keep_checkpoint_every_n_hours : float, optional
        Also keep one checkpoint per interval of this many hours.
    checkpoint_name : str
        Prefix of the file names.
    step_counter : Variable, optional
        The variable that counts steps.
    checkpoint_interval : int, optional
        Minimum number of steps between two saves.
    init_fn : callable, optional
        Called by `restore_or_initialize` if there is no checkpoint.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep < 1:
            raise ValueError(f"max_to_keep must be 1 or more, or None, got {max_to_keep}")
        if (step_counter is None) != (checkpoint_interval is None):
            raise ValueError("`step_counter` and `checkpoint_interval` are given together")
        self._checkpoint = checkpoint
        self._directory: str = os.fspath(directory)
        self._folder = Path(directory)
        self._max_to_keep = max_to_keep
        self._kept_seconds = (keep_checkpoint_every_n_hours or 0) * 3600
        self._last_kept = time.time()
        self._kept: set[str] = set()
        self._name = checkpoint_name
        self._counter = step_counter
        self._interval = checkpoint_interval
        self._last_step: int | None = None
        self._init = init_fn

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint object."""
        return self._checkpoint

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint_interval(self) -> int | None:
        """Minimum number of steps between two saves."""
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """The existing checkpoints, the oldest first."""
        pattern = re.compile(rf"{re.escape(self._name)}-(\d+)\.")
        files = self._folder.iterdir() if self._folder.is_dir() else ()
        found = [pattern.match(file.name) for file in files]
        numbers = sorted({int(each[1]) for each in found if each})
        return [in_folder(self._directory, f"{self._name}-{number}") for number in numbers]

    @property
    def latest_checkpoint(self) -> str | None:
        """The latest checkpoint; None if there is none."""
        return (self.checkpoints or [None])[-1]  # type: ignore[list-item]

    def save(
        self,
        checkpoint_number: Any = None,
        check_interval: bool = True,
        options: Any = None,
    ) -> str | None:
        """Save a checkpoint under the next number, or under a given one.

        Parameters
        ----------
        checkpoint_number : int, optional
            The number.
        check_interval : bool
            Whether to do nothing and return None until enough steps have passed.
        options : object
            Ignored.

        Returns
        -------
        str or None
            The path to pass to `Checkpoint.restore`.
        """
        if self._interval is not None and check_interval:
            step = int(self._counter)
            if self._last_step is not None and step < self._last_step + self._interval:
                return None
            self._last_step = step
        if checkpoint_number is None:
            last = self.latest_checkpoint
            checkpoint_number = 1 + (int(last.rpartition("-")[2]) if last else 0)
        name = f"{self._name}-{int(checkpoint_number)}"
        path = self._checkpoint.write(in_folder(self._directory, name))
        self._remove_old()
        write_state([*(each for each in self.checkpoints if each != path), path])
        return path

    def _remove_old(self) -> None:
        removable = [path for path in self.checkpoints if path not in self._kept]
        for old in removable[: -self._max_to_keep] if self._max_to_keep else ():
            files = list(self._folder.glob(f"{Path(old).name}.*"))
            saved = max(file.stat().st_mtime for file in files)
            if self._kept_seconds and saved >= self._last_kept + self._kept_seconds:
                self._last_kept = saved
                self._kept.add(old)
                continue
            for file in files:
                file.unlink()

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint and return its path; None if there is none."""
        last = self.latest_checkpoint
        if last is not None:
            self._checkpoint.restore(last)
        elif self._init is not None:
            self._init()
        return last


__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointOptions",
    "Coordinator",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]

__dir__ = listing(globals())
