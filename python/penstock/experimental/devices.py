"""Elements on devices, of which only the CPU exists: prefetch_to_device, copy_to_device."""

from __future__ import annotations

import re

from penstock.arguments.checked import checked
from penstock.dataset import AUTOTUNE, Dataset
from penstock.experimental.transformations import Transformation

__all__ = ["copy_to_device", "prefetch_to_device"]

_CPU = re.compile(r"(/?job:\w+/replica:\d+/task:\d+)?/?(device:)?cpu(:0)?", re.IGNORECASE)


@checked
def prefetch_to_device(device: str, buffer_size: int | None = None) -> Transformation:
    """Prefetch elements in CPU memory: `Dataset.prefetch`.

    Parameters
    ----------
    device : str
        "cpu", "/cpu:0" or an equivalent name.
    buffer_size : int, optional
        Number of elements to keep ready; AUTOTUNE (-1) or None picks the number.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

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
    """Return a transformation that leaves elements in CPU memory.

    Parameters
    ----------
    target_device, source_device : str
        "cpu", "/cpu:0" or an equivalent name.

    Returns
    -------
    callable
        A function for `Dataset.apply`, which returns the dataset unchanged.

    Raises
    ------
    ValueError
        If one of the devices is not the CPU.

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
