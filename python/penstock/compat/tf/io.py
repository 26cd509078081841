"""tf.io: penstock's operations on files and records, for tensors."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from penstock.compat.calling import argument, port_all, ported
from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import DataLossError, InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import tensor, text
from penstock.compat.tf import composed_features, elementwise, examples, gfile, tensor_proto
from penstock.compat.tf.composed_features import SparseFeature
from penstock.compat.tf.image import files as _files
from penstock.ops import io as _io

port_all(globals(), _io)
RaggedFeature = composed_features.RaggedFeature
decode_bmp, decode_gif, decode_webp = _files.decode_bmp, _files.decode_gif, _files.decode_webp
decode_jpeg, decode_png = _files.decode_jpeg, _files.decode_png
_matching_files = ported(_io.matching_files)
_decode_raw = ported(_io.decode_raw)
_parse_example = ported(_io.parse_example)
_parse_single_example = ported(_io.parse_single_example)
_parse_sequence_example = ported(_io.parse_sequence_example)
_parse_single_sequence_example = ported(_io.parse_single_sequence_example)


def matching_files(pattern: Any, name: str | None = None) -> Any:
    """Return the names of the files that match one or more glob patterns, sorted.

    Parameters
    ----------
    pattern : str, or list of str
        Patterns.
    name : str, optional
        A label without effect.
    """
    return _matching_files(argument(pattern, "file_pattern"))


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse features of a `tf.train.Example` message.

    Parameters
    ----------
    serialized : bytes
        The message.
    features : mapping of str to features
        The features to return.
    example_names : str, optional
        Name of the example for error messages.
    name : str, optional
        A label without effect.

    Returns
    -------
    dict
        A tensor for each feature; a `SparseTensor` for a `VarLenFeature`.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> record = tf.io.make_example({"x": [1, 2]})
    >>> tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([2], tf.int64)})
    {'x': <tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 2])>}
    """
    asked = composed_features.expanded(features)
    parsed = _with_classes(_parse_single_example(serialized, asked, example_names), asked)
    return composed_features.composed(parsed, features, True)


def parse_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse features of `tf.train.Example` messages.

    Parameters
    ----------
    serialized : sequence of bytes
        The messages; a single message is parsed as by `parse_single_example`.
    features : mapping of str to features
        The features to return.
    example_names : sequence of str, optional
        Names of the examples for error messages.
    name : str, optional
        A label without effect.

    Returns
    -------
    dict
        A tensor for each feature; a `SparseTensor` for a `VarLenFeature`, a `RaggedTensor` for a
        `RaggedFeature`.
    """
    if np.ndim(serialized) == 0:
        return parse_single_example(serialized, features, example_names)
    asked = composed_features.expanded(features)
    parsed = _with_classes(_parse_example(serialized, asked, example_names), asked)
    return composed_features.composed(parsed, features, False)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> Any:
    """Parse the context and the steps of a `tf.train.SequenceExample` message."""
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
    """Parse the contexts, steps and lengths of `tf.train.SequenceExample` messages."""
    parsed = _parse_sequence_example(serialized, context_features, sequence_features, example_names)
    asked: Any = (context_features or {}, sequence_features or {}, {})
    return tuple(map(_with_classes, parsed, asked))


def _with_classes(parsed: dict[str, Any], features: Any) -> dict[str, Any]:
    """Return the parsed features, with tensor classes for variable numbers of values.

    Sparse tensors come first and ragged ones last, sorted by name, because programs stack
    ``values()``.
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
    """Return a pair of values and row splits, possibly nested, as a ragged tensor."""
    if not isinstance(value, tuple):
        return value
    values, row_splits = value
    return RaggedTensor(_ragged(values), row_splits)


def _sparse(value: Any) -> SparseTensor:
    if isinstance(value, RaggedTensor):
        return value.to_sparse()
    return SparseTensor(np.arange(len(value))[:, None], value, [len(value)])


def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """Return a tensor as bytes for `parse_tensor`, in TensorFlow's format.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.io.parse_tensor(tf.io.serialize_tensor([1, 2]), tf.int32).numpy().tolist()
    [1, 2]
    """
    return text(tensor_proto.serialized(tensor))


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """Return the tensor that `serialize_tensor` has serialised.

    Raises
    ------
    InvalidArgumentError
        If the bytes are not a serialised tensor, or the tensor has another type.
    """
    return tensor_proto.parsed(tensor(serialized).item(), out_type)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Any:
    """Decompress strings.

    Parameters
    ----------
    bytes : array_like of str or bytes
        The compressed strings.
    compression_type : str
        "" for none, "ZLIB" or "GZIP".
    name : str, optional
        A label without effect.

    Raises
    ------
    InvalidArgumentError
        If the compression type is unknown.
    DataLossError
        If a string is not valid compressed data of that type.
    """
    windows = {"": None, "ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}
    if compression_type not in windows:
        raise InvalidArgumentError(
            None, None, f"decode_compressed: ZLIB or GZIP was expected, got {compression_type!r}"
        )
    window = windows[compression_type]
    if window is None:
        return tensor(bytes)
    try:
        return elementwise.of_strings(bytes, lambda data: zlib.decompress(data, window))
    except zlib.error as error:
        raise DataLossError(None, None, f"decode_compressed: {error}") from None


def decode_json_example(json_examples: Any, name: str | None = None) -> Any:
    """Return `tf.train.Example` messages from their JSON form."""
    return elementwise.of_strings(json_examples, examples.example_of_json)


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Any:
    """Interpret bytes as numbers.

    Parameters
    ----------
    input_bytes : array_like of bytes
        The strings; all must have the same length unless `fixed_length` is set.
    out_type : dtype-like
        The type of the numbers.
    little_endian : bool
        Whether the numbers are little-endian.
    fixed_length : int, optional
        Number of bytes to use; shorter strings are padded with zeros.
    name : str, optional
        A label without effect.
    """
    if fixed_length is not None:
        length, size = int(fixed_length), as_dtype(out_type).dtype.itemsize
        if length % size or length <= 0:
            raise InvalidArgumentError(
                None, None, f"decode_raw: fixed_length {length} is no multiple of {size}"
            )
        input_bytes = elementwise.of_strings(
            input_bytes, lambda data: data[:length].ljust(length, b"\0")
        )
    return _decode_raw(input_bytes, out_type, little_endian)


class TFRecordWriter(_io.TFRecordWriter):
    """Write records to a file; each may be a tensor."""

    def write(self, record: Any) -> None:
        """Write a record.

        Parameters
        ----------
        record : bytes, or a tensor of them
            The record.
        """
        super().write(argument(record.encode() if isinstance(record, str) else record))


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write a whole file, and create missing parent folders.

    Parameters
    ----------
    filename : str, bytes or path
        The file.
    contents : bytes or str
        The contents.
    name : str, optional
        A label without effect.
    """
    _io.write_file(argument(filename), argument(tensor(contents)))


__all__ = ["RaggedFeature", "SparseFeature", "decode_bmp", "decode_gif", "decode_webp", "gfile"]

__dir__ = listing(globals())
