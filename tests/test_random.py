"""Random pipelines give what an oracle in plain Python says, also saved and restored half-way."""

import itertools

import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import oracle
import penstock as ps
from contract import MOST_STATE

MOST = 400  # elements: what grows beyond is cut


def triple(x):
    return 3 * x + 1


def odd(x):
    return x % 2 == 1


def up_to(x):
    return ps.Dataset.range(int(x) % 4)


calls = st.sampled_from([None, 1, 2, 3, ps.AUTOTUNE])
small = st.integers(1, 5)

# Each stage: its name, how a dataset gets it, how a list gets it. Elements stay integers.
STAGES = {
    "map": (calls, lambda ds, n: ds.map(triple, n), lambda xs, n: [triple(x) for x in xs]),
    "filter": (st.none(), lambda ds, _: ds.filter(odd), lambda xs, _: [x for x in xs if odd(x)]),
    "take": (st.integers(-1, 30), lambda ds, n: ds.take(n), lambda xs, n: xs if n < 0 else xs[:n]),
    "skip": (st.integers(-1, 9), lambda ds, n: ds.skip(n), lambda xs, n: [] if n < 0 else xs[n:]),
    "shard": (small, lambda ds, n: ds.shard(n, n - 1), lambda xs, n: xs[n - 1 :: n]),
    "repeat": (st.integers(0, 3), lambda ds, n: ds.repeat(n), lambda xs, n: xs * n),
    "prefetch": (
        st.sampled_from([0, 1, 2, 7, ps.AUTOTUNE]),
        lambda ds, n: ds.prefetch(n),
        lambda xs, n: xs,
    ),
    "cache": (st.none(), lambda ds, _: ds.cache(), lambda xs, _: xs),
    "enumerate": (
        st.none(),
        lambda ds, _: ds.enumerate().map(lambda i, x: i + x),
        lambda xs, _: [i + x for i, x in enumerate(xs)],
    ),
    "zip": (
        st.none(),
        lambda ds, _: ps.Dataset.zip(ds, ds.skip(1)).map(lambda a, b: a - b),
        lambda xs, _: [a - b for a, b in itertools.pairwise(xs)],
    ),
    "concatenate": (
        small,
        lambda ds, n: ds.concatenate(ps.Dataset.range(n)),
        lambda xs, n: [*xs, *range(n)],
    ),
    "batch and unbatch": (
        st.tuples(small, st.booleans(), calls),
        lambda ds, a: ds.batch(*a).unbatch(),
        lambda xs, a: [x for rows in oracle.batch(xs, a[0], a[1]) for x in rows],
    ),
    "sums of batches": (
        st.tuples(small, st.booleans(), calls),
        lambda ds, a: ds.batch(*a).map(np.sum, a[2]),
        lambda xs, a: [sum(rows) for rows in oracle.batch(xs, a[0], a[1])],
    ),
    "interleave": (
        st.tuples(small, small, calls),
        lambda ds, a: ds.interleave(up_to, a[0], a[1], _at_most(a[2], a[0])),
        lambda xs, a: list(oracle.interleave([range(x % 4) for x in xs], a[0], a[1])),
    ),
    "flat_map": (
        st.none(),
        lambda ds, _: ds.flat_map(up_to),
        lambda xs, _: [y for x in xs for y in range(x % 4)],
    ),
}


def _at_most(n, cycle):
    return n if n is None else min(n, cycle)


def pipelines(names):
    stage = st.one_of(*(st.tuples(st.just(name), STAGES[name][0]) for name in names))
    return st.lists(stage, max_size=7)


def shuffles():
    return st.tuples(st.just("shuffle"), st.tuples(st.sampled_from([1, 3, 100]), st.integers(0, 9)))


def build(n, pipeline):
    ds = ps.Dataset.range(n)
    for name, argument in pipeline:
        ds = (
            ds.shuffle(*argument) if name == "shuffle" else STAGES[name][1](ds, argument).take(MOST)
        )
    return ds


def compute(n, pipeline):
    xs = list(range(n))
    for name, argument in pipeline:
        xs = STAGES[name][2](xs, argument)[:MOST]
    return xs


def check_state(n, pipeline, wanted, at):
    """Save behind element `at`, restore elsewhere, save at once and restore again."""
    with iter(build(n, pipeline)) as it:
        came = [int(x) for x in itertools.islice(it, at)]
        state = it.get_state()
    assert len(state) < MOST_STATE
    with iter(build(n, pipeline)) as resumed:
        resumed.set_state(state)
        again = resumed.get_state()
        assert came + [int(x) for x in resumed] == wanted
    with iter(build(n, pipeline)) as third:
        third.set_state(again)
        assert came + [int(x) for x in third] == wanted


common = settings(
    derandomize=True,
    deadline=None,
    max_examples=1500,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@common
@given(st.integers(0, 25), pipelines(STAGES), st.integers(0, 40))
def test_random_pipelines(n, pipeline, at):
    note(f"range({n}), {pipeline}, saved behind element {at}")
    wanted = compute(n, pipeline)
    ds = build(n, pipeline)
    assert [int(x) for x in ds] == wanted
    if ds.cardinality() >= 0:
        assert ds.cardinality() == len(wanted)
    check_state(n, pipeline, wanted, at)


# What keeps the multiset of its elements when they come in another order.
ORDER_FREE = ["map", "filter", "prefetch", "cache", "batch and unbatch", "flat_map"]


@common
@given(
    st.integers(0, 25), pipelines(ORDER_FREE), shuffles(), pipelines(ORDER_FREE), st.integers(0, 40)
)
def test_random_pipelines_with_a_shuffle(n, before, shuffle, behind, at):
    drops = [a for name, a in behind if name == "batch and unbatch" and a[1]]
    pipeline = [
        *before,
        shuffle,
        *(s for s in behind if not (drops and s[0] == "batch and unbatch")),
    ]
    note(f"range({n}), {pipeline}, saved behind element {at}")
    wanted = compute(n, [s for s in pipeline if s[0] != "shuffle"])
    came = [int(x) for x in build(n, pipeline)]
    if len(wanted) < MOST:
        assert sorted(came) == sorted(wanted)
    check_state(n, pipeline, came, at)
