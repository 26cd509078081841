"""The stages of random pipelines; see plans.py. Test files of kinds define more, as `STAGE`."""

import itertools

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import oracle
import penstock as ps
from contract import Failure
from of_contracts import entries
from plan_functions import FUNCTIONS, NATIVE, PREDICATES, RANDOM, number, storable
from plan_grouping import GROUPING
from plan_stage import PLACES, RANDOM_VALUES, SHUFFLES, Stage, args, numbers, small

# --- datasets that functions open ---


def opener(plan, run):
    def open_dataset(*args):
        return plan.build(run, args[0] if len(args) == 1 else args)

    return open_dataset


def opened(again, expect, plan):
    """Yield each dataset that flat_map or interleave opens, lazily: its steps, or a failure."""
    for x in again():
        if oracle.failed(x):
            yield x
            continue
        value = x[0] if type(x) is tuple and len(x) == 1 else x
        form = plan.source[1].get("form")
        n = number(value) if plan.source[0] == "given" else 0
        if form == "refuses" and n % 3 == 1:
            yield Failure("Boom", f"opening {n}")
        elif form == "no dataset" and n % 4 == 1:
            # zip takes the value as an argument; other stages are looked up as its methods.
            asked = plan.stages and plan.stages[0][0] != "zip"
            yield oracle.any_failure("AttributeError" if asked else "TypeError")
        else:
            yield expect(plan, value)()


def native_form(form, calls, ds):
    """Make numbers, and apply a native function to them."""
    return ds.map(number, calls, output_signature=ps.TensorSpec((), "int64")).map(
        ps.native(form.function), calls
    )


def side_by_side(nesting, a, b):
    return {"tuple": (a, b), "dict": {"x": a, "y": {"z": b}}, "three": (a, (b, a))}[nesting]


def zip_steps(again, expect, nesting, plan):
    inputs = [again(), expect(plan)()]
    if nesting == "three":
        inputs.append(again())
    for x in oracle.zip_inputs(inputs):
        yield x if oracle.failed(x) else side_by_side(nesting, *x[:2])


def dealt_out(ds, **arguments):
    """Return a shard, unless the order of its elements would be undefined."""
    try:
        return ds.shard_evenly(**arguments)
    except ValueError as error:
        assume("this process alone" not in str(error))
        raise


def padded_shard(again, **a):
    def real():
        for x in again():
            yield x if oracle.failed(x) else (x, np.True_)

    return oracle.shard_evenly(real, **a, remainder="pad", zero=lambda x: (x[0] * 0, np.False_))


def prefetched(ds, size):
    prefetch = ds.prefetch  # raises for a value that is not a dataset, whatever the size
    # Directly after from_indexable, even prefetch(0) changes more than timing: take seeks by
    # position.
    needed = size != 0 or ds._kind.endswith("from_indexable")
    return prefetch(size) if needed else ds


STAGES = {
    "map": Stage(
        args(function=st.sampled_from(FUNCTIONS)),
        lambda ds, run, function: ds.map(function, run.parallel()),
        lambda again, expect, function: oracle.map(again(), function),
    ),
    "map native": Stage(
        args(form=st.sampled_from(NATIVE)),
        lambda ds, run, form: native_form(form, run.parallel(), ds),
        lambda again, expect, form: oracle.map(numbers(again), form.reference),
    ),
    "map random": Stage(
        st.just({}),
        lambda ds, run: ds.map(number, run.parallel()).map(RANDOM, run.parallel()),
        lambda again, expect: numbers(again),
        RANDOM_VALUES,
    ),
    "filter": Stage(
        args(predicate=st.sampled_from(PREDICATES)),
        lambda ds, run, predicate: ds.filter(predicate, num_parallel_calls=run.parallel()),
        lambda again, expect, predicate: oracle.filter(again(), predicate),
    ),
    "shard": Stage(
        small.flatmap(lambda n: args(num_shards=st.just(n), index=st.integers(0, n - 1))),
        lambda ds, run, **a: ds.shard(**a),
        lambda again, expect, **a: oracle.shard(again(), **a),
        PLACES,
    ),
    "shard_evenly": Stage(
        small.flatmap(
            lambda n: args(
                num_shards=st.just(n),
                index=st.integers(0, n - 1),
                remainder=st.sampled_from(["drop", "repeat"]),
            )
        ),
        lambda ds, run, **a: dealt_out(ds, **a),
        lambda again, expect, **a: oracle.shard_evenly(again, **a),
        PLACES,
    ),
    "shard_evenly, padded": Stage(
        small.flatmap(lambda n: args(num_shards=st.just(n), index=st.integers(0, n - 1))),
        lambda ds, run, **a: dealt_out(ds.map(number), **a, remainder="pad"),
        lambda again, expect, **a: padded_shard(lambda: numbers(again), **a),
        PLACES,
    ),
    "repeat": Stage(
        args(count=st.sampled_from([0, 1, 2, 3, -1])),
        lambda ds, run, count: ds.repeat(None if count < 0 else count),
        lambda again, expect, count: oracle.repeat(again, count),
    ),
    "prefetch": Stage(
        st.just({}),
        lambda ds, run: prefetched(ds, run.buffer()),
        lambda again, expect: again(),
    ),
    "cache": Stage(st.just({}), lambda ds, run: ds.cache(), lambda again, expect: again()),
    "cache file": Stage(
        args(name=st.uuids()),
        lambda ds, run, name: ds.map(storable).cache(f"{run.folder}/{name}/{run.place}"),
        lambda again, expect, name: oracle.map(again(), storable),
    ),
    "snapshot": Stage(
        args(name=st.uuids()),
        lambda ds, run, name: ds.map(storable).snapshot(f"{run.folder}/{name}"),
        lambda again, expect, name: oracle.map(again(), storable),
    ),
    "batch": Stage(
        args(size=small, drop=st.booleans()),
        lambda ds, run, size, drop: ds.batch(size, drop, run.parallel()),
        lambda again, expect, size, drop: oracle.stacked(again(), size, drop),
        PLACES,
    ),
    "unbatch": Stage(
        st.just({}),
        lambda ds, run: ds.unbatch(),
        lambda again, expect: oracle.unbatch(again()),
    ),
    "rebatch": Stage(
        args(size=st.one_of(small, st.lists(small, min_size=1, max_size=3)), drop=st.booleans()),
        lambda ds, run, size, drop: ds.rebatch(size, drop),
        lambda again, expect, size, drop: oracle.stacked(oracle.unbatch(again()), size, drop),
        PLACES,
    ),
    "shuffle": Stage(
        args(
            size=st.sampled_from([1, 2, 5, 100]),
            seed=st.sampled_from([None, 0, 7]),
            reshuffle=st.sampled_from([None, True, False]),
        ),
        lambda ds, run, size, seed, reshuffle: ds.shuffle(size, seed, reshuffle),
        lambda again, expect, **_: again(),
        SHUFFLES,
    ),
    "concatenate": Stage(
        lambda inner, other: args(plan=other),
        lambda ds, run, plan: ds.map(number).concatenate(plan.build(run).map(number)),
        lambda again, expect, plan: itertools.chain(
            oracle.map(again(), number), oracle.map(expect(plan)(), number)
        ),
    ),
    "zip": Stage(
        lambda inner, other: args(nesting=st.sampled_from(["tuple", "dict", "three"]), plan=other),
        lambda ds, run, nesting, plan: ps.Dataset.zip(side_by_side(nesting, ds, plan.build(run))),
        zip_steps,
        PLACES,
    ),
    "flat_map": Stage(
        lambda inner, other: args(plan=inner),
        lambda ds, run, plan: ds.flat_map(opener(plan, run)),
        lambda again, expect, plan: oracle.interleave(opened(again, expect, plan), 1, 10**9),
    ),
    "interleave": Stage(
        lambda inner, other: args(cycle=small, block=small, plan=inner),
        lambda ds, run, cycle, block, plan: ds.interleave(
            opener(plan, run), cycle, block, run.parallel(cycle)
        ),
        lambda again, expect, cycle, block, plan: oracle.interleave(
            opened(again, expect, plan), cycle, block
        ),
        PLACES,
    ),
    **GROUPING,
    **entries("STAGE"),
}
