"""What is no name of a file: open files and URLs, wherever one is taken."""

import io

import pytest

import penstock as ps
from contract import steps

ex = ps.experimental
RANGE = ps.Dataset.range(3)
TAKES = {
    "TextLineDataset": ps.TextLineDataset,
    "TFRecordDataset": ps.TFRecordDataset,
    "FixedLengthRecordDataset": lambda name: ps.FixedLengthRecordDataset(name, 1),
    "CsvDataset": lambda name: ex.CsvDataset(name, [0]),
    "list_files": ps.Dataset.list_files,
    "TFRecordWriter": ps.io.TFRecordWriter,
    "load": ps.Dataset.load,
    "save": RANGE.save,
    "cache": RANGE.cache,
    "snapshot": RANGE.snapshot,
}
LISTS = [name for name in TAKES if name.endswith("Dataset") or name == "list_files"]


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


URLS = ["s3://bucket/a", "https://example.org/a.txt", "gs://b/*.tfrecord", "hf://datasets/a/b.csv"]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("name", TAKES)
def test_a_url_is_told_what_is_taken(name, url):
    with pytest.raises(ValueError, match=rf"{name}: .* a path of this machine, got the URL"):
        TAKES[name](url)
    if name in LISTS:
        with pytest.raises(ValueError, match="got the URL"):
            TAKES[name]([url])


def test_a_url_among_the_names_of_a_dataset_is_told_at_its_place(tmp_path):
    (tmp_path / "a").write_text("one\n")
    names = ps.Dataset.from_tensor_slices([str(tmp_path / "a"), URLS[0], str(tmp_path / "a")])
    one, error, two = steps(iter(ps.TextLineDataset(names)))
    assert (one, two) == (b"one", b"one")
    assert error.kind == "FileNotFoundError"
    assert "this is a URL" in error.text


def test_a_file_whose_name_looks_like_a_url_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    (tmp_path / "s3:" / "a").write_text("one\n")
    assert list(ps.TextLineDataset("s3://a")) == [b"one"]
