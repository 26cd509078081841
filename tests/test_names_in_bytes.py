"""File names that are not UTF-8, as returned by os.fsdecode, work wherever text does."""

import os
import sys

import numpy as np
import pytest

import penstock as ps

Dataset = ps.Dataset
NAME = "odd-\udcff.txt"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="other systems have names of files in Unicode only"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_text("one\n")
    (tmp_path / "plain.txt").write_text("two\n")


def text(value):
    return value if isinstance(value, str) else [text(item) for item in value]


ELEMENTS = {
    "list_files": lambda: Dataset.list_files("*.txt", shuffle=False),
    "slices": lambda: Dataset.from_tensor_slices([NAME, "plain.txt"]),
    "shuffled slices": lambda: Dataset.from_tensor_slices([NAME, "plain.txt"]).shuffle(9, seed=1),
    "rows of slices": lambda: Dataset.from_tensor_slices([[NAME, "a"], ["b", NAME]]),
    "batch": lambda: Dataset.from_tensor_slices([NAME, "plain.txt", "c"]).batch(2),
    "generator": lambda: Dataset.from_generator(lambda: iter(["a", NAME, "b"])),
    "many in a generator": lambda: Dataset.from_generator(lambda: iter([NAME, "b"] * 40)).batch(7),
    "map": lambda: Dataset.range(5).map(lambda x: NAME if x % 2 else "even"),
    "array": lambda: Dataset.range(2).map(lambda x: np.array([NAME, "a"])),
    "objects": lambda: Dataset.range(2).map(lambda x: np.array([NAME, "a"], object)),
    "cache": lambda: Dataset.from_tensor_slices([NAME, "a"]).cache("cached-\udcfe").repeat(2),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_are_the_names_themselves(name):
    wanted = {
        "list_files": [NAME, "plain.txt"],
        "slices": [NAME, "plain.txt"],
        "rows of slices": [[NAME, "a"], ["b", NAME]],
        "batch": [[NAME, "plain.txt"], ["c"]],
        "generator": ["a", NAME, "b"],
        "map": ["even", NAME, "even", NAME, "even"],
        "array": [[NAME, "a"]] * 2,
        "objects": [[NAME, "a"]] * 2,
        "cache": [NAME, "a"] * 2,
    }
    got = [text(element) for element in ELEMENTS[name]()]
    if name == "many in a generator":
        assert [name for batch in got for name in batch] == [NAME, "b"] * 40
    elif name == "list_files" or name == "shuffled slices":
        assert sorted(got) == sorted(wanted.get(name, [NAME, "plain.txt"]))
    else:
        assert got == wanted[name]


READERS = {
    "one": lambda: ps.TextLineDataset(NAME),
    "several": lambda: ps.TextLineDataset([NAME]),
    "bytes": lambda: ps.TextLineDataset(os.fsencode(NAME)),
    "of a dataset": lambda: Dataset.from_tensor_slices([NAME]).flat_map(ps.TextLineDataset),
    "in parallel": lambda: ps.TextLineDataset([NAME], num_parallel_reads=2),
}


@pytest.mark.parametrize("name", READERS)
def test_such_files_are_read_and_their_states_taken_up(name):
    it = iter(READERS[name]())
    begin = it.get_state()
    assert list(it) == [b"one"]
    again = iter(READERS[name]())
    again.set_state(begin)
    assert list(again) == [b"one"]


def test_native_functions_read_them():
    read = ps.native(lambda name: ps.io.read_file(name))
    assert list(Dataset.from_tensor_slices([NAME]).map(read)) == [b"one\n"]
    assert ps.io.read_file(NAME) == b"one\n"


def test_datasets_are_kept_under_such_names():
    Dataset.range(3).save("saved-\udcfe")
    assert [int(x) for x in Dataset.load("saved-\udcfe")] == [0, 1, 2]
    assert [int(x) for x in Dataset.range(3).snapshot("shot-\udcfe")] == [0, 1, 2]
    with ps.io.TFRecordWriter("records-\udcfe") as writer:
        writer.write(b"x")
    assert list(ps.TFRecordDataset("records-\udcfe")) == [b"x"]


def test_errors_and_names_of_stages_show_them():
    with pytest.raises(FileNotFoundError) as caught:
        list(ps.TextLineDataset("missing-\udcfe"))
    assert caught.value.filename == "missing-\udcfe"
    it = iter(Dataset.range(2).map(lambda x: x, name="stage-\udcfe"))
    list(it)
    assert "stage-\udcfe" in [stage["name"] for stage in it.stats()]


def test_what_has_no_bytes_at_all_is_an_object_or_refused():
    assert list(Dataset.from_tensors("\ud800")) == ["\ud800"]
    with pytest.raises(ValueError, match=r"'\\ud800' has no form in bytes"):
        ps.TextLineDataset("\ud800")
