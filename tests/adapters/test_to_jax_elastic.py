"""A state of to_jax resumes with any number of processes, like a plain iterator's state."""

import itertools

import numpy as np
import pytest

import penstock as ps

pytest.importorskip("jax")

ROWS, GLOBAL = 77, 12  # the last batch of an epoch is short for every number of processes

# From the elements of one process to its batches with this number of rows.
BATCHES = {
    "batch": lambda ds, rows: ds.batch(rows),
    "whole batches": lambda ds, rows: ds.batch(rows, drop_remainder=True),
    "map after batch": lambda ds, rows: ds.batch(rows).map(lambda x: x + 1),
    "more rows": lambda ds, rows: ds.batch(rows).map(lambda x: np.concatenate([x, x])),
    "fewer rows": lambda ds, rows: ds.batch(rows).map(lambda x: x[: (len(x) + 1) // 2]),
    "epochs": lambda ds, rows: ds.batch(rows).repeat(2),
    "prefetched": lambda ds, rows: ds.map(lambda x: x, 2).batch(rows).prefetch(2),
}


def process(kind, count, index):
    ds = ps.Dataset.range(ROWS).shuffle(20, seed=3).shard_evenly(count, index)
    return BATCHES[kind](ds, GLOBAL // count)


def full_batches(it, full):
    """Yield the batches of a plain iterator that to_jax does not drop."""
    return (batch.tolist() for batch in it if len(batch) == full)


@pytest.mark.parametrize("prefetch", ["auto", 0, 2])
@pytest.mark.parametrize("kind", BATCHES)
def test_continues_on_another_number_of_processes(kind, prefetch):
    for former, count in itertools.product((1, 2, 3, 4), repeat=2):
        full = len(process(kind, former, 0).first())
        with iter(process(kind, former, 0)) as it:
            steps = sum(1 for _ in full_batches(it, full))
        for step in {0, 1, 3, steps // 2, steps - 1, steps}:
            index = step % count
            with iter(process(kind, former, former - 1)) as plain:
                assert len(list(itertools.islice(full_batches(plain, full), step))) == step
                plain_state = plain.get_state()
            with iter(process(kind, former, former - 1).to_jax(prefetch=prefetch)) as it:
                assert len(list(itertools.islice(it, step))) == step
                state = it.get_state()
            ds = process(kind, count, index)
            with iter(ds) as plain:
                plain.set_state(plain_state)
                expected = list(full_batches(plain, len(ds.first())))
            with iter(ds.to_jax(prefetch=prefetch)) as it:
                it.set_state(state)
                assert [batch.tolist() for batch in it] == expected, (former, count, step)


@pytest.mark.parametrize(
    "how", [{"pad": True}, {"drop_remainder": False}, {"global_batch": GLOBAL}], ids=str
)
def test_with_other_arguments(how):
    def batches(count, index):
        rows = {key: value // count for key, value in how.items() if key == "global_batch"}
        return process("batch", count, index).to_jax(**{**how, **rows})

    def as_lists(batch):
        return [leaf.tolist() for leaf in batch] if isinstance(batch, tuple) else batch.tolist()

    for former, count in itertools.product((1, 2, 3, 4), repeat=2):
        if former == count:
            continue
        with iter(batches(former, 0)) as it:
            for _ in range(ROWS // GLOBAL):
                next(it)
            state = it.get_state()
        with iter(process("batch", count, 0)) as plain:
            *_, last = plain
        with iter(batches(count, 0)) as it:
            it.set_state(state)
            rest = [as_lists(batch) for batch in it]
        if "pad" in how:
            zeros = GLOBAL // count - len(last)
            mask = [True] * len(last) + [False] * zeros
            assert rest == [[last.tolist() + [0] * zeros, mask]]
        else:
            assert rest == ([] if "global_batch" in how else [last.tolist()])


def test_dropped_batches_of_every_epoch_are_skipped():
    batches = ps.Dataset.range(5).batch(2).repeat(3).to_jax()
    assert [batch.tolist() for batch in batches] == [[0, 1], [2, 3]] * 3
    assert len(batches) == 6


def test_epochs_after_another_number_of_processes_are_those_of_the_dataset():
    with iter(process("map after batch", 4, 0).to_jax()) as it:
        next(it)
        state = it.get_state()
    plain, ds = process("map after batch", 3, 0), process("map after batch", 3, 0)
    list(plain)
    with iter(ds.to_jax()) as it:
        it.set_state(state)
        list(it)
    assert [batch.tolist() for batch in ds] == [batch.tolist() for batch in plain]
