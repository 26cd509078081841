"""Rows with Python objects that a stage keeps do not keep other rows of their block alive."""

import pytest

import penstock as ps

COUNT, EVERY = 12_800, 128


class Thing:
    alive = 0

    def __init__(self):
        Thing.alive += 1

    def __del__(self):
        Thing.alive -= 1


@ps.native
def is_first(row):
    return row["first"]


@ps.native
def group(row):
    return ps.cast(row["first"], "int64")


@pytest.mark.parametrize(
    "stage",
    [
        lambda ds: ds.filter(is_first).batch(50),
        lambda ds: ds.group_by_window(group, lambda key, window: window.batch(50), 50),
        lambda ds: ds.filter(is_first).shuffle(50).batch(50),
    ],
    ids=["filter", "group_by_window", "shuffle"],
)
def test_few_rows_of_many(stage):
    most = 0

    def rows():
        nonlocal most
        for i in range(COUNT):
            yield {"first": i % EVERY == 0, "thing": Thing()}
            most = max(most, Thing.alive)

    batches = stage(ps.Dataset.from_generator(rows))
    assert sum(int(batch["first"].sum()) for batch in batches) == COUNT // EVERY
    # Objects of two batches, of two windows, and some in between; one batch's whole blocks would
    # hold 50 * 128.
    assert most < 600
