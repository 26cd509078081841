"""The stages of random pipelines that pad, or gather elements by more than their order."""

from hypothesis import strategies as st

import oracle
from plan_functions import PREDICATES, number, paddable, ragged
from plan_stage import PLACES, Stage, args, numbers, small


def third(*parts):
    return number(*parts) % 3


def batches(size):
    return lambda *windows: windows[-1].batch(size)


def length(*parts):
    return number(*parts) % 7


def bucket(*parts):
    return (length(*parts) >= 2) + (length(*parts) >= 5)


GROUPING = {
    "bucket_by_sequence_length": Stage(
        args(size=small, drop=st.booleans()),
        lambda ds, run, size, drop: ds.map(paddable).bucket_by_sequence_length(
            length, [2, 5], [size, 2, 1], drop_remainder=drop
        ),
        lambda again, expect, size, drop: oracle.grouped(
            oracle.map(again(), paddable),
            bucket,
            lambda key: [size, 2, 1][key],
            lambda rows, n: oracle.padded(rows, n, drop),
        ),
        PLACES,
    ),
    "padded_batch": Stage(
        args(size=small, drop=st.booleans()),
        lambda ds, run, size, drop: ds.map(paddable).padded_batch(size, drop_remainder=drop),
        lambda again, expect, size, drop: oracle.padded(oracle.map(again(), paddable), size, drop),
        PLACES,
    ),
    "ragged_batch": Stage(
        args(size=small, drop=st.booleans()),
        lambda ds, run, size, drop: ds.map(ragged).ragged_batch(size, drop),
        lambda again, expect, size, drop: oracle.ragged_batches(
            oracle.map(again(), ragged), size, drop
        ),
        PLACES,
    ),
    "take_while": Stage(
        args(predicate=st.sampled_from(PREDICATES)),
        lambda ds, run, predicate: ds.take_while(predicate),
        lambda again, expect, predicate: oracle.take_while(again(), predicate),
        PLACES,
    ),
    "unique": Stage(
        st.just({}),
        lambda ds, run: ds.map(number).unique(),
        lambda again, expect: oracle.unique(numbers(again)),
    ),
    "window": Stage(
        args(
            size=small,
            shift=st.sampled_from([None, 1, 2, 7]),
            stride=st.integers(1, 3),
            drop=st.booleans(),
        ),
        lambda ds, run, size, shift, stride, drop: (
            ds.map(number).window(size, shift, stride, drop).flat_map(batches(size))
        ),
        lambda again, expect, size, shift, stride, drop: oracle.windows(
            numbers(again), size, shift or size, stride, drop
        ),
        PLACES,
    ),
    "group_by_window": Stage(
        args(size=small, batch=small),
        lambda ds, run, size, batch: ds.group_by_window(third, batches(batch), size),
        lambda again, expect, size, batch: oracle.grouped(
            again(), third, lambda key: size, lambda rows, n: oracle.stacked(rows, batch)
        ),
        PLACES,
    ),
}
