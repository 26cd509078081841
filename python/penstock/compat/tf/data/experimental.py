"""tf.data.experimental: penstock's functions, for datasets of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock import experimental as _experimental
from penstock.compat.calling import argument, ported
from penstock.compat.dataset import Dataset, source_class
from penstock.compat.iterator import Optional
from penstock.compat.listing import listing
from penstock.compat.tf import io as _io
from penstock.compat.tf.io import parse_example
from penstock.compat.values import specs, tensors
from penstock.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from penstock.dataset import Dataset as _Dataset
from penstock.ops.features import FixedLenFeature


def _result(value: Any) -> Any:
    """Return a transformation as a function of datasets of tensors; convert others to tensors."""
    if callable(value) and not isinstance(value, type):
        return functools.partial(_transformed, value)
    return tensors(value)


def _transformed(transformation: Callable[[Any], Any], dataset: Any) -> Any:
    return tensors(transformation(argument(dataset)))


class TFRecordWriter(_experimental.TFRecordWriter):
    """Write the records of a dataset to a file."""

    def write(self, dataset: Any) -> None:
        """Write all records.

        Parameters
        ----------
        dataset : Dataset
            A dataset of strings.
        """
        super().write(argument(dataset))


def parse_example_dataset(
    features: Any, num_parallel_calls: int = 1, deterministic: bool | None = None
) -> Callable[[Any], Any]:
    """Return a function for ``dataset.apply`` that parses batches of `tf.train.Example` messages.

    Parameters
    ----------
    features : mapping of str to features
        The features to return, as in `tf.io.parse_example`.
    num_parallel_calls, deterministic
        As in `Dataset.map`.

    Returns
    -------
    callable
        The function to pass to `Dataset.apply`.
    """
    parse = functools.partial(parse_example, features=features)
    return lambda dataset: dataset.map(parse, num_parallel_calls, deterministic)


def make_batched_features_dataset(
    file_pattern: Any, batch_size: int, features: Any, *args: Any, **kwargs: Any
) -> Any:
    """Read files of `tf.train.Example` messages, in batches of parsed features.

    Parameters
    ----------
    file_pattern : str or sequence of them
        The files.
    batch_size : int
        Number of messages in a batch.
    features : mapping of str to features
        The features to return, as in `tf.io.parse_example`.
    *args, **kwargs
        As in `penstock.experimental.make_batched_features_dataset`.

    Returns
    -------
    Dataset
        A dataset of dicts, or of pairs of a dict and a label.
    """
    batches = _batched_features(file_pattern, batch_size, features, *args, **kwargs)
    if all(isinstance(feature, FixedLenFeature) for feature in features.values()):
        return batches
    return batches.map(functools.partial(_with_classes, features))


_batched_features = ported(_experimental.make_batched_features_dataset)


def _with_classes(features: Any, parsed: Any, *label: Any) -> Any:
    classed = _io._with_classes(parsed, features)
    return (classed, *label) if label else classed


def cardinality(dataset: Any) -> Any:
    """Return the number of elements; see `Dataset.cardinality`."""
    return dataset.cardinality()


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return types and shapes of the elements; see `Dataset.element_spec`."""
    return specs(dataset_or_iterator.element_spec)


def get_next_as_optional(iterator: Any) -> Any:
    """Return the next element, if there is one."""
    return iterator.get_next_as_optional()


def _twin(name: str, method: str) -> Callable[..., Any]:
    """Return the older form of a Dataset method: a function for ``dataset.apply``."""

    def transformation(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        return lambda dataset: getattr(dataset, method)(*args, **kwargs)

    transformation.__name__ = transformation.__qualname__ = name
    transformation.__doc__ = f"Return a function for ``dataset.apply``: `Dataset.{method}`."
    return transformation


def save(dataset: Any, path: str, *args: Any, **kwargs: Any) -> Any:
    """Write the elements to files; see `Dataset.save`."""
    return dataset.save(path, *args, **kwargs)


_TWINS = {
    name: name
    for name in (
        *("bucket_by_sequence_length", "group_by_window", "ignore_errors", "rejection_resample"),
        *("scan", "snapshot", "take_while", "unique"),
    )
} | {"dense_to_ragged_batch": "ragged_batch", "dense_to_sparse_batch": "sparse_batch"}
_SOURCES = {
    "Counter": "counter",
    "choose_from_datasets": "choose_from_datasets",
    "load": "load",
    "sample_from_datasets": "sample_from_datasets",
}
for _name, _method in _TWINS.items():
    if hasattr(Dataset, _method):
        globals().setdefault(_name, _twin(_name, _method))
for _name in _experimental.__all__:
    _thing = getattr(_experimental, _name)
    if isinstance(_thing, type) and issubclass(_thing, _Dataset):
        _thing = source_class(_thing, __name__)
    # Classes are used unchanged, except the one that contains functions of elements. Functions
    # defined here already return tensors.
    _is_itself = (isinstance(_thing, type) and _name != "Reducer") or not callable(_thing)
    globals().setdefault(_name, _thing if _is_itself else ported(_thing, _result))
for _name, _method in _SOURCES.items():
    if hasattr(Dataset, _method):
        globals().setdefault(_name, getattr(Dataset, _method))

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Optional",
]

__dir__ = listing(globals())
