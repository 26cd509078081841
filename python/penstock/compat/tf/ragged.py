"""tf.ragged: rows of different lengths."""

from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.ragged.broadcast import map_flat_values
from penstock.compat.ragged.factories import (
    boolean_mask,
    constant,
    cross,
    range,
    row_splits_to_segment_ids,
    segment_ids_to_row_splits,
    stack,
    stack_dynamic_partitions,
)

__all__ = [
    "RaggedTensor",
    "boolean_mask",
    "constant",
    "cross",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]

__dir__ = listing(globals())
