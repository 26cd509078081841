"""``python -m penstock inspect``: complete, damaged, empty and unknown files, run as a command."""

import gzip
import io
import json
import os
import tarfile
import zipfile

import numpy as np
import pytest

import penstock as ps
from penstock import _core, cli


def inspected(capsys, *names):
    """Return the exit code, the reports, and the contents of standard error."""
    status = cli.main(["inspect", "--json", *map(str, names)])
    out, err = capsys.readouterr()
    return status, json.loads(out), err


@pytest.fixture
def examples(tmp_path):
    path = tmp_path / "examples.tfrecord"
    with ps.io.TFRecordWriter(path) as writer:
        for i in range(4):
            writer.write(ps.io.make_example({"label": i, "scores": [0.5] * i, "name": b"x"}))
    return path


def damage(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)


def test_records_that_are_examples_show_their_features(examples, capsys):
    status, (report,), _ = inspected(capsys, examples)
    assert (status, report["format"], report["elements"]) == (0, "TFRecord", 4)
    assert report["bytes"] == examples.stat().st_size
    assert report["features"]["label"] == {"kind": "int64", "examples": 4, "least": 1, "most": 1}
    scores = report["features"]["scores"]
    assert (scores["kind"], scores["least"], scores["most"]) == ("float", 0, 3)
    assert len(report["first"]) == 3


def test_records_that_are_anything_are_counted(tmp_path, capsys):
    path = tmp_path / "any"
    with ps.io.TFRecordWriter(path) as writer:
        for size in (3, 1, 2):
            writer.write(b"\xff" * size)
    status, (report,), _ = inspected(capsys, path)
    assert (status, report["elements"], "features" in report) == (0, 3, False)
    assert report["record_bytes"] == {"all": 6, "least": 1, "most": 3}


@pytest.mark.parametrize("compression", ["GZIP", "ZSTD"])
def test_compressed_records_are_read(tmp_path, capsys, compression):
    path = tmp_path / "packed.tfrecord"
    with ps.io.TFRecordWriter(path, compression) as writer:
        writer.write(b"one")
    status, (report,), _ = inspected(capsys, path)
    assert (status, report["format"], report["elements"]) == (0, f"TFRecord, {compression}", 1)


def test_damage_is_shown_with_its_record_and_byte_and_what_follows_is_counted(examples, capsys):
    whole = examples.read_bytes()
    size = int.from_bytes(whole[:8], "little") + 16
    damage(examples, size + 14)
    status, (report,), _ = inspected(capsys, examples)
    assert (status, report["elements"]) == (1, 3)
    (found,) = report["damage"]
    assert (found["element"], found["offset"]) == (1, size)
    assert "checksum" in found["reason"]
    assert cli.main(["inspect", str(examples)]) == 1
    assert "damaged at element 1" in capsys.readouterr().out


def test_a_truncated_file_is_damaged_at_its_end(examples, capsys):
    examples.write_bytes(examples.read_bytes()[:-5])
    status, (report,), _ = inspected(capsys, examples)
    assert status == 1
    assert report["damage"][0]["element"] == 3


def test_an_empty_file_has_no_records(tmp_path, capsys):
    (tmp_path / "empty.tfrecord").touch()
    status, (report,), _ = inspected(capsys, tmp_path / "empty.tfrecord")
    assert (status, report["elements"], report["damage"]) == (0, 0, [])


def test_a_saved_dataset_is_counted_and_its_damage_found(tmp_path, capsys):
    ps.Dataset.range(5).map(lambda x: {"x": x}).save(tmp_path / "saved")
    status, (report,), _ = inspected(capsys, tmp_path / "saved")
    assert (status, report["format"], report["elements"]) == (0, "saved dataset", 5)
    (rows,) = (tmp_path / "saved").glob("*.rows")
    assert inspected(capsys, rows)[0] == 0
    rows.write_bytes(rows.read_bytes()[:-3])
    assert inspected(capsys, rows)[0] == 1
    status, (report,), _ = inspected(capsys, tmp_path / "saved")
    assert status == 1
    assert report["damage"]


@pytest.mark.parametrize("kind", ["cache", "save", "snapshot"])
def test_a_file_of_rows_is_read_to_its_end(tmp_path, capsys, kind):
    ds = ps.Dataset.range(300_000).map(lambda x: {"x": x, "y": x + 1})
    if kind == "cache":
        list(ds.cache(tmp_path / "made"))
    elif kind == "save":
        ds.save(tmp_path / "made")
    else:
        list(ds.snapshot(tmp_path / "made"))
    path = tmp_path / "made"
    rows = path if path.is_file() else next(path.rglob("*.rows"))
    status, (report,), _ = inspected(capsys, rows)
    assert (status, report["format"], report["elements"]) == (0, "file of rows", 300_000)
    assert report["first"][1] == repr({"x": np.int64(1), "y": np.int64(2)})
    damage(rows, rows.stat().st_size // 2)
    status, (report,), _ = inspected(capsys, rows)
    assert status == 1
    assert report["damage"][0]["element"] > 0
    assert str(rows) in report["damage"][0]["reason"]


def test_a_state_shows_its_plan(tmp_path, capsys):
    path = tmp_path / "state"
    it = iter(ps.Dataset.range(5).batch(2))
    next(it)
    path.write_bytes(it.get_state())
    status, (report,), _ = inspected(capsys, path)
    assert (status, report["format"]) == (0, "state of an iterator")
    assert "batch" in report["plan"]
    damage(path, -1)
    status, (report,), _ = inspected(capsys, path)
    assert status == 1
    assert "damaged or truncated" in report["damage"][0]["reason"]


def test_an_index_and_a_tar_shard_are_known(examples, tmp_path, capsys):
    ps.index(examples)
    status, (report,), _ = inspected(capsys, f"{examples}.psindex")
    assert (status, report["format"], report["of"]) == (0, "index", str(examples))
    assert report["records"] == len(list(ps.TFRecordDataset(examples)))
    with tarfile.open(tmp_path / "shard.tar", "w") as tar:
        tar.add(examples, "0.tfrecord")
    status, (report,), _ = inspected(capsys, tmp_path / "shard.tar")
    assert (status, report["format"], report["elements"]) == (0, "tar shard", 1)


@pytest.mark.parametrize("at", [0, 9, 600, -200, -1])
def test_damage_anywhere_in_an_index_is_found(tmp_path, capsys, at):
    lines = tmp_path / "lines.txt"
    lines.write_text("".join("x" * (i * 7919 % 83) + "\n" for i in range(1000)))
    ps.index(lines)
    index = tmp_path / "lines.txt.psindex"
    status, (report,), _ = inspected(capsys, index)
    assert (status, report["records"], report["damage"]) == (0, 1000, [])
    damage(index, at)
    status, reports, error = inspected(capsys, index)
    if at == 0:  # nothing identifies the format any more
        assert (status, reports) == (2, [])
        assert "of no format that is known here" in error
    else:
        assert status == 1
        assert "run ps.index again" in reports[0]["damage"][0]["reason"]


def test_what_is_unknown_or_missing_is_wrong_usage_and_the_others_are_shown(
    examples, tmp_path, capsys
):
    (tmp_path / "text").write_text("some words that are no records at all")
    status, reports, error = inspected(
        capsys, tmp_path / "text", tmp_path / "missing", tmp_path, examples
    )
    assert (status, len(reports)) == (2, 1)
    assert "text is of no format that is known here" in error
    assert "missing" in error
    assert "is a folder without" in error


@pytest.mark.parametrize("ending", ["tar.gz", "tgz", "tar.zst", "any"])
def test_a_compressed_tar_shard_is_known(examples, tmp_path, capsys, ending):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        tar.add(examples, "0.tfrecord")
    packed = "ZSTD" if ending == "tar.zst" else "GZIP"
    shard = tmp_path / f"shard.{ending}"
    if packed == "ZSTD":
        compressor = _core.ZstdCompressor("test", 3)
        shard.write_bytes(compressor.compress(plain.getvalue()) + compressor.flush())
    else:
        shard.write_bytes(gzip.compress(plain.getvalue()))
    status, (report,), _ = inspected(capsys, shard)
    assert (status, report["format"]) == (0, f"tar shard, {packed}")
    assert (report["elements"], report["damage"]) == (1, [])


def test_what_is_compressed_and_unknown_is_no_damaged_record(tmp_path, capsys):
    (tmp_path / "words.gz").write_bytes(gzip.compress(b"some words that are no records at all"))
    status, reports, error = inspected(capsys, tmp_path / "words.gz")
    assert (status, reports) == (2, [])
    assert "words.gz is of no format that is known here" in error


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    status, reports, error = inspected(capsys, tmp_path / "pipe")
    assert (status, reports) == (2, [])
    assert "pipe is not a regular file" in error


def test_the_plan_of_a_state_is_indented(tmp_path, capsys):
    def load(x):
        return x

    load.__name__ = load.__qualname__ = "two\nlines"
    it = iter(ps.Dataset.range(5).map(load).batch(2))
    next(it)
    path = tmp_path / "state"
    path.write_bytes(it.get_state())
    assert cli.main(["inspect", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  plan:")
    assert [line.split()[0] for line in lines[at + 1 : at + 4]] == ["range", "map", "batch"]
    assert all(line.startswith("    ") for line in lines[at + 1 : at + 4])
    assert it.stats()[1]["function"] == r"two\nlines"


def test_a_state_that_is_text_is_read(tmp_path, capsys):
    it = iter(ps.Dataset.range(9).batch(2))
    next(it)
    (tmp_path / "bytes").write_bytes(it.get_state())
    (tmp_path / "text").write_text(it.get_state(text=True))
    status, reports, _ = inspected(capsys, tmp_path / "bytes", tmp_path / "text")
    assert status == 0
    assert {report["format"] for report in reports} == {"state of an iterator"}
    assert reports[0]["plan"] == reports[1]["plan"]
    (tmp_path / "text").write_text(it.get_state(text=True)[:-8] + "AAAAAAA=")
    status, (report,), _ = inspected(capsys, tmp_path / "text")
    assert status == 1
    assert report["damage"]


def test_arrays_of_numpy_show_their_rows(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int16).reshape(3, 2))
    np.savez(tmp_path / "a.npz", x=np.arange(4), y=np.arange(4) / 2)
    status, (one, many), _ = inspected(capsys, tmp_path / "a.npy", tmp_path / "a.npz")
    assert (status, one["format"], one["elements"]) == (0, ".npy file", 3)
    assert one["rows"] == "TensorSpec(shape=(2,), dtype=int16)"
    assert (many["format"], many["elements"]) == (".npz file", 4)
    assert many["first"][1] == "{'x': np.int64(1), 'y': np.float64(0.5)}"


def test_arrays_that_are_no_rows_are_not_damaged(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", x=np.arange(4), y=np.arange(5))
    status, (report,), _ = inspected(capsys, tmp_path / "a.npz")
    assert (status, report["damage"]) == (0, [])
    assert "got 4 and, in element['y'], 5" in report["rows"]


def test_a_damaged_array_is_shown(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", x=np.arange(4))
    damage(tmp_path / "a.npz", 200)
    status, (report,), _ = inspected(capsys, tmp_path / "a.npz")
    assert status == 1
    assert "checksum" in report["damage"][0]["reason"]


def test_a_zip_file_of_another_program_is_unknown(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as file:
        file.writestr("text", "words")
    status, reports, err = inspected(capsys, tmp_path / "a.docx")
    assert (status, reports) == (2, [])
    assert "no format that is known here" in err
