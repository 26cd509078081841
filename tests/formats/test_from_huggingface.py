"""from_huggingface: rows of Hugging Face datasets."""

import pickle

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")

ROWS = 30
COLUMNS = {
    "n": list(range(ROWS)),
    "text": [f"row {n}" for n in range(ROWS)],
    "list": [list(range(n % 4)) for n in range(ROWS)],
    "matrix": [[[n, 1.0], [2.0, 3.0]] for n in range(ROWS)],
    "label": [n % 2 for n in range(ROWS)],
}
FEATURES = {
    "n": datasets.Value("int32"),
    "text": datasets.Value("string"),
    "list": datasets.Sequence(datasets.Value("int64")),
    "matrix": datasets.Array2D((2, 2), "float32"),
    "label": datasets.ClassLabel(names=["even", "odd"]),
}


def row(n):
    return {
        "n": np.int32(n),
        "text": f"row {n}",
        "list": np.arange(n % 4),
        "matrix": np.array([[n, 1], [2, 3]], np.float32),
        "label": np.int64(n % 2),
    }


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    made = datasets.Dataset.from_dict(COLUMNS, features=datasets.Features(FEATURES))
    folder = str(tmp_path_factory.mktemp("rows"))
    made.save_to_disk(folder, num_shards=3)
    return datasets.load_from_disk(folder)


def test_rows_and_their_order(rows):
    ds = ps.Dataset.from_huggingface(rows)
    assert_same(list(ds), [row(n) for n in range(ROWS)])
    assert ds.element_spec["matrix"].shape == (2, 2)
    assert_same(list(pickle.loads(pickle.dumps(ds))), list(ds))


def test_chosen_rows_and_columns(rows):
    chosen = rows.shuffle(seed=1).select(range(10)).select_columns(["n", "text"])
    order = chosen["n"][:]
    came = ps.Dataset.from_huggingface(chosen)
    assert_same(list(came), [{"n": np.int32(n), "text": f"row {n}"} for n in order])
    shuffled = came.shuffle(10, seed=2).batch(10).first()["n"].tolist()
    assert sorted(shuffled) == sorted(order)
    formatted = rows.with_format("numpy", columns=["label"])
    assert list(ps.Dataset.from_huggingface(formatted).first()) == ["label"]


def test_a_state_knows_the_dataset(rows):
    it = iter(ps.Dataset.from_huggingface(rows).shuffle(ROWS, seed=1))
    first = next(it)
    state = it.get_state()
    assert len(state) < 1024
    same = iter(ps.Dataset.from_huggingface(rows).shuffle(ROWS, seed=1))
    same.set_state(state)
    assert_same(list(same), list(it))
    assert int(first["n"]) < ROWS
    other = iter(ps.Dataset.from_huggingface(rows.select(range(20))).shuffle(ROWS, seed=1))
    with pytest.raises(ps.StateError):
        other.set_state(state)


def test_missing_values():
    rows = datasets.Dataset.from_dict({"x": [1, None]})
    with pytest.raises(ValueError, match="from_huggingface: column x has 1 missing"):
        ps.Dataset.from_huggingface(rows)
    ds = ps.Dataset.from_huggingface(rows, null_values={"x": -1})
    assert [int(e["x"]) for e in ds] == [1, -1]


def test_what_is_no_dataset(rows):
    with pytest.raises(TypeError, match="ds must be one split"):
        ps.Dataset.from_huggingface(datasets.DatasetDict({"train": rows}))
    with pytest.raises(TypeError, match="use from_generator"):
        ps.Dataset.from_huggingface(rows.to_iterable_dataset())


def scaled(batch):
    return {"n": [10 * n for n in batch["n"]], "text": [text.upper() for text in batch["text"]]}


def test_a_transform_is_applied(rows):
    ds = ps.Dataset.from_huggingface(rows.with_transform(scaled), name="scaled")
    assert len(ds) == ROWS
    assert_same(list(ds), [{"n": 10 * n, "text": f"ROW {n}"} for n in range(ROWS)])
    chosen = rows.select([5, 3]).with_transform(scaled, columns=["n", "text"])
    assert [int(x["n"]) for x in ps.Dataset.from_huggingface(chosen)] == [50, 30]
    assert sorted(int(x["n"]) for x in ds.shuffle(ROWS)) == [10 * n for n in range(ROWS)]


def test_a_state_identifies_the_transform(rows):
    ds = ps.Dataset.from_huggingface(rows.with_transform(scaled))
    it = iter(ds)
    next(it)
    state = it.get_state()
    same = iter(ps.Dataset.from_huggingface(rows.with_transform(scaled)))
    same.set_state(state)
    assert int(next(same)["n"]) == 10
    other = rows.with_transform(lambda batch: {"n": batch["n"], "text": batch["text"]})
    with pytest.raises(ps.StateError):
        iter(ps.Dataset.from_huggingface(other)).set_state(state)


def test_format_arguments_are_applied(rows):
    chosen = rows.select_columns(["matrix"]).with_format("numpy", dtype=np.float64)
    assert chosen[0]["matrix"].dtype == np.float64
    assert ps.Dataset.from_huggingface(chosen).first()["matrix"].dtype == np.float64
    rows = rows.select(range(3))
    rows.set_format("numpy", columns=["n"], output_all_columns=True)
    assert set(ps.Dataset.from_huggingface(rows).first()) == set(COLUMNS)


def test_formats_without_arguments_yield_stored_rows(rows):
    for format_ in (None, "python", "numpy", "pandas", "arrow"):
        assert_same(
            list(ps.Dataset.from_huggingface(rows.with_format(format_))),
            list(map(row, range(ROWS))),
        )


def test_null_values_is_rejected_for_transformed_rows(rows):
    with pytest.raises(
        ValueError, match="from_huggingface: null_values applies to stored rows only"
    ):
        ps.Dataset.from_huggingface(rows.with_transform(scaled), null_values={"n": 0})


def test_images_and_audio_with_missing_bytes_or_paths():
    rows = [{"bytes": b"x", "path": None}, {"bytes": None, "path": "p"}, None]
    for feature in (datasets.Image(decode=False), datasets.Audio(decode=False)):
        features = datasets.Features({"file": feature})
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        table = pa.table({"file": pa.array(rows, kind)})
        ds = datasets.Dataset(table, datasets.DatasetInfo(features=features))
        assert list(ps.Dataset.from_huggingface(ds)) == [
            {"file": {"bytes": b"x", "path": ""}},
            {"file": {"bytes": b"", "path": "p"}},
            {"file": {"bytes": b"", "path": ""}},
        ]


def test_chat_messages():
    talk = [[{"role": "u", "content": "hi"}, {"role": "a", "content": "yo"}], []]
    ds = datasets.Dataset.from_dict({"messages": talk})
    first, second = (row["messages"] for row in ps.Dataset.from_huggingface(ds))
    assert first["role"].tolist() == ["u", "a"]
    assert first["content"].tolist() == ["hi", "yo"]
    assert second["role"].tolist() == []
