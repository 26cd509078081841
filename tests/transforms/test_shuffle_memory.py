"""A shuffle buffer holds its own rows, and not those that were made with them."""

import numpy as np
import pytest

import penstock as ps
from process import resident

SIZE = 4000  # rows of 4 KiB: 16 MiB
ROWS = np.zeros((1000, 1024), np.float32)


@ps.native
def more(x):
    return x + 1


@pytest.mark.parametrize(
    "stages",
    [
        lambda ds: ds.map(more).prefetch(1024),
        lambda ds: ds.map(more, num_parallel_calls=2),
        lambda ds: ds.shuffle(100).map(more).prefetch(1024),
    ],
)
def test_rows_of_blocks(stages):
    ds = stages(ps.Dataset.from_tensor_slices(ROWS).repeat()).shuffle(SIZE)
    with iter(ds) as it:
        next(it)
        before = resident()
        for _ in range(8 * SIZE):
            row = next(it)
        assert row.shape == (1024,)
        assert row[0] == 1
        # Views of blocks would make it some 100 MiB more.
        assert resident() - before < 40 * 2**20
