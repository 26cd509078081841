"""tf.io: penstock's operations on files and records, on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.calling import argument, port_all, ported
from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import tensor
from penstock.compat.tf import gfile
from penstock.compat.tf.image.files import decode_bmp, decode_gif, decode_webp
from penstock.ops import io as _io

port_all(globals(), _io)
_parse_example = ported(_io.parse_example)
_parse_single_example = ported(_io.parse_single_example)
_parse_sequence_example = ported(_io.parse_sequence_example)
_parse_single_sequence_example = ported(_io.parse_single_sequence_example)


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Read features of one `tf.train.Example` message.

    Parameters
    ----------
    serialized : bytes
        The message.
    features : mapping of str to features
        What is asked for.
    example_names : str, optional
        What errors call the example.
    name : str, optional
        A label without further meaning.

    Returns
    -------
    dict
        A tensor for each feature; for a `VarLenFeature` a `SparseTensor`.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> record = tf.io.make_example({"x": [1, 2]})
    >>> tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([2], tf.int64)})
    {'x': <tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 2])>}
    """
    return _with_classes(_parse_single_example(serialized, features, example_names), features)


def parse_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Read features of `tf.train.Example` messages.

    Parameters
    ----------
    serialized : sequence of bytes
        The messages; a single one is read as by `parse_single_example`.
    features : mapping of str to features
        What is asked for.
    example_names : sequence of str, optional
        What errors call the examples.
    name : str, optional
        A label without further meaning.

    Returns
    -------
    dict
        A tensor for each feature; for a `VarLenFeature` a `SparseTensor`, for a `RaggedFeature` a
        `RaggedTensor`.
    """
    if np.ndim(serialized) == 0:
        return parse_single_example(serialized, features, example_names)
    return _with_classes(_parse_example(serialized, features, example_names), features)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> Any:
    """Read the context and the steps of one `tf.train.SequenceExample` message."""
    parsed = _parse_single_sequence_example(
        serialized, context_features, sequence_features, example_name
    )
    asked = (context_features or {}, sequence_features or {})
    return tuple(map(_with_classes, parsed, asked))


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> Any:
    """Read the contexts and the steps of `tf.train.SequenceExample` messages, and how many."""
    parsed = _parse_sequence_example(serialized, context_features, sequence_features, example_names)
    asked: Any = (context_features or {}, sequence_features or {}, {})
    return tuple(map(_with_classes, parsed, asked))


def _with_classes(parsed: dict[str, Any], features: Any) -> dict[str, Any]:
    """Return what was parsed, with a tensor class where the values are of any number.

    Sparse tensors come first, ragged ones last, each by name: programs stack ``values()``.
    """
    sparse, dense, ragged = {}, {}, {}
    for key in sorted(parsed):
        if isinstance(features.get(key), _io.VarLenFeature):
            sparse[key] = _sparse(_ragged(parsed[key]))
        elif isinstance(features.get(key), _io.RaggedFeature):
            ragged[key] = _ragged(parsed[key])
        else:
            dense[key] = parsed[key]
    return {**sparse, **dense, **ragged}


def _ragged(value: Any) -> Any:
    """Return a pair of values and row splits, or one of such pairs, as a ragged tensor."""
    if not isinstance(value, tuple):
        return value
    values, row_splits = value
    return RaggedTensor(_ragged(values), row_splits)


def _sparse(value: Any) -> SparseTensor:
    if isinstance(value, RaggedTensor):
        return value.to_sparse()
    return SparseTensor(np.arange(len(value))[:, None], value, [len(value)])


class TFRecordWriter(_io.TFRecordWriter):
    """Writes records to a file; each may be a tensor."""

    def write(self, record: Any) -> None:
        """Write one record.

        Parameters
        ----------
        record : bytes, or a tensor of them
            The record.
        """
        super().write(argument(record))


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write a whole file, and the folders that it lies in where there are none.

    Parameters
    ----------
    filename : str, bytes or path
        The file.
    contents : bytes or str
        The content.
    name : str, optional
        A label without further meaning.
    """
    _io.write_file(argument(filename), argument(tensor(contents)))


__all__ = ["decode_bmp", "decode_gif", "decode_webp", "gfile"]

__dir__ = listing(globals())
