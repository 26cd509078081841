"""A shuffle buffer keeps its own rows alive, and not the others of their blocks."""

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
        # Views of blocks would add about 100 MiB.
        assert resident() - before < 40 * 2**20


def strings():
    number = 0
    while True:
        yield f"{number:4096}"
        number += 1


def lines(folder):
    file = folder / "lines"
    file.write_text("".join(f"{number:4095}\n" for number in range(1000)))
    return ps.TextLineDataset(str(file)).repeat()


@pytest.mark.parametrize(
    "source",
    [
        lambda folder: ps.Dataset.from_generator(strings),
        lines,
        lambda folder: ps.Dataset.from_tensor_slices(ROWS).repeat().map(more),
    ],
    ids=["objects", "bytes", "arrays"],
)
def test_rows_that_were_pulled_together(source, tmp_path):
    batches = source(tmp_path).shuffle(SIZE).batch(250)
    with iter(batches) as it:
        next(it)
        before = resident()
        for _ in range(8 * SIZE // 250):
            next(it)
        assert resident() - before < 40 * 2**20


def test_many_small_rows():
    rows = np.zeros((1000, 2), np.float32)
    ds = ps.Dataset.from_tensor_slices(rows).repeat().map(more).shuffle(50_000).batch(250)
    with iter(ds) as it:
        before = resident()
        for _ in range(1000):
            next(it)
        assert resident() - before < 60 * 2**20  # about 400 bytes a row; with blocks, 200 MiB


def test_lines_that_become_longer(tmp_path):
    file = tmp_path / "lines"
    with file.open("w") as to:
        to.writelines("x" * (16 + i // 20) + "\n" for i in range(60_000))
    batches = ps.TextLineDataset(str(file)).shuffle(2000).batch(250)
    lengths = []
    with iter(batches) as it:
        next(it)
        before = resident()
        for _ in range(230):
            lengths += [len(line) for line in next(it)]
        # With storage kept for each length seen, about 80 MiB.
        assert resident() - before < 55 * 2**20
        lengths += [len(line) for batch in it for line in batch]
    assert len(lengths) == 60_000 - 250
    assert max(lengths) == 16 + 59_999 // 20
