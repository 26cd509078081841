"""Reading and writing tf.train.Example and SequenceExample messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked
from penstock.arguments.checks import mixes_strings
from penstock.ops.call import call
from penstock.ops.features import (
    Feature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
    encoded,
    requests,
)

_RAGGED = (VarLenFeature, RaggedFeature)
_OF_EXAMPLE = (FixedLenFeature, VarLenFeature, RaggedFeature, FixedLenSequenceFeature)
OF_CONTEXT = (FixedLenFeature, VarLenFeature, RaggedFeature)
OF_SEQUENCE = (FixedLenSequenceFeature, VarLenFeature, RaggedFeature)


@checked
def parse_single_example(
    serialized: bytes,
    features: Mapping[str, Feature],
    example_names: Any = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Parse features of one `tf.train.Example` message.

    Parameters
    ----------
    serialized : bytes
        The message, such as a record of a TFRecord file.
    features : mapping of str to features
        The features to parse, by key: `FixedLenFeature`, `VarLenFeature`, `RaggedFeature` or
        `FixedLenSequenceFeature`. Other features in the message are ignored.
    example_names : str or bytes, optional
        The name of the example in errors.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    dict
        An array for each feature, in the order of `features`. Its shape is that of a
        FixedLenFeature, ``(n,)`` for ragged features, and ``(n, *shape)`` for a
        FixedLenSequenceFeature.

    Raises
    ------
    DataError
        If the message is corrupt, or a feature is missing, has the wrong type or the wrong number
        of values. The error names the feature, and the byte offset if the message is corrupt.

    Notes
    -----
    Messages are decoded like protocol buffers: lists may be packed or not, the last entry of a
    repeated key wins, and unknown fields are skipped. Values of other features are not decoded. A
    `native` map with only FixedLenFeatures parses many records in one call, as `parse_example`
    does.

    Examples
    --------
    >>> record = ps.io.make_example({"image": b"...", "size": [2, 3]})
    >>> features = {
    ...     "image": ps.io.FixedLenFeature((), bytes),
    ...     "size": ps.io.FixedLenFeature((2,), np.int64),
    ...     "label": ps.io.FixedLenFeature((), np.int64, default_value=-1),
    ... }
    >>> ps.io.parse_single_example(record, features)
    {'image': b'...', 'size': array([2, 3]), 'label': np.int64(-1)}
    """
    return _parse("parse_single_example", serialized, features, example_names, single=True)


@checked
def parse_example(
    serialized: Sequence[bytes],
    features: Mapping[str, Feature],
    example_names: Any = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Parse features of a batch of `tf.train.Example` messages.

    Parameters
    ----------
    serialized : sequence of bytes, shape ``(n,)``
        The messages, such as a batch of records of a TFRecord file.
    features : mapping of str to features
        As in `parse_single_example`.
    example_names : sequence of str or bytes, optional
        The names of the examples in errors, shape ``(n,)``.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    dict
        For each feature, in the order of `features`: an array of shape ``(n, *shape)`` for a
        FixedLenFeature; a pair ``(values, row_splits)`` for a VarLenFeature or RaggedFeature, where
        example ``i`` has ``values[row_splits[i]:row_splits[i + 1]]``; an array of shape
        ``(n, longest, *shape)`` for a FixedLenSequenceFeature, padded to the longest example.

    Raises
    ------
    DataError
        If a message is corrupt, or a feature is missing, has the wrong type or the wrong number of
        values. The error names the example and the feature, and the byte offset if the message is
        corrupt.

    Notes
    -----
    Strings are not copied: they refer to the memory of the records.

    Examples
    --------
    >>> records = [ps.io.make_example({"x": float(i), "words": [b"w"] * i}) for i in range(3)]
    >>> features = {"x": ps.io.FixedLenFeature((), np.float32), "words": ps.io.VarLenFeature(bytes)}
    >>> batch = ps.io.parse_example(records, features)
    >>> batch["x"]
    array([0., 1., 2.], dtype=float32)
    >>> batch["words"]
    (array([b'w', b'w', b'w'], dtype=object), array([0, 0, 1, 3]))
    """
    return _parse("parse_example", serialized, features, example_names, single=False)


def _parse(
    stage: str, serialized: Any, features: Mapping[str, Feature], names: Any, single: bool
) -> dict[str, Any]:
    if not features:
        raise ValueError(f"{stage}: features must have at least one feature, got {features!r}")
    asked = requests(stage, features, _OF_EXAMPLE)
    attributes = {"op": stage, "single": single, "features": asked}
    found = call("io.parse_example", records_and_names(serialized, names), attributes)
    outputs = iter(found if isinstance(found, tuple) else (found,))
    return {key: feature_values(feature, outputs, single) for key, feature in features.items()}


def records_and_names(serialized: Any, names: Any) -> list[Any]:
    """Return the inputs of a parse operation."""
    if isinstance(serialized, (list, tuple)) and not serialized:
        serialized = np.empty(0, object)
    return [serialized] if names is None else [serialized, names]


def feature_values(feature: Feature, outputs: Iterator[Any], single: bool) -> Any:
    """Return the value of the next feature from an iterator over the outputs of an operation."""
    values = next(outputs)
    return (values, next(outputs)) if isinstance(feature, _RAGGED) and not single else values


@checked
def make_example(features: Mapping[str, Any], name: str | None = None) -> bytes:
    """Return a serialised `tf.train.Example` message, which `parse_example` can read.

    Parameters
    ----------
    features : mapping of str to values
        For each key a value or an array of any shape, which is flattened: bytes or str (as UTF-8),
        floats (as float32), integers or booleans (as int64).
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bytes
        The message, with the features in the given order.

    Raises
    ------
    TypeError
        If values have another type. The message names the feature.
    ValueError
        If an integer does not fit in int64.

    Notes
    -----
    An empty list has no dtype. It is written as a feature without values, which readers of every
    dtype treat as missing. An empty NumPy array does have a dtype.

    Examples
    --------
    >>> with ps.io.TFRecordWriter("train.tfrecord") as writer:
    ...     for label in range(3):
    ...         writer.write(ps.io.make_example({"label": label, "name": f"number {label}"}))
    >>> features = {"label": ps.io.FixedLenFeature((), np.int64)}
    >>> for record in ps.TFRecordDataset("train.tfrecord").take(1):
    ...     print(ps.io.parse_single_example(record, features))
    {'label': np.int64(0)}
    """
    check_keys("make_example", features)
    for key, value in features.items():
        if isinstance(value, (list, tuple)) and mixes_strings(value):
            raise TypeError(
                f"make_example: feature {key!r}: values of one kind were expected, got strings and "
                "numbers"
            )
    attributes = {"keys": _core.Value((encoded(features),), False)}
    return call("io.make_example", list(map(input_of, features.values())), attributes)


def check_keys(stage: str, features: Mapping[str, Any]) -> None:
    """Raise TypeError for keys that are not str."""
    for key in features:
        if not isinstance(key, str):
            raise TypeError(f"{stage}: keys must be str, got {key!r}")


def input_of(value: Any) -> Any:
    """Return the values of a feature as an operation's input; an empty list has no dtype."""
    return np.empty(0, object) if isinstance(value, (list, tuple)) and not value else value
