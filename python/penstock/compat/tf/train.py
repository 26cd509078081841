"""tf.train: examples to write, and iterators to save."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tf import messages
from penstock.compat.values import numpy_values
from penstock.ops.examples import make_example
from penstock.ops.io import read_file, write_file

_SAVED = re.compile(r"(.+?-(\d+))\.\w+")  # a file of Checkpoint.save


class _List:
    def __init__(self, value: Sequence[Any] = ()) -> None:
        self.value = [numpy_values(each) for each in value]


class BytesList(_List):
    """A list of byte strings."""


class FloatList(_List):
    """A list of floats."""


class Int64List(_List):
    """A list of integers."""


class Feature:
    """The values of one feature of an example.

    Parameters
    ----------
    bytes_list : BytesList, optional
        The values, if they are byte strings.
    float_list : FloatList, optional
        The values, if they are floats.
    int64_list : Int64List, optional
        The values, if they are integers.
    """

    def __init__(
        self,
        bytes_list: BytesList | None = None,
        float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        self.bytes_list = bytes_list
        self.float_list = float_list
        self.int64_list = int64_list

    def WhichOneof(self, oneof_group: str = "kind") -> str | None:
        """Return the name of the list that is there: the first of the three, or None."""
        names = ("bytes_list", "float_list", "int64_list")
        return next((name for name in names if getattr(self, name) is not None), None)

    def _values(self) -> Any:
        if self.bytes_list is not None:
            return [bytes(value) for value in self.bytes_list.value]
        if self.float_list is not None:
            return np.array(self.float_list.value, np.float32)
        return np.array([] if self.int64_list is None else self.int64_list.value, np.int64)


class Features:
    """The features of an example by name.

    Parameters
    ----------
    feature : mapping of str to Feature
        The features.
    """

    def __init__(self, feature: Mapping[str, Feature] | None = None) -> None:
        self.feature = dict(feature or {})


class Example:
    """A message that records are made of; `tf.io.parse_single_example` reads many of them.

    Parameters
    ----------
    features : Features
        What it holds.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> feature = {"x": tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))}
    >>> example = tf.train.Example(features=tf.train.Features(feature=feature))
    >>> bool(example.SerializeToString() == tf.io.make_example({"x": [1]}))
    True
    """

    def __init__(self, features: Features | None = None) -> None:
        self.features = features or Features()

    def SerializeToString(self) -> bytes:
        """Return the bytes of the message."""
        return make_example({key: f._values() for key, f in self.features.feature.items()})

    def ParseFromString(self, serialized: bytes) -> int:
        """Take over the features of a message, and return how many bytes it has.

        Raises
        ------
        DataError
            If the bytes are no such message.
        """
        lists: dict[int, Callable[[Any], Feature]] = {
            0: lambda values: Feature(),
            1: lambda values: Feature(bytes_list=BytesList(values)),
            2: lambda values: Feature(float_list=FloatList(values)),
            3: lambda values: Feature(int64_list=Int64List(values)),
        }
        feature = {}
        for name, (kind, values) in messages.features_of(bytes(serialized)).items():
            feature[name] = lists[kind](values)
        self.features = Features(feature)
        return len(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> Example:
        """Return the example that a message holds; see `ParseFromString`."""
        example = cls()
        example.ParseFromString(serialized)
        return example


class Checkpoint:
    """Saves where iterators are.

    Parameters
    ----------
    **iterators
        Iterators of datasets by name, and counters (integers).

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

    def __init__(self, root: Any = None, **iterators: Any) -> None:
        for name, value in iterators.items():
            if not hasattr(value, "get_state"):
                raise TypeError(f"Checkpoint: {name} must be an iterator, got {value!r}")
        self._iterators = iterators
        self._saved = 0

    def save(self, file_prefix: str) -> str:
        """Write the positions to files.

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

    def write(self, file_prefix: str) -> str:
        """Write the positions to files, named without a number."""
        for name, iterator in self._iterators.items():
            write_file(f"{file_prefix}.{name}", iterator.get_state())
        return str(file_prefix)

    def restore(self, save_path: str | None) -> Checkpoint:
        """Have the iterators go on where they were saved.

        Parameters
        ----------
        save_path : str or None
            What `save` returned; None changes nothing.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        """
        for name, iterator in self._iterators.items() if save_path is not None else ():
            iterator.set_state(read_file(f"{save_path}.{name}"))
        return self

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
    """Saves positions in a folder, and removes old ones.

    Parameters
    ----------
    checkpoint : Checkpoint
        What is saved.
    directory : str
        The folder.
    max_to_keep : int
        How many are kept.
    checkpoint_name : str
        What the names of the files begin with.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int = 5,
        checkpoint_name: str = "ckpt",
        **ignored: Any,
    ) -> None:
        self._checkpoint = checkpoint
        self._folder = Path(directory)
        self._max_to_keep = max_to_keep
        self._name = checkpoint_name

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

    def save(self, checkpoint_number: int | None = None) -> str:
        """Save the positions, under the next number or the one given."""
        if checkpoint_number is None:
            last = self.latest_checkpoint
            checkpoint_number = 1 + (int(last.rpartition("-")[2]) if last else 0)
        path = self._checkpoint.write(str(self._folder / f"{self._name}-{checkpoint_number}"))
        for old in self.checkpoints[: -self._max_to_keep]:
            for file in self._folder.glob(f"{Path(old).name}.*"):
                file.unlink()
        return path


__dir__ = listing(globals())
