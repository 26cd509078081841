"""tf.data.experimental: functions for ``ds.apply``, sources, and older names."""

from penstock.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from penstock.debugging import debug_mode, disable_debug_mode, enable_debug_mode
from penstock.experimental.access import at, cardinality, count, get_structure
from penstock.experimental.csv_batches import make_csv_dataset
from penstock.experimental.csv_records import CsvDataset
from penstock.experimental.devices import copy_to_device, prefetch_to_device
from penstock.experimental.examples import (
    make_batched_features_dataset,
    parse_example_dataset,
)
from penstock.experimental.failing import ignore_errors
from penstock.experimental.folding import scan
from penstock.experimental.grouping import (
    Reducer,
    bucket_by_sequence_length,
    group_by_reducer,
    group_by_window,
)
from penstock.experimental.iterators import get_next_as_optional
from penstock.experimental.keeping import TFRecordWriter, load, save, snapshot
from penstock.experimental.mixing import (
    choose_from_datasets,
    rejection_resample,
    sample_from_datasets,
)
from penstock.experimental.padding import dense_to_ragged_batch, pad_to_cardinality
from penstock.experimental.selecting import take_while, unique
from penstock.experimental.sources import Counter, RandomDataset, from_list
from penstock.experimental.sql import SqlDataset
from penstock.experimental.transformations import (
    assert_cardinality,
    enumerate_dataset,
    get_single_element,
    map_and_batch,
    parallel_interleave,
    shuffle_and_repeat,
    unbatch,
)
from penstock.optional import Optional
from penstock.options import AutotuneOptions, ThreadingOptions
from penstock.unused_options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ServiceOptions,
)

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "ServiceOptions",
    "SqlDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "count",
    "debug_mode",
    "dense_to_ragged_batch",
    "disable_debug_mode",
    "enable_debug_mode",
    "enumerate_dataset",
    "from_list",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]


def __dir__() -> list[str]:
    return [*__all__]
