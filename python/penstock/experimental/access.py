"""Inspection of a dataset: a single element, the number of elements, their types."""

from __future__ import annotations

import operator
from typing import Any

from penstock.arguments.checked import checked
from penstock.dataset import INFINITE_CARDINALITY, Dataset
from penstock.iterator import Iterator
from penstock.stages.count import counted
from penstock.stages.select import only_element

__all__ = ["at", "cardinality", "count", "get_structure"]


@checked
def at(dataset: Dataset, index: int) -> Any:
    """Return the element at a position, without computing earlier elements.

    Parameters
    ----------
    dataset : Dataset
        A dataset whose stages all have random access. These are `range`, `from_tensors`,
        `from_tensor_slices`, `from_indexable`, `from_arrow` and other tables, `from_zarr`,
        `from_image_folder`, `list_files`, files with ``indexed=True``, `NumpyDataset`,
        `HDF5Dataset`, `ArrayRecordDataset`, `ParquetDataset` and `ArrowDataset` without filters,
        and saved datasets with rows of one size; `map`, `batch`, `shard`, `shard_evenly`, `zip`,
        `skip`, `take`, `repeat`, `concatenate`, `enumerate`, `shuffle`, `global_shuffle`, `select`,
        `prefetch`, `assert_cardinality` and `cache` in memory.
    index : int
        A position in ``[0, len(dataset))``.

    Returns
    -------
    nested arrays
        The element that iteration yields at this position.

    Raises
    ------
    IndexError
        If `index` is out of range; negative numbers do not count from the end.
    TypeError
        If a stage has no random access; the error names it.

    Notes
    -----
    A `shuffle` always uses the order of the first epoch, whatever has been iterated; without a
    seed, that is a separate random order. It keeps the positions up to the largest one requested, 8
    bytes each. Random operations draw the same numbers each time. A complete `cache` returns the
    stored element; an incomplete one computes it from its input, and stores nothing.

    Cost: computing the one element (of a batch, its rows), plus about 20 us to set up a run. For
    many elements, ``skip`` and ``take`` are cheaper.

    Examples
    --------
    >>> ds = ps.Dataset.range(1_000_000).map(lambda x: x * x).batch(4)
    >>> ps.experimental.at(ds, 100_000)
    array([160000000000, 160000800001, 160001600004, 160002400009])
    """
    number = operator.index(index)
    picked = dataset._then("at", index=max(number, 0))  # raises if a stage lacks random access
    size = dataset.cardinality()
    if number < 0 or (size != INFINITE_CARDINALITY and number >= size):
        raise IndexError(f"at: index must be in [0, {size}), got {number}")
    return only_element(picked)


@checked
def cardinality(dataset: Dataset) -> int:
    """Return the number of elements, where it is known: `Dataset.cardinality`.

    Parameters
    ----------
    dataset : Dataset
        Any dataset.

    Returns
    -------
    int
        The number, ``INFINITE_CARDINALITY`` (-1) or ``UNKNOWN_CARDINALITY`` (-2).

    Examples
    --------
    >>> ps.experimental.cardinality(ps.Dataset.range(10).batch(3))
    4
    """
    return dataset.cardinality()


@checked
def count(dataset: Dataset) -> int:
    """Count the elements of a dataset by iterating over it.

    Parameters
    ----------
    dataset : Dataset
        A finite dataset.

    Returns
    -------
    int
        The number of elements, including those that fail.

    Raises
    ------
    ValueError
        If the dataset is known to be infinite.

    Notes
    -----
    Computes only what is needed to establish that an element exists: the function of a `map` is not
    called, and only the lengths of large TFRecords are read. A known `cardinality` is returned
    immediately. `assert_cardinality` makes the number known to a pipeline.

    Examples
    --------
    >>> ds = ps.Dataset.range(10).filter(lambda x: x % 3 == 0)
    >>> ps.experimental.count(ds)
    4
    """
    known = dataset.cardinality()
    if known == INFINITE_CARDINALITY:
        raise ValueError("count: a dataset that ends was expected, this one is infinite; use take")
    if known >= 0:
        return known
    return counted(dataset)


@checked
def get_structure(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Return the types and shapes of the elements: `Dataset.element_spec`.

    Parameters
    ----------
    dataset_or_iterator : Dataset or Iterator
        A dataset, or an iterator over one.

    Returns
    -------
    nested TensorSpec
        Nested as the elements are.

    Raises
    ------
    TypeError
        If it is neither.

    Examples
    --------
    >>> ps.experimental.get_structure(ps.Dataset.range(3).enumerate())
    (TensorSpec(shape=(), dtype=int64), TensorSpec(shape=(), dtype=int64))
    """
    if not hasattr(dataset_or_iterator, "element_spec"):
        raise TypeError(
            "get_structure: dataset_or_iterator: a Dataset or Iterator was expected, got "
            f"{dataset_or_iterator!r}"
        )
    return dataset_or_iterator.element_spec
