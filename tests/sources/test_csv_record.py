"""CsvDataset: comma-separated records; expected values are from TensorFlow 2.21."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps
from records import COMPRESS, COMPRESSIONS

CsvDataset = ps.experimental.CsvDataset
INT, RAW, FLOAT = np.int32, bytes, np.float32

TEXT = b'1,"a, ""b"""\r\n2,"two\r\nlines"\n\n3,c\n,d\n5'
RECORDS = [(INT(1), b'a, "b"'), (INT(2), b"two\r\nlines"), (INT(3), b"c"), (INT(-1), b"d")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv")
    paths = []
    for i in range(3):
        paths.append(str(folder / f"{i}.csv"))
        rows = "".join(f'{10 * i + row},"text\n{row}"\n' for row in range(i + 2))
        (folder / f"{i}.csv").write_text("number,text\n" + rows)
    return paths


class OfFiles(DatasetContract):
    """The contract for files written by a fixture."""

    @pytest.fixture(autouse=True)
    def _files(self, files):
        type(self).files = files


class TestRecords(OfFiles):
    @classmethod
    def build(cls):
        return CsvDataset(cls.files, [0, str], header=True)

    expected = [(INT(10 * i + row), f"text\n{row}") for i in range(3) for row in range(i + 2)]


class TestRecordsInSmallPieces(OfFiles):
    @classmethod
    def build(cls):
        return CsvDataset(cls.files, [b""], header=True, buffer_size=1, exclude_cols=[0])

    expected = [(b"text\n%d" % row,) for i in range(3) for row in range(i + 2)]


class TestParallelCalls(OfFiles):
    @classmethod
    def build(cls, num_parallel_calls=None):
        calls = {"num_parallel_calls": num_parallel_calls}
        return CsvDataset(cls.files, [0, str], header=True, buffer_size=1, **calls)

    expected = TestRecords.expected


@pytest.mark.parametrize("calls", [1, 2, ps.AUTOTUNE])
def test_errors_come_at_their_records_whatever_the_calls(write, calls):
    text = b"".join(b"%d,x\n" % i if i % 7 else b"%d\n" % i for i in range(3000))
    alone = came(text, write, [0, b""])
    assert sum(isinstance(step, Failure) for step in alone) == 429
    assert_same(came(text, write, [0, b""], num_parallel_calls=calls), alone)


def came(text, write, defaults, **arguments):
    return steps(iter(CsvDataset(write(text), defaults, **arguments)))


# TensorFlow's steps: an element, or None for an error.
@pytest.mark.parametrize("buffer_size", [1, 7, None])
@pytest.mark.parametrize(
    ("text", "defaults", "arguments", "wanted"),
    [
        (b"1,a\n2,b\n", [INT, RAW], {}, [(1, b"a"), (2, b"b")]),
        (b"1,a\r\n2,b", [INT, RAW], {}, [(1, b"a"), (2, b"b")]),
        (b"1,a\r2,b\r", [INT, RAW], {}, [(1, b"a"), (2, b"b")]),
        (b'1,"a\nb"\n2,"c""d"\n', [INT, RAW], {}, [(1, b"a\nb"), (2, b'c"d')]),
        (b'1,"a\r\nb"\r\n2,"c"\r\n', [INT, RAW], {}, [(1, b"a\r\nb"), (2, b"c")]),
        (b"x,y\n1,a\n", [INT, RAW], {"header": True}, [(1, b"a")]),
        (b'x,"y\nz"\n1,a\n', [INT, RAW], {"header": True}, [(1, b"a")]),
        (b"x,y", [INT, RAW], {"header": True}, []),
        (b"", [INT, RAW], {"header": True}, [None]),
        (b"", [INT, RAW], {}, []),
        (b"1,a\n\n2,b\n", [INT, RAW], {}, [(1, b"a"), None, (2, b"b")]),
        (b"1\n\n2\n", [[7]], {}, [(1,), (7,), (2,)]),
        (b"a\n\nb\n", [[b""]], {}, [(b"a",), (b"",), (b"b",)]),
        (b"1,a\n\n", [INT, RAW], {}, [(1, b"a"), None]),
        (b"\n", [[3]], {}, [(3,)]),
        (b"\n", [INT, RAW], {}, [None]),
        (b"1,a\n,b\n3,c\n", [INT, RAW], {}, [(1, b"a"), None, (3, b"c")]),
        (b"1,a\n,b\n3,\n", [[5], [b"z"]], {}, [(1, b"a"), (5, b"b"), (3, b"z")]),
        (b"1,a\n,b\n3,\n", [5, b"z"], {}, [(1, b"a"), (5, b"b"), (3, b"z")]),
        (b"1,a,9\n2,b\n", [INT, RAW], {}, [None, (2, b"b")]),
        (b"1\n2,b\n", [INT, RAW], {}, [None, (2, b"b")]),
        (b"x,a\n2,b\n", [INT, RAW], {}, [None, (2, b"b")]),
        (b" 1 ,a \n 2.5,b\n", [FLOAT, RAW], {}, [(1.0, b"a "), (2.5, b"b")]),
        (b'1,a"b\n2,b\n', [INT, RAW], {}, [None, (2, b"b")]),
        (b'1,"a\n2,b\n', [INT, RAW], {}, [None]),
        (b'1,"a"\n2,b"c\n', [INT, RAW], {"use_quote_delim": False}, [(1, b'"a"'), (2, b'b"c')]),
        (b"1,a\rb\n", [INT, RAW], {"use_quote_delim": False}, [(1, b"a"), None]),
        (b"1|a\n2|b\n", [INT, RAW], {"field_delim": "|"}, [(1, b"a"), (2, b"b")]),
        (b"NA,a\n2,NA\n", [9, b"zz"], {"na_value": "NA"}, [(9, b"a"), (2, b"zz")]),
        (b",a\n2,\n", [9, b"zz"], {"na_value": "NA"}, [(9, b"a"), (2, b"zz")]),
        (b"1,x,a\n2,y,b\n", [INT, RAW], {"select_cols": [0, 2]}, [(1, b"a"), (2, b"b")]),
        (b"1,x\n2,y,b\n", [INT, RAW], {"select_cols": [0, 2]}, [None, (2, b"b")]),
        (b"1,x,a\n2,y,b\n", [INT, RAW], {"exclude_cols": [1]}, [(1, b"a"), (2, b"b")]),
        (b"1,x,a,z\n2,y\n3,y,c\n", [INT, RAW], {"exclude_cols": [1]}, [None, None, (3, b"c")]),
        (b"1,x,a\n", [INT, RAW, RAW], {"exclude_cols": []}, [(1, b"x", b"a")]),
        (b"1,x,a\n", [RAW, RAW], {"exclude_cols": [0]}, [(b"x", b"a")]),
        (b"99999999999,x\n2,y\n", [INT, RAW], {}, [None, (2, b"y")]),
        (b'"1","a"\n', [INT, RAW], {}, [(1, b"a")]),
        (b'"",""\n', [4, b"d"], {}, [(4, b"d")]),
        (b"1,a\x00b\n", [INT, RAW], {}, [(1, b"a\x00b")]),
        (b"1,2.5\n", [np.int64, np.float64], {}, [(np.int64(1), np.float64(2.5))]),
        (b"1,\n2,b,\n", [INT, RAW], {}, [None, None]),
        (b"\xef\xbb\xbf1,a\n", [INT, RAW], {}, [(np.int32(1), b"a")]),
    ],
)
def test_a_file_has_these_records(write, text, defaults, arguments, buffer_size, wanted):
    found = came(text, write, defaults, buffer_size=buffer_size, **arguments)
    assert [None if isinstance(s, Failure) else tuple(v for v in s) for s in found] == wanted
    assert all(s.kind == "DataError" for s in found if isinstance(s, Failure))
    if "1,2.5" not in repr(text):
        types = {int: INT, float: FLOAT, bytes: bytes}
        for step in found:
            for value in () if isinstance(step, Failure) else step:
                assert type(value) in types.values()


FIELD = st.text(st.sampled_from('ab,";\n\r 1'), max_size=5)


@pytest.mark.slow
@given(
    st.lists(st.tuples(FIELD, FIELD), max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([1, 3, 64]),
)
def test_records_are_those_that_were_written(tmp_path_factory, rows, ending, buffer_size):
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=ending).writerows(rows)
    path = tmp_path_factory.getbasetemp() / "written.csv"
    path.write_bytes(text.getvalue().encode())
    found = CsvDataset(path, ["", ""], buffer_size=buffer_size)
    assert_same(list(found), rows)


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_compressed_files_have_the_same_records(write, kind):
    path = write(COMPRESS[kind](TEXT))
    ds = CsvDataset(path, [-1, b""], kind, buffer_size=1)
    wanted = steps(iter(CsvDataset(write(TEXT, "plain"), [-1, b""])))
    assert [s for s in steps(iter(ds)) if not isinstance(s, Failure)] == RECORDS
    assert [s for s in wanted if not isinstance(s, Failure)] == RECORDS
    (error,) = steps(iter(CsvDataset(path, [-1, b""])))[:1]
    assert error.kind == "DataError"


def test_a_cut_compressed_file_gives_what_it_has(write):
    packed = COMPRESS["GZIP"](b"".join(b"%d,%d\n" % (i, i * i) for i in range(2000)))
    found = came(packed[: len(packed) // 2], write, [0, 0], compression_type="GZIP")
    assert len(found) > 10
    assert [s.kind for s in found if isinstance(s, Failure)] == ["DataError"]
    assert isinstance(found[-1], Failure)


def test_an_error_names_field_file_and_byte(write):
    path = write(b"1,a\n2,b\nx,c\n")
    it = iter(CsvDataset(path, [INT, RAW]))
    next(it), next(it)
    with pytest.raises(ps.DataError, match="decode_csv: field 0: 'x' is no int32") as caught:
        next(it)
    assert f"element 2 (b'x,c') (file {path}, byte 8)" in "".join(caught.value.__notes__)
    (error,) = steps(iter(CsvDataset(write(b'1,a\n2,"b\n3,c\n'), [INT, RAW])))[1:]
    assert error.text.startswith(
        "CsvDataset: record 1: the quote at byte 6 of the file is not closed before its end"
    )


@pytest.mark.parametrize("buffer_size", [1, None])
def test_the_first_record_of_a_file_begins_after_the_header(write, buffer_size):
    path = write(b"a,b\nbad,1\n2,3\nbad,4\n")
    it = iter(CsvDataset(path, [0, 0], header=True, buffer_size=buffer_size))
    for offset in (4, None, 14):
        if offset is None:
            next(it)
            continue
        with pytest.raises(ps.DataError, match="decode_csv: field 0") as caught:
            next(it)
        assert caught.value.offset == offset
        assert f"byte {offset})" in "".join([str(caught.value), *caught.value.__notes__])
    batches = ps.experimental.make_csv_dataset(
        path, 1, column_defaults=[0, 0], num_epochs=1, shuffle=False
    )
    with pytest.raises(ps.DataError) as caught:
        batches.first()
    assert caught.value.offset == 4


def test_characters_behind_a_quote_spoil_one_record_only(write):
    # TensorFlow reads the rest of the file into that field.
    found = came(b'1,"a"b\n2,c\n', write, [INT, RAW])
    assert [s.kind for s in found[:1]] == ["DataError"]
    assert found[1:] == [(2, b"c")]


def test_files_that_fail_are_errors_at_their_place(write, tmp_path):
    names = [write(b"1\n"), str(tmp_path / "missing"), write(b'2\n"3', "b"), write(b"4\n", "c")]
    found = steps(iter(CsvDataset(names, [INT])))
    assert [s.kind if isinstance(s, Failure) else int(s[0]) for s in found] == [
        *(1, "FileNotFoundError", 2),
        *("DataError", 4),
    ]


def test_names_may_be_a_dataset(files):
    ds = CsvDataset(ps.Dataset.from_tensor_slices(files), [0, str], header=True)
    assert_same(list(ds), list(CsvDataset(files, [0, str], header=True)))


def test_types_are_known_beforehand():
    ds = CsvDataset("missing", [INT, np.float64(0), RAW, "x"], exclude_cols=[1])
    assert ds.element_spec == (
        ps.TensorSpec((), np.int32),
        ps.TensorSpec((), np.float64),
        ps.TensorSpec((), bytes),
        ps.TensorSpec((), str),
    )
    assert ds.cardinality() == ps.UNKNOWN_CARDINALITY
    empty = ps.Dataset.from_tensor_slices(np.array([], object))
    assert list(CsvDataset(empty, [INT]).batch(2)) == []


@pytest.mark.parametrize(
    ("defaults", "arguments", "words"),
    [
        ([], {}, "record_defaults must have a column"),
        ([[1, 2]], {}, "one value was expected"),
        ([INT], {"field_delim": "||"}, "field_delim must be one"),
        ([INT], {"select_cols": [0, 1]}, "select_cols must have 1 columns"),
        ([INT, INT], {"select_cols": [1, 0]}, "select_cols must ascend"),
        ([INT, INT], {"select_cols": [-1, 0]}, "select_cols must ascend"),
        ([INT], {"exclude_cols": [1, 1]}, "exclude_cols must ascend"),
        ([INT], {"exclude_cols": [-1]}, "exclude_cols must ascend"),
        ([INT], {"exclude_cols": [1], "select_cols": [0]}, "one of select_cols and exclude_cols"),
        ([INT], {"buffer_size": -1}, "buffer_size must be >= 0"),
        ([INT], {"compression_type": "LZ4"}, "compression"),
    ],
)
def test_wrong_arguments_are_refused(defaults, arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        CsvDataset(["nowhere"], defaults, **arguments)
