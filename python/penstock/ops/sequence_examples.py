"""Reading and writing tf.train.SequenceExample messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock import _core
from penstock.arguments.checked import checked
from penstock.ops.call import call
from penstock.ops.examples import (
    OF_CONTEXT,
    OF_SEQUENCE,
    check_keys,
    feature_values,
    input_of,
    records_and_names,
)
from penstock.ops.features import Feature, FixedLenSequenceFeature, encoded, requests


@checked
def parse_single_sequence_example(
    serialized: bytes,
    context_features: Mapping[str, Feature] | None = None,
    sequence_features: Mapping[str, Feature] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse features of one `tf.train.SequenceExample` message.

    Parameters
    ----------
    serialized : bytes
        The message, such as a record of a TFRecord file.
    context_features : mapping of str to features, optional
        Features of the whole example, by key: `FixedLenFeature`, `VarLenFeature` or
        `RaggedFeature`.
    sequence_features : mapping of str to features, optional
        Feature lists, which have one feature for each step, by key: `FixedLenSequenceFeature`,
        `VarLenFeature` or `RaggedFeature`. At least one context or sequence feature is required.
    example_name : str or bytes, optional
        The name of the example in errors.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    tuple of two dicts
        The context, as in `parse_single_example`, and the feature lists. A feature list is an array
        of shape ``(steps, *shape)`` for a FixedLenSequenceFeature, and a pair
        ``(values, row_splits)`` with a row for each step for ragged features.

    Raises
    ------
    DataError
        If the message is corrupt, or a feature is missing, has the wrong type or the wrong number
        of values.

    Examples
    --------
    >>> record = ps.io.make_sequence_example({"id": 7}, {"xy": [[1, 2], [3, 4], [5, 6]]})
    >>> ps.io.parse_single_sequence_example(
    ...     record,
    ...     {"id": ps.io.FixedLenFeature((), np.int64)},
    ...     {"xy": ps.io.FixedLenSequenceFeature((2,), np.int64)},
    ... )
    ({'id': np.int64(7)}, {'xy': array([[1, 2],
           [3, 4],
           [5, 6]])})
    """
    context, lists, _ = _parse(
        "parse_single_sequence_example",
        serialized,
        context_features or {},
        sequence_features or {},
        example_name,
        single=True,
    )
    return context, lists


@checked
def parse_sequence_example(
    serialized: Sequence[bytes],
    context_features: Mapping[str, Feature] | None = None,
    sequence_features: Mapping[str, Feature] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse features of a batch of `tf.train.SequenceExample` messages.

    Parameters
    ----------
    serialized : sequence of bytes, shape ``(n,)``
        The messages, such as a batch of records of a TFRecord file.
    context_features : mapping of str to features, optional
        Features of the whole example, by key: `FixedLenFeature`, `VarLenFeature` or
        `RaggedFeature`.
    sequence_features : mapping of str to features, optional
        Feature lists, which have one feature for each step, by key: `FixedLenSequenceFeature`,
        `VarLenFeature` or `RaggedFeature`. At least one context or sequence feature is required.
    example_names : sequence of str or bytes, optional
        The names of the examples in errors, shape ``(n,)``.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    tuple of three dicts
        The context, as in `parse_example`; the feature lists; and the numbers of steps. A feature
        list is an array of shape ``(n, longest, *shape)``, padded to the longest example, for a
        FixedLenSequenceFeature. For ragged features it is a pair
        ``((values, row_splits), row_splits)``: the inner splits assign values to steps, the outer
        ones steps to examples. The numbers of steps are int64 of shape ``(n,)`` for each
        FixedLenSequenceFeature.

    Raises
    ------
    DataError
        If a message is corrupt, or a feature is missing, has the wrong type or the wrong number of
        values.

    Examples
    --------
    >>> records = [ps.io.make_sequence_example({}, {"x": list(range(n))}) for n in (2, 1)]
    >>> feature = ps.io.FixedLenSequenceFeature((), np.int64, default_value=-1)
    >>> ps.io.parse_sequence_example(records, sequence_features={"x": feature})
    ({}, {'x': array([[ 0,  1],
           [ 0, -1]])}, {'x': array([2, 1])})
    """
    return _parse(
        "parse_sequence_example",
        serialized,
        context_features or {},
        sequence_features or {},
        example_names,
        single=False,
    )


def _parse(
    stage: str,
    serialized: Any,
    context: Mapping[str, Feature],
    lists: Mapping[str, Feature],
    names: Any,
    single: bool,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    if not context and not lists:
        raise ValueError(f"{stage}: context_features or sequence_features must have a feature")
    attributes = {
        "op": stage,
        "single": single,
        "context": requests(stage, context, OF_CONTEXT),
        "sequence": requests(stage, lists, OF_SEQUENCE),
    }
    found = call("io.parse_sequence_example", records_and_names(serialized, names), attributes)
    outputs: Iterator[Any] = iter(found if isinstance(found, tuple) else (found,))
    context_found = {key: feature_values(f, outputs, single) for key, f in context.items()}
    lists_found: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    for key, feature in lists.items():
        value = next(outputs)
        if isinstance(feature, FixedLenSequenceFeature):
            if not single:
                lengths[key] = next(outputs)
        else:
            value = (value, next(outputs))
            value = value if single else (value, next(outputs))
        lists_found[key] = value
    return context_found, lists_found, lengths


@checked
def make_sequence_example(
    context: Mapping[str, Any],
    feature_lists: Mapping[str, Sequence[Any]],
    name: str | None = None,
) -> bytes:
    """Return a serialised `tf.train.SequenceExample`, which `parse_sequence_example` can read.

    Parameters
    ----------
    context : mapping of str to values
        Features of the whole example, as in `make_example`.
    feature_lists : mapping of str to sequences of values
        For each key the values of each step. Steps may have different numbers of values.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bytes
        The message.

    Raises
    ------
    TypeError
        If values have another type. The message names the feature.
    ValueError
        If an integer does not fit in int64.

    Examples
    --------
    >>> record = ps.io.make_sequence_example({"user": "ann"}, {"words": [["a", "b"], [], ["c"]]})
    >>> asked = {"words": ps.io.VarLenFeature(bytes)}
    >>> _, lists = ps.io.parse_single_sequence_example(record, sequence_features=asked)
    >>> lists["words"]
    (array([b'a', b'b', b'c'], dtype=object), array([0, 2, 2, 3]))
    """
    check_keys("make_sequence_example", context)
    check_keys("make_sequence_example", feature_lists)
    steps = {key: list(values) for key, values in feature_lists.items()}
    attributes = {
        "context": _core.Value((encoded(context),), False),
        "lists": _core.Value((encoded(steps),), False),
        "steps": [len(values) for values in steps.values()],
    }
    values = [*context.values(), *(value for each in steps.values() for value in each)]
    return call("io.make_sequence_example", list(map(input_of, values)), attributes)
