"""Invalid file names, such as open files and URLs, wherever a file name is taken."""

import io

import pytest

import penstock as ps

ex = ps.experimental
RANGE = ps.Dataset.range(3)
TAKES = {
    "TextLineDataset": ps.TextLineDataset,
    "TFRecordDataset": ps.TFRecordDataset,
    "FixedLengthRecordDataset": lambda name: ps.FixedLengthRecordDataset(name, 1),
    "CsvDataset": lambda name: ex.CsvDataset(name, [0]),
    "list_files": ps.Dataset.list_files,
    "matching_files": ps.io.matching_files,
    "make_csv_dataset": lambda name: ex.make_csv_dataset(name, 2),
    "make_batched_features_dataset": lambda name: ex.make_batched_features_dataset(name, 2, {}),
    "SqlDataset": lambda name: ex.SqlDataset("sqlite", name, "select 1", int),
    "read_file": ps.io.read_file,
    "write_file": lambda name: ps.io.write_file(name, b"other"),
    "TFRecordWriter": ps.io.TFRecordWriter,
    "load": ps.Dataset.load,
    "save": RANGE.save,
    "cache": RANGE.cache,
    "snapshot": RANGE.snapshot,
}
LISTS = [
    *(name for name in TAKES if name.endswith("Dataset") and name != "SqlDataset"),
    *("list_files", "matching_files", "make_csv_dataset", "make_batched_features_dataset"),
]


@pytest.mark.parametrize("name", TAKES)
def test_an_open_file_is_told_of_its_name(tmp_path, name):
    path = tmp_path / "lines"
    path.write_text("other\n")
    with path.open() as file, pytest.raises(TypeError) as error:
        TAKES[name](file)
    assert str(error.value).startswith(f"{name}: ")
    assert f"an open file (TextIOWrapper); give its name, {str(path)!r}" in str(error.value)
    with pytest.raises(TypeError, match=r"an open file \(BytesIO\); give a path"):
        TAKES[name](io.BytesIO(b"lines"))


@pytest.mark.parametrize("name", LISTS)
def test_open_files_in_a_list_are_told_too(name):
    with pytest.raises(TypeError, match=rf"{name}: .* an open file \(BytesIO\)"):
        TAKES[name]([io.BytesIO(b"lines")])


def test_read_file_says_at_the_call_what_is_no_name_in_a_native_function():
    reads = ps.native(lambda _: ps.io.read_file(io.BytesIO(b"")))
    with pytest.raises(TypeError, match=r"read_file: .* an open file \(BytesIO\); give a path"):
        RANGE.map(reads)


def test_what_else_a_database_is_given_for_is_named():
    with io.StringIO("sqlite") as file:
        with pytest.raises(TypeError, match="SqlDataset: driver_name must be a str"):
            ex.SqlDataset(file, "pets.db", "select 1", int)
        with pytest.raises(TypeError, match="SqlDataset: query must be a str"):
            ex.SqlDataset("sqlite", "pets.db", file, int)


def test_a_pattern_may_be_bytes(tmp_path):
    (tmp_path / "a.txt").touch()
    pattern = str(tmp_path / "*.txt").encode()
    assert list(ps.io.matching_files(pattern)) == [str(tmp_path / "a.txt")]
    assert list(ps.Dataset.list_files(pattern)) == [str(tmp_path / "a.txt")]


def test_a_file_whose_name_looks_like_a_url_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    (tmp_path / "s3:" / "a").write_text("one\n")
    assert list(ps.TextLineDataset("s3://a")) == [b"one"]
    assert ps.io.read_file("s3://a") == b"one\n"
