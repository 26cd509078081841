"""from_indexable over Hugging Face datasets, which fetch many rows per call."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

datasets = pytest.importorskip("datasets")

ROWS = 23


@pytest.fixture
def table():
    """Return a table that records the requested rows in `table.asked`, by call."""

    class Noting(datasets.Dataset):
        def __getitem__(self, key):
            if isinstance(key, int):
                asked.append([key])
            return super().__getitem__(key)

        def __getitems__(self, keys):
            asked.append(list(keys))
            return super().__getitems__(keys)

    asked = []
    found = datasets.Dataset.from_dict(
        {
            "x": [[float(i), i + 0.5] for i in range(ROWS)],
            "label": list(range(ROWS)),
            "text": [f"row {i}" for i in range(ROWS)],
        }
    )
    found.__class__ = Noting
    found.asked = asked
    return found


def row(i):
    return {"x": np.array([i, i + 0.5]), "label": np.int64(i), "text": f"row {i}"}


@pytest.mark.parametrize("calls", [None, 2])
def test_rows_come_in_order_and_whole(table, calls):
    came = list(ps.Dataset.from_indexable(table, num_parallel_calls=calls))
    assert_same(came, [row(i) for i in range(ROWS)])


def test_a_batch_of_shuffled_rows_is_fetched_in_one_call(table):
    ds = ps.Dataset.from_indexable(table).shuffle(ROWS, seed=3).batch(6)
    order = [int(i) for i in ps.Dataset.range(ROWS).shuffle(ROWS, seed=3)]
    batches = list(ds)
    assert [int(i) for batch in batches for i in batch["label"]] == order
    assert [i for call in table.asked for i in call] == order
    assert len(table.asked) <= len(batches) + 1
    assert_same(batches[0]["x"], np.array([[i, i + 0.5] for i in order[:6]]))


def test_formatted_rows_keep_their_dtypes(table):
    formatted = table.with_format("numpy")
    batch = ps.Dataset.from_indexable(formatted).batch(4).first()
    assert batch["x"].dtype == formatted[0]["x"].dtype
    assert_same(batch["label"], np.arange(4))


def test_only_the_rows_of_a_shard_are_fetched(table):
    list(ps.Dataset.from_indexable(table).shard(4, 1).batch(3))
    assert sorted(i for call in table.asked for i in call) == list(range(1, ROWS, 4))


def test_selections_of_a_table_are_its_rows(table):
    chosen = table.select([5, 3, 8])
    labels = [int(element["label"]) for element in ps.Dataset.from_indexable(chosen)]
    assert labels == [5, 3, 8]


def test_an_exception_of_a_transform_loses_only_its_row(table):
    def transform(batch):
        if 4 in batch["label"]:
            raise ValueError("row 4 is broken")
        return batch

    it = iter(ps.Dataset.from_indexable(table.with_transform(transform)))
    labels = [int(next(it)["label"]) for _ in range(4)]
    with pytest.raises(ValueError, match="row 4 is broken"):
        next(it)
    labels += [int(element["label"]) for element in it]
    assert labels == [i for i in range(ROWS) if i != 4]
