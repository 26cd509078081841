"""tf.train.Example messages in batches: parse_example_dataset, make_batched_features_dataset."""

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
    """Parses a batch of messages."""

    def __init__(self, features: Mapping[str, Feature]) -> None:
        self.features = features

    def __call__(self, serialized: Any) -> dict[str, Any]:
        return parse_example(serialized, self.features)

    def spec(self, rows: int | None) -> dict[str, Any]:
        """Return types and shapes of the results for batches of `rows` messages."""
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
    """Takes a feature out of the others."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, features: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        others = {key: value for key, value in features.items() if key != self.key}
        return others, features[self.key]


class _Opened:
    """Opens a file by a reader with more arguments."""

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
    """Parse batches of `tf.train.Example` messages: `io.parse_example` for each, natively.

    Parameters
    ----------
    features : mapping of str to features
        The features to parse, as in `io.parse_example`.
    num_parallel_calls : int
        Calls at a time, each on its own thread; AUTOTUNE (-1) chooses.
    deterministic : bool, optional
        Whether results come in order; None takes it from `Options` (True by default).

    Returns
    -------
    callable
        For `Dataset.apply`: from batches of messages to dicts, in the order of `features`.

    Raises
    ------
    ValueError
        If there are no features; when the transformation is applied, if `num_parallel_calls` is
        neither AUTOTUNE nor >= 1.
    TypeError
        When the transformation is applied, to anything but batches of bytes.
    DataError
        While iterating, at the position of a batch with a corrupt message, or one without a feature
        that it must have; the next batch follows.

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
        Messages of a batch, >= 1.
    features : mapping of str to features
        The features to parse, as in `io.parse_example`.
    reader : callable, optional
        Called with a file name and `reader_args`; returns a dataset of messages, or of pairs of
        which they are the second. None means `TFRecordDataset`.
    label_key : str, optional
        The feature that is given separately.
    reader_args : sequence, optional
        More arguments of `reader`.
    num_epochs : int, optional
        How many times the files are read; None means for ever.
    shuffle : bool
        Whether files and messages are shuffled again in each epoch.
    shuffle_buffer_size : int
        Messages in the buffer, as in `Dataset.shuffle`.
    shuffle_seed : int, optional
        Makes the draws repeatable; None draws others in each run, unless `set_seed` was called.
    prefetch_buffer_size : int, optional
        Batches to have ready; AUTOTUNE (-1) or None chooses, 0 makes none ahead.
    reader_num_threads : int, optional
        How many files are read at a time, a message of each in turn; None means 1.
    parser_num_threads : int, optional
        How many batches are parsed at a time; None means 2.
    sloppy_ordering : bool
        Whether a file that has nothing ready loses its turn, so that the order may change.
    drop_final_batch : bool
        Leave out a last batch with fewer than `batch_size` messages. With ``num_epochs=None`` all
        are full.
    storage_options : dict, optional
        Of URLs, as of `remote.configure`: from now on for all in their folders.

    Returns
    -------
    Dataset
        Of dicts from keys to arrays, as `io.parse_example` returns; with `label_key` of
        ``(dict, label)``.

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing.
    ValueError
        If `label_key` is none of `features`, or another argument is wrong.
    DataError, OSError
        While iterating, as with `TFRecordDataset` and `io.parse_example`.

    Notes
    -----
    Whole batches are parsed at once, natively and without the GIL.

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
