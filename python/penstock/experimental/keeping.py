"""Older names for saving datasets to files: save, load, snapshot, TFRecordWriter."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.experimental.transformations import Transformation
from penstock.ops import tf_record
from penstock.paths import name_of

__all__ = ["TFRecordWriter", "load", "save", "snapshot"]


class TFRecordWriter:
    """Write the elements of a dataset to a TFRecord file with `io.TFRecordWriter`.

    Parameters
    ----------
    filename : str or path
        The file; an existing file is overwritten.
    compression_type : str, optional
        "GZIP", "ZLIB" or "ZSTD"; None or "" for a plain file.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    ValueError
        If `compression_type` has another value.

    Examples
    --------
    >>> words = ps.Dataset.from_tensor_slices([b"one", b"two"])
    >>> ps.experimental.TFRecordWriter("words.tfrecord").write(words)
    >>> list(ps.TFRecordDataset("words.tfrecord"))
    [b'one', b'two']
    """

    @checked
    def __init__(
        self,
        filename: str | os.PathLike[str],
        compression_type: str | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._filename = name_of("TFRecordWriter", "filename", filename)
        self._options = tf_record.TFRecordOptions(compression_type or None)

    def write(self, dataset: Dataset) -> None:
        """Write all elements.

        Parameters
        ----------
        dataset : Dataset
            A dataset of bytes, or of str, which is written as UTF-8.

        Raises
        ------
        TypeError
            If `dataset` is not a Dataset, or an element is anything else. The file then contains
            the elements before it.
        OSError
            If the file cannot be written.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"TFRecordWriter: a Dataset was expected, got {dataset!r}")
        with tf_record.TFRecordWriter(self._filename, self._options) as writer, iter(dataset) as it:
            for number, record in enumerate(it):
                if not isinstance(record, (bytes, str)):
                    raise TypeError(
                        f"TFRecordWriter: elements must be bytes or str, element {number} is "
                        f"{record!r:.200}"
                    )
                writer.write(record.encode() if isinstance(record, str) else record)


@checked
def save(
    dataset: Dataset,
    path: str | os.PathLike[str],
    compression: str | None = None,
    shard_func: Callable[..., int] | None = None,
    checkpoint_args: Any = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Write all elements of a dataset to files: `Dataset.save`.

    Parameters
    ----------
    dataset : Dataset
        The dataset to save.
    path : str or path
        The folder.
    compression, shard_func, checkpoint_args
        As in `Dataset.save`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Examples
    --------
    >>> ps.experimental.save(ps.Dataset.range(3), "three")
    >>> [int(x) for x in ps.experimental.load("three")]
    [0, 1, 2]
    """
    dataset.save(path, compression, shard_func, checkpoint_args)


@checked
def load(
    path: str | os.PathLike[str],
    element_spec: Any = None,
    compression: str | None = None,
    reader_func: Callable[[Dataset], Dataset] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Read a dataset written by `save`: `Dataset.load`.

    Parameters
    ----------
    path : str or path
        The folder.
    element_spec, compression, reader_func
        As in `Dataset.load`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Returns
    -------
    Dataset
        The elements.
    """
    return Dataset.load(path, element_spec, compression, reader_func)


@checked
def snapshot(
    path: str | os.PathLike[str],
    compression: str | None = "AUTO",
    reader_func: Callable[[Dataset], Dataset] | None = None,
    shard_func: Callable[..., int] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> Transformation:
    """Store the elements in files, and read them in later runs: `Dataset.snapshot`.

    Parameters
    ----------
    path : str or path
        The folder.
    compression, reader_func, shard_func
        As in `Dataset.snapshot`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Returns
    -------
    callable
        A function for `Dataset.apply`.
    """
    folder = name_of("snapshot", "path", path)  # outside the lambda: options apply to this call
    return lambda dataset: dataset.snapshot(folder, compression, reader_func, shard_func)
