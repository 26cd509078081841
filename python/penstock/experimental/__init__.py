"""tf.data.experimental: its functions for ``ds.apply``, sources and older names."""

from penstock.experimental.access import at, cardinality, get_structure
from penstock.experimental.csv_batches import make_csv_dataset
from penstock.experimental.csv_records import CsvDataset
from penstock.experimental.grouping import group_by_window
from penstock.experimental.transformations import (
    assert_cardinality,
    enumerate_dataset,
    get_single_element,
    map_and_batch,
    parallel_interleave,
    shuffle_and_repeat,
    unbatch,
)

__all__ = [
    "CsvDataset",
    "assert_cardinality",
    "at",
    "cardinality",
    "enumerate_dataset",
    "get_single_element",
    "get_structure",
    "group_by_window",
    "make_csv_dataset",
    "map_and_batch",
    "parallel_interleave",
    "shuffle_and_repeat",
    "unbatch",
]
