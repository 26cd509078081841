"""The stages of random pipelines that pad, or group elements by more than their order."""

import numpy as np
from hypothesis import strategies as st

import oracle
import penstock as ps
from contract import Boom
from plan_functions import PREDICATES, number, paddable, ragged
from plan_stage import PLACES, SHUFFLES, Stage, args, numbers, small


def third(*parts):
    return number(*parts) % 3


def batches(size):
    return lambda *windows: windows[-1].batch(size)


def length(*parts):
    return number(*parts) % 7


def bucket(*parts):
    return (length(*parts) >= 2) + (length(*parts) >= 5)


def running(state, x):
    if number(x) % 5 == 2:
        raise Boom(f"scan of {number(x)}")
    return np.int64(state + number(x)), (state, number(x))


def mixed(ds, run, plan):
    return [ds.map(number), plan.build(run).map(number)]


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
    "scan": Stage(
        st.just({}),
        lambda ds, run: ds.scan(np.int64(3), running),
        lambda again, expect: oracle.scan(again(), np.int64(3), running),
        PLACES,
    ),
    "ignore_errors": Stage(
        st.just({}),
        lambda ds, run: ds.ignore_errors(max_errors=None),
        lambda again, expect: (x for x in again() if not oracle.failed(x)),
    ),
    "choose_from_datasets": Stage(
        lambda inner, other: args(plan=other, stop=st.booleans()),
        lambda ds, run, plan, stop: ps.Dataset.choose_from_datasets(
            [*mixed(ds, run, plan), ps.Dataset.range(5)],
            ps.Dataset.range(7).repeat(9).map(third),
            stop,
        ),
        lambda again, expect, plan, stop: oracle.choose(
            [numbers(again), numbers(expect(plan)), map(np.int64, range(5))],
            [third(np.int64(x)) for x in range(7)] * 9,
            stop,
        ),
        PLACES,
    ),
    "sample_from_datasets": Stage(
        lambda inner, other: args(plan=other),
        lambda ds, run, plan: ps.Dataset.sample_from_datasets(
            mixed(ds, run, plan), [0.7, 0.3], seed=3
        ),
        lambda again, expect, plan: oracle.alternately(numbers(again), numbers(expect(plan))),
        SHUFFLES,
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
