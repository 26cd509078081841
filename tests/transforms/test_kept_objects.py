"""Rows with strings of Python that a stage keeps do not keep those that came with them."""

import pytest

import penstock as ps
from process import resident

COUNT, EVERY = 24_000, 128


def rows():
    for i in range(COUNT):
        yield {"first": i % EVERY == 0, "text": f"{i:4000}"}


@ps.native
def is_first(row):
    return row["first"]


@ps.native
def group(row):
    return ps.cast(row["first"], "int64")


@pytest.mark.parametrize(
    "stage",
    [
        lambda ds: ds.filter(is_first).batch(150),
        lambda ds: ds.group_by_window(group, lambda key, window: window.batch(150), 150),
    ],
    ids=["filter", "group_by_window"],
)
def test_few_rows_of_many(stage):
    batches = stage(ps.Dataset.from_generator(rows))
    most, came = 0, 0
    with iter(batches) as it:
        before = resident()
        for batch in it:
            most = max(most, resident() - before)
            came += int(batch["first"].sum())
    assert came == -(-COUNT // EVERY)
    # 190 rows of 4 KB, and a batch of 150: with all that came with them, 90 MiB.
    assert most < 20 * 2**20
