"""Elements on devices, which are the CPU here: prefetch_to_device, copy_to_device."""

from __future__ import annotations

import re

from penstock.arguments.checked import checked
from penstock.dataset import AUTOTUNE, Dataset
from penstock.experimental.transformations import Transformation

__all__ = ["copy_to_device", "prefetch_to_device"]

_CPU = re.compile(r"(/?job:\w+/replica:\d+/task:\d+)?/?(device:)?cpu(:0)?", re.IGNORECASE)


@checked
def prefetch_to_device(device: str, buffer_size: int | None = None) -> Transformation:
    """Make elements ahead of use, in the memory of the CPU: `Dataset.prefetch`.

    Parameters
    ----------
    device : str
        "cpu", "/cpu:0" or another way to write it.
    buffer_size : int, optional
        Elements to have ready; AUTOTUNE (-1) or None chooses.

    Returns
    -------
    callable
        For `Dataset.apply`.

    Raises
    ------
    ValueError
        If `device` is not the CPU.

    Examples
    --------
    >>> [int(x) for x in ps.Dataset.range(3).apply(ps.experimental.prefetch_to_device("/cpu:0"))]
    [0, 1, 2]
    """
    _check("prefetch_to_device", "device", device)
    size = AUTOTUNE if buffer_size is None else buffer_size
    return lambda dataset: dataset.prefetch(size)


@checked
def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Leave elements where they are, in the memory of the CPU.

    Parameters
    ----------
    target_device, source_device : str
        "cpu", "/cpu:0" or another way to write it.

    Returns
    -------
    callable
        For `Dataset.apply`: gives back the dataset.

    Raises
    ------
    ValueError
        If one of them is not the CPU.

    Examples
    --------
    >>> [int(x) for x in ps.Dataset.range(3).apply(ps.experimental.copy_to_device("/cpu:0"))]
    [0, 1, 2]
    """
    _check("copy_to_device", "target_device", target_device)
    _check("copy_to_device", "source_device", source_device)

    def apply(dataset: Dataset) -> Dataset:
        return dataset

    return apply


def _check(stage: str, argument: str, device: str) -> None:
    if not isinstance(device, str) or not _CPU.fullmatch(device):
        raise ValueError(
            f"{stage}: {argument} must be the CPU, got {device!r}; elements are NumPy arrays: use "
            "prefetch(), and copy them to the device in the loop over the dataset"
        )
