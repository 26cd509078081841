"""ps.index and its command: indexes next to the files, or in a folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps
from penstock.sources.index import main
from records import COMPRESS, frame


@pytest.fixture
def files(tmp_path):
    contents = {
        "a.tfrecord": frame(b"1") + frame(b"22"),
        "b.txt": b"x\ny\nz",
        "c.csv": b'h\n"1\n2"\n3\n',
        "empty.txt": b"",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: str(tmp_path / name) for name in contents}


def test_records_are_counted_by_file(files):
    assert list(ps.index(files.values()).values()) == [2, 3, 3, 0]
    assert ps.index(files["c.csv"], header=True) == {files["c.csv"]: 2}
    assert ps.index(files["c.csv"], header=True, use_quote_delim=False) == {files["c.csv"]: 3}


def test_an_index_that_is_up_to_date_stays(files):
    ps.index(files["b.txt"])
    path = files["b.txt"] + ".psindex"
    before = Path(path).stat()
    assert ps.index(files["b.txt"]) == {files["b.txt"]: 3}
    assert Path(path).stat().st_ino == before.st_ino
    with Path(files["b.txt"]).open("a") as file:
        file.write("\nmore")
    assert ps.index(files["b.txt"]) == {files["b.txt"]: 4}


def test_the_format_is_that_of_the_name_unless_it_is_given(tmp_path):
    (tmp_path / "plain").write_bytes(b"1\n2\n")
    with pytest.raises(ValueError, match=r"the name of a file was expected to say its format"):
        ps.index(tmp_path / "plain")
    assert list(ps.index(tmp_path / "plain", format="text").values()) == [2]
    with pytest.raises(ValueError, match=r"must be 'tfrecord', .* got 'xml'"):
        ps.index(tmp_path / "plain", format="xml")


def test_two_files_cannot_share_an_index(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "0.txt").write_bytes(b"1")
    names = [tmp_path / folder / "0.txt" for folder in "ab"]
    with pytest.raises(ValueError, match="different names were expected"):
        ps.index(names, tmp_path / "index")
    assert len(ps.index([names[0], names[0]], tmp_path / "index")) == 1


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_a_compressed_file_is_refused_and_nothing_is_left(tmp_path, compression):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(COMPRESS[compression](frame(b"1") * 100))
    with pytest.raises(ps.DataError, match="TFRecordDataset: record 0"):
        ps.index(path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.tfrecord"]


def test_one_file_that_fails_leaves_the_others(files, tmp_path):
    with pytest.raises(FileNotFoundError):
        ps.index([str(tmp_path / "missing.txt"), *files.values()])
    assert len(ps.TextLineDataset(files["b.txt"], indexed=True)) == 3


def test_what_is_no_index_is_not_replaced(files):
    Path(files["b.txt"] + ".psindex").write_text("mine")
    with pytest.raises(FileExistsError, match="an index was expected there, or nothing"):
        ps.index(files["b.txt"])


def test_a_file_that_ends_too_early_is_warned_of(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frame(b"1") + frame(b"2")[:-1])
    with pytest.warns(RuntimeWarning, match="nothing can be found after its last record"):
        assert list(ps.index(path).values()) == [2]


def test_progress_is_shown_when_it_is_asked_for(files, capsys):
    ps.index(files["b.txt"], progress=False)
    assert capsys.readouterr().err == ""
    ps.index(files["b.txt"], progress=True)
    assert "MB/s" in capsys.readouterr().err


def test_the_command_makes_indexes(files, tmp_path, capsys):
    assert main([files["a.tfrecord"], files["b.txt"], "--index-dir", str(tmp_path / "i")]) == 0
    assert capsys.readouterr().out == "5 records in 2 files\n"
    assert main([files["c.csv"], "--header", "--no-quotes", "--field-delim", ";"]) == 0
    capsys.readouterr()
    assert main([files["b.txt"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {files["b.txt"]: 3}
    assert main([str(tmp_path / "missing.txt")]) == 1
    assert "missing.txt" in capsys.readouterr().err
    command = [sys.executable, "-m", "penstock", "index", files["b.txt"], "--parallel", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "3 records in 1 files\n"
