"""Sources: from_list, and the older names of counter and random."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.sources.source import Source

__all__ = ["Counter", "RandomDataset", "from_list"]


@checked
def from_list(elements: list[Any], name: str | None = None) -> Dataset:
    """Create a dataset of the elements of a list; their shapes may differ.

    Parameters
    ----------
    elements : list of nested arrays
        At least one; all with the same structure and dtypes. Large arrays are shared with the
        dataset: do not change them afterwards.
    name : str, optional
        Name of the stage in errors, `Iterator.stats` and traces.

    Returns
    -------
    Dataset
        These elements; `element_spec` has None for an axis that differs.

    Raises
    ------
    ValueError
        If `elements` is not a list, or is empty.
    TypeError
        If the structure or a dtype differs.

    Notes
    -----
    All elements stay in memory; `from_generator` avoids that. Elements whose leaves differ only in
    the size of the first axis are copied into columns, in groups of 256, if they have at most 2 KB
    each on average; each then takes 8 bytes in addition to its numbers. Other elements are kept
    unchanged and take about 400 bytes in addition to their arrays.

    Examples
    --------
    >>> ds = ps.experimental.from_list([([1], "a"), ([2, 3], "b")])
    >>> [(x.tolist(), s) for x, s in ds]
    [([1], 'a'), ([2, 3], 'b')]
    """
    if not isinstance(elements, list):
        raise ValueError(f"from_list: elements must be a list, got {type(elements).__name__}")
    if not elements:
        raise ValueError(
            "from_list: at least one element was expected, got none; use Dataset.range(0) for an "
            "empty dataset"
        )
    return Dataset._make("from_list", (), {"elements": elements}, name)


@checked
def Counter(start: float = 0, step: float = 1, dtype: Any = np.int64) -> Dataset:
    """Count from `start` in increments of `step`, without end: `Dataset.counter`.

    Parameters
    ----------
    start, step, dtype
        As in `Dataset.counter`.

    Returns
    -------
    Dataset
        Scalars.

    Examples
    --------
    >>> [int(x) for x in ps.experimental.Counter(5).take(2)]
    [5, 6]
    """
    return Dataset.counter(start, step, dtype)


class RandomDataset(Source):
    """Draw random integers, without end: `Dataset.random`.

    Elements are int64 scalars, uniform in [0, 2**32).

    Parameters
    ----------
    seed, rerandomize_each_iteration, name
        As in `Dataset.random`.

    Examples
    --------
    >>> numbers = ps.experimental.RandomDataset(seed=7).take(2)
    >>> list(numbers) == list(ps.Dataset.random(seed=7).take(2))
    True
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._become(Dataset.random(seed, rerandomize_each_iteration, name))
