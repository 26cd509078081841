"""tf.data: the Dataset and its sources."""

from penstock.compat.dataset import (
    Dataset,
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from penstock.compat.dataset_spec import DatasetSpec
from penstock.compat.iterator import NumpyIterator
from penstock.compat.iterator import OwnedIterator as Iterator
from penstock.compat.listing import listing
from penstock.compat.tf.data import experimental
from penstock.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from penstock.options import Options, ThreadingOptions

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "NumpyIterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]

__dir__ = listing(globals())
