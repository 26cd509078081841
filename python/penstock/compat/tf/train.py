"""tf.train: examples to write, and iterators to save."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.compat.calling import ported
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
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
from penstock.ops import io as _io

_read_file = ported(_io.read_file)
_SAVED = re.compile(r"(.+?-(\d+))\.\w+")  # a file of Checkpoint.save


class _LoadStatus:
    """What `Checkpoint.restore` returns: all has been restored, or an error was raised."""

    def assert_consumed(self) -> _LoadStatus:
        """Do nothing: what is missing has been an error."""
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed
    expect_partial = initialize_or_restore = run_restore_ops = assert_consumed


class Checkpoint:
    """Saves where iterators are, and the values of variables.

    Parameters
    ----------
    root : Checkpoint, optional
        One whose objects belong to this one too.
    **kwargs
        Iterators of datasets, and variables, by name; they are attributes too.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> it = iter(tf.data.Dataset.range(5))
    >>> path = tf.train.Checkpoint(iterator=it).save("checkpoints/it")
    >>> next(it).numpy()
    np.int64(0)
    >>> _ = tf.train.Checkpoint(iterator=it).restore(path)
    >>> next(it).numpy()
    np.int64(0)
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._saved = 0
        if isinstance(root, Checkpoint):
            kwargs = {**root._objects(), **kwargs}
        for name, value in kwargs.items():
            if not hasattr(value, "get_state"):
                raise TypeError(
                    f"Checkpoint: {name} must be an iterator or a variable, got {value!r}"
                )
            setattr(self, name, value)

    def _objects(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if hasattr(value, "get_state")}

    @property
    def save_counter(self) -> Any:
        """How often `save` has been called, also before what was restored."""
        return tensor(self._saved, "int64")

    def save(self, file_prefix: str, options: Any = None) -> str:
        """Write positions and values to files.

        Parameters
        ----------
        file_prefix : str
            What the names of the files begin with.

        Returns
        -------
        str
            What `restore` takes.
        """
        self._saved += 1
        return self.write(f"{file_prefix}-{self._saved}")

    def write(self, file_prefix: str, options: Any = None) -> str:
        """Write positions and values to files, named without a number."""
        for name, held in self._objects().items():
            _io.write_file(f"{file_prefix}.{name}", held.get_state())
        return str(file_prefix)

    def restore(self, save_path: str | None, options: Any = None) -> _LoadStatus:
        """Have the iterators go on where they were saved, and give variables their values.

        Parameters
        ----------
        save_path : str or None
            What `save` returned; None changes nothing.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        """
        for name, held in self._objects().items() if save_path is not None else ():
            held.set_state(_read_file(f"{save_path}.{name}").item())
        numbered = re.fullmatch(r".+-(\d+)", str(save_path))
        if numbered:  # the next one that is saved does not replace it
            self._saved = int(numbered[1])
        return _LoadStatus()

    read = restore


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Return what was saved last in a folder.

    Parameters
    ----------
    checkpoint_dir : str or path
        The folder.
    latest_filename : str, optional
        Ignored; TensorFlow keeps a list in a file of this name.

    Returns
    -------
    str or None
        What `Checkpoint.restore` takes; None where nothing was saved.
    """
    saved = [
        (path.stat().st_mtime_ns, int(found[2]), str(path.with_name(found[1])))
        for path in Path(checkpoint_dir).glob("*-*.*")
        if (found := _SAVED.fullmatch(path.name))
    ]
    return max(saved)[2] if saved else None


class CheckpointManager:
    """Saves positions and values in a folder, and removes old ones.

    Parameters
    ----------
    checkpoint : Checkpoint
        What is saved.
    directory : str
        The folder.
    max_to_keep : int or None
        How many are kept; None is all.
    keep_checkpoint_every_n_hours : float, optional
        Keep one for each such time besides.
    checkpoint_name : str
        What the names of the files begin with.
    step_counter : Variable, optional
        What counts the steps between two saves.
    checkpoint_interval : int, optional
        How many steps those are at least.
    init_fn : callable, optional
        Called by `restore_or_initialize` where nothing was saved.
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
        """What is saved."""
        return self._checkpoint

    @property
    def directory(self) -> str:
        """The folder."""
        return str(self._folder)

    @property
    def checkpoint_interval(self) -> int | None:
        """How many steps are between two saves at least."""
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """What has been saved, the oldest first."""
        numbers = {
            int(path.stem.rpartition("-")[2]) for path in self._folder.glob(f"{self._name}-*.*")
        }
        return [str(self._folder / f"{self._name}-{number}") for number in sorted(numbers)]

    @property
    def latest_checkpoint(self) -> str | None:
        """What was saved last, if anything."""
        return (self.checkpoints or [None])[-1]  # type: ignore[list-item]

    def save(
        self,
        checkpoint_number: Any = None,
        check_interval: bool = True,
        options: Any = None,
    ) -> str | None:
        """Save positions and values, under the next number or the one given.

        Parameters
        ----------
        checkpoint_number : int, optional
            The number.
        check_interval : bool
            Do nothing, and return None, before there have been enough steps.
        options : object
            Ignored.

        Returns
        -------
        str or None
            What `Checkpoint.restore` takes.
        """
        if self._interval is not None and check_interval:
            step = int(self._counter)
            if self._last_step is not None and step < self._last_step + self._interval:
                return None
            self._last_step = step
        if checkpoint_number is None:
            last = self.latest_checkpoint
            checkpoint_number = 1 + (int(last.rpartition("-")[2]) if last else 0)
        path = self._checkpoint.write(str(self._folder / f"{self._name}-{int(checkpoint_number)}"))
        self._remove_old()
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
        """Restore what was saved last, and return its name; None where nothing was."""
        last = self.latest_checkpoint
        if last is not None:
            self._checkpoint.restore(last)
        elif self._init is not None:
            self._init()
        return last


__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]

__dir__ = listing(globals())
