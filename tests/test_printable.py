"""File names and other user text cannot control a terminal or forge log lines."""

import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock import inspecting
from penstock.meter import Meter
from penstock.printable import printable
from penstock.sources import index as indexing

Dataset = ps.Dataset
NAME = "a\x1b[2J\x1b]0;t\x07\nERROR line\u2028\u202e\x9b.txt"
SHOWN = r"a\x1b[2J\x1b]0;t\x07\nERROR line\u2028\u202e\x9b.txt"
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u202e]")

TEXTS = [
    "plain.txt",
    "Zoë 北京 🙂.txt",
    "back\\slash 'quote' \"other\"",
    NAME,
    *(f"<{chr(code)}>" for code in [*range(0x01, 0xA1), 0x61C, *range(0x200D, 0x2011)]),
    *(f"<{chr(code)}>" for code in [*range(0x2027, 0x2030), *range(0x2065, 0x206B)]),
    "\U0010ffff\uffff\ud7ff\ue000",
    os.fsdecode(b"\xff\xc3\x28\xed\xa0\x80\xf5\xc0\x80\xe2\x80"),
]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_python_and_the_engine_escape_alike(text):
    def fail(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as caught:
        list(Dataset.range(1).map(fail, name=text))
    assert any(printable(text) in note for note in caught.value.__notes__), caught.value.__notes__


def test_text_is_escaped_once():
    assert printable(NAME) == SHOWN
    assert printable(SHOWN) == SHOWN
    assert printable(os.fsencode(NAME)) == SHOWN
    assert printable("Zoë 北京 🙂") == "Zoë 北京 🙂"


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="others have no such names")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_bytes(b"\x1f\x8b\x08\x00broken")
    return tmp_path


def parts_of(error):
    return [str(error), *getattr(error, "__notes__", [])]


FAILURES = {
    "lines": lambda: list(ps.TextLineDataset(NAME, "GZIP")),
    "several files": lambda: list(ps.TextLineDataset([NAME, NAME], "GZIP", num_parallel_reads=2)),
    "records": lambda: list(ps.TFRecordDataset(NAME)),
    "tar": lambda: list(ps.TarDataset(NAME)),
    "csv": lambda: list(ps.experimental.CsvDataset(NAME, [0])),
    "make_csv_dataset": lambda: ps.experimental.make_csv_dataset(NAME, 2),
    "JSON lines": lambda: list(ps.JSONLinesDataset(NAME)),
    "numpy": lambda: ps.NumpyDataset(NAME),
    "database": lambda: list(ps.experimental.SqlDataset("sqlite", NAME, "select * from t", int)),
    "a native function": lambda: list(
        Dataset.from_tensor_slices([f"missing {NAME}"]).map(ps.native(ps.io.read_file))
    ),
    "a missing index": lambda: ps.TextLineDataset(NAME, indexed=True),
    "index": lambda: ps.index(NAME, format="text"),
    "load": lambda: Dataset.load(NAME),
    "image folder": lambda: Dataset.from_image_folder(folder_of_names()),
    "class names": lambda: Dataset.from_image_folder(folder_of_names(), class_names=["b"]),
    "list_files": lambda: Dataset.list_files(f"{NAME}*.x"),
    "a closed writer": lambda: closed_writer().write(b""),
}


def folder_of_names():
    path = Path(f"folder {NAME}")
    path.mkdir()
    return path


def closed_writer():
    writer = ps.io.TFRecordWriter(f"records {NAME}")
    writer.close()
    return writer


@pytest.mark.parametrize("name", FAILURES)
def test_errors_escape_file_names(folder, name):
    with pytest.raises(Exception) as caught:
        FAILURES[name]()
    for part in parts_of(caught.value):
        assert not CONTROLS.search(part), ascii(part)


def test_the_log_has_one_line_for_an_error(folder, caplog):
    def fail(_):
        raise ValueError("bad\nERROR forged \x1b[2J")

    broken = ps.TextLineDataset(NAME, "GZIP")
    assert list(broken.ignore_errors(log_warning=True)) == []
    assert list(ps.TextLineDataset(NAME, on_error="log", max_record_bytes=5)) == []
    assert list(Dataset.range(1).map(fail).ignore_errors(log_warning=True)) == []
    assert len(caplog.records) == 3
    for record in caplog.records:
        assert not CONTROLS.search(record.getMessage())
    assert SHOWN in caplog.records[0].getMessage()


def test_warnings_of_runs_escape_file_names(folder):
    content = bytes(1024)  # not a valid file, and no trailing zeros
    with ps.io.TFRecordWriter("one.tfrecord") as writer:
        writer.write(content)
    Dataset.range(1).map(lambda _: {"txt": "x"}).write_tar(NAME)
    os.truncate(NAME, 1024)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(ps.TarDataset(NAME))) == 1
    assert [str(each.message) for each in caught if SHOWN in str(each.message)]
    assert not any(CONTROLS.search(str(each.message)) for each in caught)


def test_commands_escape_file_names(folder, capsys):
    assert inspecting.main([NAME, f"missing {NAME}"]) in (1, 2)
    assert indexing.main(["--format", "text", NAME]) == 1
    with ps.io.TFRecordWriter(NAME) as writer:
        writer.write(b"x")
    assert inspecting.main([NAME]) == 0
    out, err = capsys.readouterr()
    assert SHOWN in out
    assert SHOWN in err
    assert not CONTROLS.search((out + err).replace("\n", ""))


@pytest.mark.parametrize("name", [f"{NAME}<script>", os.fsdecode(b"x\xff\n\x1b<script>")])
def test_profiles_escape_names(tmp_path, name):
    def function(x):
        return x

    function.__name__ = function.__qualname__ = name
    it = iter(Dataset.range(50, name=name).map(function, name=name).batch(2, name=name))
    with ps.profile(it) as profile:
        list(it)
    profile.save(tmp_path / "a.html")
    profile.save(tmp_path / "a.json")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    for text in (repr(profile), str(profile), profile._repr_html_(), page):
        lines = text.replace("\n", "")
        assert not CONTROLS.search(lines.replace("\t", "")), ascii(text)
        assert "\nERROR" not in text
    assert "<script>" not in profile._repr_html_()
    assert page.count("<script>") == 1
    assert not CONTROLS.search((tmp_path / "a.json").read_text())


def test_progress_and_representations_escape_file_names(folder):
    assert not CONTROLS.search(Meter(NAME, 1, shown=False)._description)
    for dataset in (
        ps.TextLineDataset(NAME),
        Dataset.from_tensors(np.array(NAME, object)),
        Dataset.range(1).map(lambda x: x, name=NAME),
    ):
        assert not CONTROLS.search(repr(dataset))
    info = ps.DataError("damaged", NAME)
    assert str(info) == f"damaged (file {SHOWN})"
    assert info.file == NAME
