"""decode_csv reads the output of Python's csv; other expected values are TensorFlow's."""

import csv
import io
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from native_contract import assert_native

INT, FLOAT = np.array([], np.int32), np.array([], np.float32)
FIELD = st.text(st.sampled_from('ab,";\n\r\0é 1'), max_size=6)


@given(st.lists(FIELD, min_size=1, max_size=4), st.sampled_from(",;\t"))
def test_fields_are_those_that_were_written(fields, delimiter):
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerow(fields)
    found = ps.io.decode_csv(line.getvalue(), [""] * len(fields), delimiter)
    assert found == fields


@pytest.mark.parametrize(
    ("record", "defaults", "options", "wanted"),
    [
        ("1,2.5,a", [0, 0.0, b""], {}, [np.int32(1), np.float32(2.5), b"a"]),
        ("1,2.5,a", [[0], [0.0], [""]], {}, [np.int32(1), np.float32(2.5), "a"]),
        ("1,2", [np.int64, np.float64(0)], {}, [np.int64(1), np.float64(2)]),
        (",", [7, 8], {}, [np.int32(7), np.int32(8)]),
        ("1,", [7, 8], {}, [np.int32(1), np.int32(8)]),
        ("1,NA", [7, 8], {"na_value": "NA"}, [np.int32(1), np.int32(8)]),
        ("1,", [7, 8], {"na_value": "NA"}, [np.int32(1), np.int32(8)]),
        ('1,""', [7, 8], {}, [np.int32(1), np.int32(8)]),
        ("1,2,3,4", [7, 8], {"select_cols": [1, 3]}, [np.int32(2), np.int32(4)]),
        ("1,2,x,4,5", [7, 8], {"select_cols": [1, 3]}, [np.int32(2), np.int32(4)]),
        ("1,2\r\n", [0, 0], {}, [np.int32(1), np.int32(2)]),
        ('a"b,c', ["", ""], {"use_quote_delim": False}, ['a"b', "c"]),
        ('"a\nb",c', ["", ""], {}, ["a\nb", "c"]),
        ("a|b", [bytes, str], {"field_delim": "|"}, [b"a", "b"]),
        (" 1 ,+3", [INT, np.int64], {}, [np.int32(1), np.int64(3)]),
        ("-2147483648", [INT], {}, [np.int32(-(2**31))]),
        ("9223372036854775807", [np.int64], {}, [np.int64(2**63 - 1)]),
    ],
)
def test_a_line_has_these_values(record, defaults, options, wanted):
    for line in (record, record.encode()):
        assert_same(ps.io.decode_csv(line, defaults, **options), wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "text",
    "0 -0 1. .5 1e3 1E-3 -2.5e+2 0.1 123456789.123456789 1e30 3.4028235e38 1e-45 1e400 -1e400"
    " 1e-400 -1e-400 1e99999999999999999999 1e-99999999999999999999 inf -inf infinity nan -nan "
    f"1e39 0.{'0' * 400}1 {'9' * 400} {'9' * 400}e-400".split(),
)
def test_floats_are_those_of_numpy(text, dtype):
    found = ps.io.decode_csv(text, [dtype])[0]
    with np.errstate(over="ignore"):
        wanted = dtype(text) if dtype is np.float64 else np.array([text]).astype(np.float32)[0]
    assert_same([found], [wanted])
    assert np.signbit(found) == np.signbit(wanted)


@pytest.mark.parametrize(
    ("record", "defaults", "what"),
    [
        ("", [0], "1 fields were expected, got 0"),
        ("1", [0, 0], "2 fields were expected, got 1"),
        ("1,2,3", [0, 0], "2 fields were expected, got 3"),
        ("1,x", [0, 0], "field 1: 'x' is no int32"),
        ("2147483648", [0], "'2147483648' is no int32"),
        ("1.5", [0], "'1.5' is no int32"),
        ("1_0", [0], "'1_0' is no int32"),
        ("+-1", [0], "is no int32"),
        ("0x10", [0.0], "'0x10' is no float32"),
        (" ", [0.0], "' ' is no float32"),
        ("1e", [0.0], "'1e' is no float32"),
        ("1,", [INT, INT], "field 1 is empty and has no default"),
        ('a"b', [""], "a quote or line end at byte 1 stands in a field without quotes"),
        ("a\nb", [""], "a quote or line end at byte 1 stands in a field without quotes"),
        ('"a"b', [""], "the quote at byte 2 is followed by neither"),
        ('x,"a', ["", ""], "the quote at byte 2 is not closed"),
        ('"', [""], "the quote at byte 0 is not closed"),
    ],
)
def test_a_wrong_line_is_an_error_that_says_where(record, defaults, what):
    with pytest.raises(ps.DataError, match=f"decode_csv: .*{what}"):
        ps.io.decode_csv(record, defaults)
    good = ",".join("7" for _ in defaults)
    with pytest.raises(ps.DataError, match="decode_csv: record 1: "):
        ps.io.decode_csv([good, record], defaults)


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        (("1", []), ValueError, "record_defaults must have a column"),
        (("1", [[1, 2]]), ValueError, "column 0: one value was expected"),
        (("1", [1j]), TypeError, "column 0: a value of int32, int64, float32"),
        (("1", [None]), TypeError, "column 0: a value of int32, int64, float32"),
        (("1", [0], "||"), ValueError, "field_delim must be one ASCII character"),
        (("1", [0], ""), ValueError, "field_delim must be one ASCII character"),
        (("1", [0], "é"), ValueError, "field_delim must be one ASCII character"),
        (("1", [0], '"'), ValueError, "field_delim must be one ASCII character"),
        ((5, [0]), TypeError, "records must be bytes or str, got int64"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, what):
    with pytest.raises(error, match=f"decode_csv: .*{what}"):
        ps.io.decode_csv(*arguments)


def test_wrong_columns_are_refused():
    with pytest.raises(ValueError, match="select_cols must have 1 columns, as record_defaults"):
        ps.io.decode_csv("1,2", [0], select_cols=[0, 1])
    for columns in ([1, 0], [1, 1], [-1, 0]):
        with pytest.raises(ValueError, match="select_cols must ascend"):
            ps.io.decode_csv("1,2", [0, 0], select_cols=columns)


@pytest.mark.parametrize("columns", [1, 2, 3, 9, 40])
def test_a_single_line_has_all_of_its_values(columns):
    line = ",".join(str(i) for i in range(columns))
    defaults = [np.int64, 0.0, 7, b""] * 10
    values = ps.io.decode_csv(line, defaults[:columns])
    assert [int(value) for value in values] == list(range(columns))
    missing = ps.io.decode_csv("," * columns, [7] * (columns + 1))
    assert [int(value) for value in missing] == [7] * (columns + 1)


def test_columns_have_the_shape_of_the_records():
    found = ps.io.decode_csv(np.array([["1,2"], ["3,4"]], object), [0, b""])
    assert_same(found, [np.array([[1], [3]], np.int32), np.array([[b"2"], [b"4"]], object)])
    empty = ps.io.decode_csv([], [0, ""])
    assert [column.shape for column in empty] == [(0,), (0,)]


def test_an_error_quotes_a_field_that_is_no_utf8():
    with pytest.raises(ps.DataError, match=r"decode_csv: field 0: '\\xff\\xe9' is no int32"):
        ps.io.decode_csv(b"\xff\xe9", [0])


def test_decode_csv_is_native():
    lines = [b'%d,%g,"x, %d"' % (i, i / 3, i) for i in range(6)]
    assert_native(lambda s: tuple(ps.io.decode_csv(s, [0, 0.0, b""])), lines)
    assert_native(lambda s: ps.io.decode_csv(s, [""], select_cols=[2])[0], lines)
    assert_native(lambda s: tuple(ps.io.decode_csv(s, [0, 0.0, b""])), [np.array(lines, object)])


def test_mutated_lines_are_read_or_refused():
    rng = random.Random(6)
    read = 0
    for _ in range(5000):
        line = bytearray(b'12,"a ""b"", c",0.5e3')
        for _ in range(rng.choice([1, 2, 3])):
            at = rng.randrange(len(line))
            new = rng.choice([b"", b'"', b",", b"\n", b"\0", b"\xff", b"9", b'""'])
            line[at : at + rng.randrange(3)] = new
        try:
            number, text, half = ps.io.decode_csv(bytes(line), [-1, b"none", -1.0])
        except ps.DataError:
            continue
        read += 1
        parts = next(csv.reader([line.decode("latin-1")], strict=True), [])
        assert text == (parts[1].encode("latin-1") or b"none")
        assert number == int(parts[0].strip() or -1)
        assert half == np.float32(parts[2].strip() or -1)
    assert read > 500
