"""Batches of tf.train.Example messages: parse_example_dataset, make_batched_features_dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock import _core
from penstock.arguments.checked import checked
from penstock.dataset import AUTOTUNE, Dataset
from penstock.experimental.epochs import shuffled_epochs
from penstock.experimental.transformations import Transformation
from penstock.ops.examples import parse_example
from penstock.ops.features import Feature, FixedLenSequenceFeature
from penstock.ops.native import native
from penstock.paths import Names, patterns_of
from penstock.sources.files import (
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from penstock.stages.arguments import check_batch_size
from penstock.structure import TensorSpec, as_dtype

__all__ = ["make_batched_features_dataset", "parse_example_dataset"]

_NATIVE_READERS = (FixedLengthRecordDataset, TextLineDataset, TFRecordDataset)


class _Parsed:
    """Parse a batch of messages."""

    def __init__(self, features: Mapping[str, Feature]) -> None:
        self.features = features

    def __call__(self, serialized: Any) -> dict[str, Any]:
        return parse_example(serialized, self.features)

    def spec(self, rows: int | None) -> dict[str, Any]:
        """Return the types and shapes of the results for batches of `rows` messages."""
        empty = parse_example([], self.features)
        return {key: self._leaves(key, value, rows) for key, value in empty.items()}

    def _leaves(self, key: str, value: Any, rows: int | None) -> Any:
        feature = self.features[key]
        kind = as_dtype(feature.dtype)
        if isinstance(value, tuple):
            values, splits = value
            inner = values.shape[1:]
            count = None if rows is None else rows + 1
            return TensorSpec((None, *inner), kind), TensorSpec((count,), splits.dtype)
        padded = isinstance(feature, FixedLenSequenceFeature)
        shape = (rows, None, *value.shape[2:]) if padded else (rows, *value.shape[1:])
        return TensorSpec(shape, kind)


class _Labelled:
    """Separate one feature from the others."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, features: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        others = {key: value for key, value in features.items() if key != self.key}
        return others, features[self.key]


class _Opened:
    """Open a file with a reader and additional arguments."""

    def __init__(self, reader: Callable[..., Dataset], arguments: Sequence[Any]) -> None:
        self.reader = reader
        self.arguments = tuple(arguments)

    def __call__(self, name: Any) -> Dataset:
        return self.reader(name, *self.arguments)


def _value_of_pair(key: Any, value: Any) -> Any:
    return value


@checked
def parse_example_dataset(
    features: Mapping[str, Feature],
    num_parallel_calls: int = 1,
    deterministic: bool | None = None,
) -> Transformation:
    """Parse batches of `tf.train.Example` messages natively, as `io.parse_example` does.

    Parameters
    ----------
    features : mapping of str to features
        The features to parse, as in `io.parse_example`.
    num_parallel_calls : int
        Maximum number of concurrent calls, each on its own thread; AUTOTUNE (-1) picks the number.
    deterministic : bool, optional
        Whether results are in order; None uses the setting in `Options` (True by default).

    Returns
    -------
    callable
        A function for `Dataset.apply`, from batches of messages to dicts in the order of
        `features`.

    Raises
    ------
    ValueError
        If `features` is empty; when the transformation is applied, if `num_parallel_calls` is
        neither AUTOTUNE nor >= 1.
    TypeError
        When the transformation is applied, if the elements are not batches of bytes.
    DataError
        While iterating, at the position of a batch with a corrupt message, or a message that lacks
        a required feature; the next batch follows.

    Examples
    --------
    >>> records = [ps.io.make_example({"x": i}) for i in range(5)]
    >>> features = {"x": ps.io.FixedLenFeature((), np.int64)}
    >>> parse = ps.experimental.parse_example_dataset(features)
    >>> for batch in ps.Dataset.from_tensor_slices(records).batch(3).apply(parse):
    ...     batch
    {'x': array([0, 1, 2])}
    {'x': array([3, 4])}
    """
    if not features:
        raise ValueError(f"parse_example_dataset: features must be given, got {features!r}")
    parse = _Parsed(dict(features))

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        strings = isinstance(spec, TensorSpec) and spec.dtype in (bytes, str)
        if not strings or (spec.shape is not None and len(spec.shape) != 1):
            raise TypeError(
                "parse_example_dataset: batches of bytes were expected, got elements of "
                f"{spec}; use batch() first"
            )
        rows = None if spec.shape is None else spec.shape[0]
        parsed = dataset.map(native(parse), num_parallel_calls, deterministic)
        parsed._node.set_spec(_core.Spec(parse.spec(rows)))
        return parsed

    return apply


@checked
def make_batched_features_dataset(
    file_pattern: Names | Sequence[Names],
    batch_size: int,
    features: Mapping[str, Feature],
    reader: Callable[..., Dataset] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Read files of `tf.train.Example` messages into batches of features.

    Parameters
    ----------
    file_pattern : str, path, or sequence of them
        The files, or patterns as in `Dataset.list_files`.
    batch_size : int
        Messages per batch, >= 1.
    features : mapping of str to features
        The features to parse, as in `io.parse_example`.
    reader : callable, optional
        Called with a file name and `reader_args`; returns a dataset of messages, or of pairs whose
        second component is a message. None means `TFRecordDataset`.
    label_key : str, optional
        The feature to return separately.
    reader_args : sequence, optional
        Additional arguments of `reader`.
    num_epochs : int, optional
        Number of epochs; None repeats forever.
    shuffle : bool
        Whether to reshuffle files and messages in each epoch.
    shuffle_buffer_size : int
        Messages in the buffer, as in `Dataset.shuffle`.
    shuffle_seed : int, optional
        Seed of the shuffles; None draws differently in each run, unless `set_seed` was called.
    prefetch_buffer_size : int, optional
        Number of batches to prefetch; AUTOTUNE (-1) or None picks the number, 0 prefetches none.
    reader_num_threads : int, optional
        Number of files to read concurrently, alternating after each message; None means 1.
    parser_num_threads : int, optional
        Number of batches to parse concurrently; None means 2.
    sloppy_ordering : bool
        Whether to skip the turn of a file that has no message ready, which may change the order.
    drop_final_batch : bool
        Drop a last batch with fewer than `batch_size` messages. With ``num_epochs=None`` all
        batches are full.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Returns
    -------
    Dataset
        Dicts from keys to arrays, as returned by `io.parse_example`; with `label_key`, pairs
        ``(dict, label)``.

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing.
    ValueError
        If `label_key` is not in `features`, or another argument is invalid.
    DataError, OSError
        While iterating, as in `TFRecordDataset` and `io.parse_example`.

    Notes
    -----
    Each batch is parsed in one native call, without the GIL.

    Examples
    --------
    >>> with ps.io.TFRecordWriter("numbers.tfrecord") as writer:
    ...     for i in range(5):
    ...         writer.write(ps.io.make_example({"x": i, "even": i % 2 == 0}))
    >>> features = {key: ps.io.FixedLenFeature((), np.int64) for key in ("x", "even")}
    >>> ds = ps.experimental.make_batched_features_dataset(
    ...     "numbers.tfrecord", 3, features, label_key="even", num_epochs=1, shuffle=False)
    >>> list(ds)
    [({'x': array([0, 1, 2])}, array([1, 0, 1])), ({'x': array([3, 4])}, array([0, 1]))]
    """
    check_batch_size("make_batched_features_dataset", batch_size)
    patterns = patterns_of("make_batched_features_dataset", "file_pattern", file_pattern)
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"make_batched_features_dataset: label_key must be one of {list(features)}, got "
            f"{label_key!r}"
        )
    names = Dataset.list_files(patterns, shuffle, shuffle_seed)
    reader = TFRecordDataset if reader is None else reader
    open_: Any = _Opened(reader, () if reader_args is None else reader_args)
    if reader in _NATIVE_READERS:
        open_ = native(open_)
    threads = 1 if reader_num_threads is None else reader_num_threads
    dataset = names.interleave(
        open_,
        None if threads == AUTOTUNE else threads,
        block_length=1,
        num_parallel_calls=threads,
        deterministic=False if sloppy_ordering else None,
    )
    if type(dataset.element_spec) is tuple:
        dataset = dataset.map(_value_of_pair)
    dataset = shuffled_epochs(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    parsers = 2 if parser_num_threads is None else parser_num_threads
    dataset = dataset.apply(parse_example_dataset(features, parsers))
    if label_key is not None:
        label = _Labelled(label_key)
        spec = dataset.element_spec
        dataset = dataset.map(native(label))
        dataset._node.set_spec(_core.Spec(label(spec)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
