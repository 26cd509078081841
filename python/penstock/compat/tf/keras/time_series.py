"""Datasets of sliding windows over a time series."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.dataset import Dataset
from penstock.compat.listing import listing
from penstock.compat.shape import TensorSpec
from penstock.compat.tensor import tensor


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    format: str = "tf",
) -> Dataset:
    """Create a dataset of sliding windows over a time series.

    Parameters
    ----------
    data : array_like
        A row for each time.
    targets : array_like or None
        The target of the window that starts at each time.
    sequence_length : int
        Number of rows in a window.
    sequence_stride : int
        Distance between the starts of windows.
    sampling_rate : int
        Distance between the rows of a window.
    batch_size : int or None
        Number of windows in a batch; None for no batching.
    shuffle : bool
        Whether to shuffle the windows.
    seed : int, optional
        The seed, for a reproducible order.
    start_index, end_index : int, optional
        The range of `data` to use.
    format : str
        Must be "tf".

    Returns
    -------
    Dataset
        A dataset of windows, or of pairs of windows and targets.

    Raises
    ------
    ValueError
        If an argument has an invalid value.
    """
    _check(locals())
    start = start_index or 0
    end = len(data) if end_index is None else end_index
    rows = np.asarray(tensor(data))[start:end]
    count = end - start - (sequence_length - 1) * sampling_rate
    if targets is not None:
        count = min(count, len(targets))
        wanted = np.asarray(tensor(targets))[start:end]
    begins = np.arange(0, count, sequence_stride)
    if shuffle:
        begins = np.random.default_rng(seed).permutation(begins)
    offsets = np.arange(sequence_length) * sampling_rate

    def window(begin: Any) -> Any:
        sequence = rows[int(begin) + offsets]
        return sequence if targets is None else (sequence, wanted[int(begin)])

    dataset: Any = Dataset.from_tensor_slices(begins)
    if shuffle:
        dataset = dataset.shuffle(1024 if batch_size is None else batch_size * 8, seed)
    spec: Any = TensorSpec((sequence_length, *rows.shape[1:]), rows.dtype)
    if targets is not None:
        spec = (spec, TensorSpec(wanted.shape[1:], wanted.dtype))
    dataset = dataset.map(window, output_signature=spec)
    if batch_size is not None:
        dataset = dataset.batch(batch_size)
    return dataset.prefetch(None)  # type: ignore[no-any-return]


def _check(given: dict[str, Any]) -> None:
    length = len(given["data"])
    start, end = given["start_index"], given["end_index"]
    if start and not 0 <= start < length:
        raise ValueError(
            f"`start_index` must be 0 or greater and lower than the length of the data, {length}. "
            f"Received: start_index={start}"
        )
    if end and not max(start or 0, 0) < end < length:
        raise ValueError(
            "`end_index` must be higher than `start_index` and lower than the length of the data, "
            f"{length}. Received: start_index={start}, and end_index={end}"
        )
    for name in ("sampling_rate", "sequence_stride"):
        if not 0 < given[name] < length:
            raise ValueError(
                f"`{name}` must be higher than 0 and lower than the length of the data, {length}. "
                f"Received: {name}={given[name]}"
            )
    if given["format"] != "tf":
        raise ValueError(f'`format` should be "tf". Received: format={given["format"]}')


__dir__ = listing(globals())
