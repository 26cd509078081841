"""tf.python_io: reading and writing of records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.compat.calling import argument
from penstock.compat.listing import listing
from penstock.compat.tf.data import TFRecordDataset
from penstock.compat.tf.io import TFRecordWriter
from penstock.ops.tf_record import TFRecordOptions


class TFRecordCompressionType:
    """The compression of a file of records."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_COMPRESSIONS = {0: "", 1: "ZLIB", 2: "GZIP"}


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yield the records of a file.

    Parameters
    ----------
    path : str or path
        The file.
    options : TFRecordOptions or str, optional
        The compression of the file.

    Raises
    ------
    DataLossError
        If the file is corrupt.

    Examples
    --------
    >>> import penstock.compat.v1 as tf
    >>> with tf.python_io.TFRecordWriter("numbers.tfrecord") as writer:
    ...     writer.write(b"one")
    >>> list(tf.python_io.tf_record_iterator("numbers.tfrecord"))
    [b'one']
    """
    compression = getattr(options, "compression_type", options)
    if isinstance(compression, int):
        compression = _COMPRESSIONS[compression]
    records: Any = TFRecordDataset
    yield from records(argument(path, "path"), compression or None).as_numpy_iterator()


__all__ = ["TFRecordOptions", "TFRecordWriter"]

__dir__ = listing(globals())
