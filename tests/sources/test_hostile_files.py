"""Forged saved datasets with valid checksums are refused."""

import os
import pickle
import struct
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from records import crc32c
from scripts import run_script

LIST = "penstock-dataset.txt"
SHARD = "shard-00000.rows"


def write_list(folder, lines):
    text = "".join(f"{line}\n" for line in ["penstock dataset, version 1", "pipeline -", *lines])
    (folder / LIST).write_text(f"{text}crc32c {crc32c(text.encode()):x}\n")


def forge(folder, before, after, rows=1):
    """Replace bytes in the index of a saved dataset, and fix its checksums."""
    data = (folder / SHARD).read_bytes()
    offset, size, _, version = struct.unpack("<QQII", data[-32:-8])
    index = data[offset : offset + size]
    assert before in index
    index = index.replace(before, after)
    crc = crc32c(index)
    trailer = struct.pack("<QQII", offset, len(index), crc, version)
    (folder / SHARD).write_bytes(data[:offset] + index + trailer + data[-8:])
    write_list(folder, [f"shard {SHARD} {rows} {crc << 32 | len(index):x}"])


def text(content):
    size, encoded = len(content), b""
    while size >= 0x80:
        encoded += bytes([size & 0x7F | 0x80])
        size >>= 7
    return encoded + bytes([size]) + content.encode()


KEYS = [
    *("7", "'x'", "['x']", "()", "('x', 'y')", "('y',)", "(1,)", "('x',) ", "('x' 'y',)", "('x')"),
    *("(" * 5000, "(" * 300 + ")" * 300, "__import__('os')", "('x',)*2", "", "9" * 9999, "(1+1,)"),
]


@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: keys[:20])
def test_keys_that_are_not_those_of_the_dict_are_refused(tmp_path, keys):
    ps.Dataset.from_tensors({"x": 1}).save(tmp_path / "saved")
    forge(tmp_path / "saved", text("('x',)"), text(keys))
    with pytest.raises(TypeError, match=r"the keys .* cannot be found"):
        list(ps.Dataset.load(tmp_path / "saved"))


def test_a_known_name_with_other_fields_is_refused(tmp_path):
    element = {"xa": 1, "xb": 2}
    ps.Dataset.from_tensors(element).save(tmp_path / "saved")
    assert_same(list(ps.Dataset.load(tmp_path / "saved")), [element])
    forge(tmp_path / "saved", text("xa"), text("xc"))
    with pytest.raises(TypeError, match="cannot be found"):
        ps.Dataset.load(tmp_path / "saved")


@pytest.mark.parametrize("unit", ["qq", "", "0s", "n", "nss", "1234567890s", "-1s", "s\0"])
def test_an_unknown_unit_of_times_is_refused(tmp_path, unit):
    folder = tmp_path / "saved"
    ps.Dataset.from_tensors(np.datetime64(1, "ns")).save(folder)
    forge(folder, text("ns"), text(unit))
    if not unit:  # NumPy's generic unit
        assert ps.Dataset.load(folder).first().dtype == np.dtype("datetime64")
        return
    with pytest.raises(ps.DataError, match="a unit that there is not"):
        ps.Dataset.load(folder)


@pytest.mark.parametrize("rows", [0, -1, 2**17, 2**62])
def test_chunks_of_a_wrong_number_of_rows_are_refused(tmp_path, rows):
    folder = tmp_path / "saved"
    ps.Dataset.from_tensors(()).repeat(3).save(folder)

    def signed(n):
        return number(n << 1 if n >= 0 else (-n << 1) - 1)

    def number(n):
        return bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80]) + number(n >> 7)

    forge(folder, b"\0" + signed(3) + b"\0\0", b"\0" + signed(rows) + b"\0\0", rows)
    with pytest.raises(ps.DataError, match=r"a chunk of .* rows"):
        ps.Dataset.load(folder)


NAMES = ["../other/" + SHARD, "..", ".", "a/b", "a\\b", "C:x", "a\0b"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, name):
    ps.Dataset.range(3).save(tmp_path / "saved")
    ps.Dataset.range(3).save(tmp_path / "other")
    shard = (tmp_path / "saved" / LIST).read_text().splitlines()[2]
    write_list(tmp_path / "saved", [shard.replace(SHARD, name)])
    with pytest.raises(ps.DataError, match="names of files in this folder were expected"):
        ps.Dataset.load(tmp_path / "saved")


def test_an_absolute_name_and_one_that_is_listed_twice_are_refused(tmp_path):
    ps.Dataset.range(3).save(tmp_path / "saved")
    shard = (tmp_path / "saved" / LIST).read_text().splitlines()[2]
    write_list(tmp_path / "saved", [shard.replace(SHARD, str(tmp_path / "saved" / SHARD))])
    with pytest.raises(ps.DataError, match="names of files"):
        ps.Dataset.load(tmp_path / "saved")
    write_list(tmp_path / "saved", [shard, shard])
    with pytest.raises(ps.DataError, match="listed twice"):
        ps.Dataset.load(tmp_path / "saved")


@pytest.mark.parametrize("file", [LIST, SHARD])
@pytest.mark.parametrize("what", ["link", "pipe", "folder", "dangling link"])
@pytest.mark.parametrize("reader", [None, lambda files: files.flat_map(lambda file: file)])
def test_links_and_pipes_in_a_folder_are_refused(tmp_path, file, what, reader):
    ps.Dataset.range(3).save(tmp_path / "saved")
    place = tmp_path / "saved" / file
    place.rename(tmp_path / "moved")
    if what == "pipe":
        os.mkfifo(place)
    elif what == "folder":
        place.mkdir()
    else:
        place.symlink_to(tmp_path / ("moved" if what == "link" else "nothing"))
    if what == "dangling link" and file == LIST:
        with pytest.raises(ValueError, match="has no penstock-dataset"):
            ps.Dataset.load(tmp_path / "saved", reader_func=reader)
        return
    with pytest.raises(ps.DataError, match=f"^load: a file in the folder itself .*{file}"):
        ps.Dataset.load(tmp_path / "saved", reader_func=reader)


def test_what_chunks_expand_to_is_limited(tmp_path):
    if not ps.build_info()["zlib"]["native"]:
        pytest.skip("built without zlib")
    ds = ps.Dataset.from_tensors(np.zeros(5000, np.int64))
    for compression, limited in ((None, False), ("ZLIB", True)):
        folder = tmp_path / f"saved-{compression}"
        ds.save(folder, compression=compression)
        assert_same(list(ps.Dataset.load(folder)), list(ds))
        assert_same(list(ps.Dataset.load(folder, max_record_bytes=40_000 + 64)), list(ds))
        small = ps.Dataset.load(folder, max_record_bytes=1000)
        if not limited:  # it is not larger than the file
            assert_same(list(small), list(ds))
            continue
        with pytest.raises(ps.DataError, match="more than max_record_bytes, 1000"):
            list(small)
    with pytest.raises(ValueError, match="max_record_bytes"):
        ps.Dataset.load(tmp_path / "saved-ZLIB", max_record_bytes=0)


# --- classes ---


class Point(NamedTuple):
    x: int
    y: str


@dataclass
class Record:
    x: int
    y: str


MODULE = """
import os
from pathlib import Path
from dataclasses import dataclass
from typing import NamedTuple

Path(os.environ["MARK"]).touch()

@dataclass
class Record:
    x: int
    y: str

class Point(NamedTuple):
    x: int
    y: str
"""


@pytest.mark.slow
def test_nothing_that_a_file_names_is_imported(tmp_path):
    (tmp_path / "named_by_a_file.py").write_text(textwrap.dedent(MODULE))
    script = f"""
        import os, pickle, sys
        sys.path.insert(0, {str(tmp_path)!r})
        os.chdir({str(tmp_path)!r})
        os.environ["MARK"] = "imported"
        import penstock as ps
        if {{save}}:
            import named_by_a_file as named
            ps.Dataset.range(2).map(lambda x: named.Point(x, "s")).save("points")
            ps.Dataset.range(2).map(lambda x: named.Record(x, "s")).save("records")
            os.unlink("imported")
            sys.exit()
        first = ps.Dataset.load("points").first()
        assert type(first).__name__ == "Point" and first._fields == ("x", "y"), first
        try:
            ps.Dataset.load("records")
        except TypeError as error:
            assert "Record" in str(error) and "structures=" in str(error), error
        else:
            raise AssertionError
        assert "named_by_a_file" not in sys.modules
        assert not os.path.exists("imported")
        from dataclasses import dataclass
        @dataclass
        class Record:
            y: str
            x: int
        ds = ps.Dataset.load("records", structures=[Record])
        assert list(ds) == [Record("s", 0), Record("s", 1)], list(ds)
    """
    for save in (True, False):
        done = run_script(script.replace("{save}", str(save)))
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_classes_that_are_given_are_used_in_copies_too(tmp_path):
    ps.Dataset.range(1).map(lambda x: (Point(x, "a"), Record(x, "b"))).save(tmp_path / "saved")
    ds = ps.Dataset.load(tmp_path / "saved", structures=[Point, Record])
    (tmp_path / "ds").write_bytes(pickle.dumps(ds))
    done = run_script(
        f"""
        import pickle, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        sys.path[:0] = {sys.path!r}
        from pathlib import Path
        ds = pickle.loads(Path({str(tmp_path / "ds")!r}).read_bytes())
        print([type(x).__name__ for x in ds.first()])
        """
    )
    assert done.stdout.strip() == "['Point', 'Record']", done.stderr


@pytest.mark.parametrize("wrong", [[3], [int], ["Point"], [tuple], [Point, dict]])
def test_structures_are_classes_of_elements(tmp_path, wrong):
    ps.Dataset.range(1).save(tmp_path / "saved")
    for make in (
        lambda: ps.Dataset.load(tmp_path / "saved", structures=wrong),
        lambda: ps.Dataset.range(1).cache(tmp_path / "cache", structures=wrong),
        lambda: ps.Dataset.range(1).snapshot(tmp_path / "snapshot", structures=wrong),
    ):
        with pytest.raises(TypeError, match=r"structures must be a list of named tuples"):
            make()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cache", "snapshot"])
def test_the_pipeline_gives_the_classes_of_its_files(tmp_path, how):
    script = f"""
        import warnings, penstock as ps
        from dataclasses import dataclass
        warnings.simplefilter("error")
        @dataclass
        class Record:
            x: int
        def make(x):
            print("call")
            return Record(x)
        ds = ps.Dataset.range(5).map(make)
        assert [type(e) for e in getattr(ds, {how!r})({str(tmp_path / "kept")!r})] == [Record] * 5
    """
    for calls in (5, 1):
        done = run_script(script)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("call") == calls
