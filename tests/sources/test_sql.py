"""SqlDataset: rows of SQLite databases; expected values are from TensorFlow 2.21."""

import contextlib
import functools
import sqlite3
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps

ROWS = [(1, 1.5, "x", b"\0\xff"), (2, None, "ä", b"z"), (300, 2.5, None, None)]


class Pair(NamedTuple):
    number: object
    text: object


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("sql") / "rows of #1?.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE t (i INTEGER, f REAL, s TEXT, b BLOB)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
    database.commit()
    database.close()
    return path


def read(path, columns, types, rest=""):
    return ps.experimental.SqlDataset("sqlite", path, f"SELECT {columns} FROM t {rest}", types)


class TestRows(DatasetContract):
    @pytest.fixture(autouse=True)
    def _path(self, path):
        type(self).path = path

    @classmethod
    def build(cls):
        return read(cls.path, "i, s, b", (np.int32, {"b": bytes, "a": str}))

    expected = [
        (np.int32(1), {"b": b"\0\xff", "a": "x"}),
        (np.int32(2), {"b": b"z", "a": "ä"}),
        (np.int32(300), {"b": b"", "a": ""}),
    ]


@pytest.mark.parametrize(
    ("columns", "types", "wanted"),
    [
        (
            "i, f, s",
            (np.int32, np.float64, bytes),
            [(1, 1.5, b"x"), (2, 0.0, "ä".encode()), (300, 2.5, b"")],
        ),
        ("b", (bytes,), [(b"\0\xff",), (b"z",), (b"",)]),
        ("i", np.int32, [1, 2, 300]),
        ("i, f", (bytes, bytes), [(b"1", b"1.5"), (b"2", b""), (b"300", b"2.5")]),
        ("i", (bool,), [(True,), (True,), (True,)]),
        ("i", (np.float64,), [(1.0,), (2.0,), (300.0,)]),
        ("f", (np.float32,), [(1.5,), (0.0,), (2.5,)]),
        (
            "i, f",
            {"a": np.int64, "b": np.float64},
            [{"a": 1, "b": 1.5}, {"a": 2, "b": 0.0}, {"a": 300, "b": 2.5}],
        ),
        (
            "i, f",
            {"b": np.float64, "a": np.int64},
            [{"b": 1.5, "a": 1}, {"b": 0.0, "a": 2}, {"b": 2.5, "a": 300}],
        ),
        ("i, s", Pair(np.int16, str), [Pair(1, "x"), Pair(2, "ä"), Pair(300, "")]),
        ("i - 2", (bool,), [(True,), (False,), (True,)]),
        ("2 * f", (np.int64,), [(3,), (0,), (5,)]),
        ("NULL, NULL", (np.uint8, bool), [(0, False)] * 3),
    ],
)
def test_rows_have_these_values(path, columns, types, wanted):
    came = list(read(path, columns, types))
    assert came == wanted
    spec = read(path, columns, types).element_spec
    assert type(spec) is type(wanted[0]) or not isinstance(types, (tuple, dict))
    for row in came:
        for value, kind in zip(flat(row), flat(spec), strict=True):
            assert (value.dtype if isinstance(value, np.generic) else type(value)) == kind.dtype


def flat(nested):
    if isinstance(nested, dict):
        return list(nested.values())
    return list(nested) if isinstance(nested, tuple) else [nested]


def test_an_empty_answer_has_no_rows(path):
    assert list(read(path, "i", (np.int64,), "WHERE i > 1000")) == []


@pytest.mark.parametrize(
    ("columns", "types", "bad", "words"),
    [
        ("s", (np.int32,), 2, "row 0: column 's' must be int32, got 'x'"),
        ("i", (np.int8,), 1, "row 2: column 'i' must be int8, got 300"),
        ("i - 2 AS n", (np.uint8,), 2, "row 0: column 'n' must be uint8, got -1"),
        ("f", (np.int64,), 2, "row 0: column 'f' must be int64, got 1.5"),
        ("s", (np.float64,), 2, "row 0: column 's' must be float64, got 'x'"),
        ("s", (bool,), 2, "row 0: column 's' must be bool, got 'x'"),
        ("b", (str,), 1, "row 0: column 'b' must be str, got b'"),
    ],
)
def test_a_value_that_its_type_does_not_hold_leaves_the_other_rows(
    path, columns, types, bad, words
):
    # TensorFlow converts text to 0 and truncates the bits of numbers.
    came = steps(iter(read(path, columns, types)))
    errors = [s for s in came if isinstance(s, Failure)]
    assert len(came) == 3
    assert [s.kind for s in errors] == ["TypeError"] * bad
    assert words in errors[0].text


@pytest.mark.parametrize(
    ("query", "error", "words"),
    [
        ("SELECT q FROM t", ValueError, "no such column: q"),
        ("SELECT i, f FROM t", ValueError, "a query with 1 columns was expected, .* got 2"),
        ("INSERT INTO t VALUES (1, 1, 1, 1)", ValueError, "readonly"),
        ("nonsense", ValueError, "syntax error"),
        ("", ValueError, "got 0"),
    ],
)
def test_a_wrong_query_is_one_error(path, query, error, words):
    it = iter(ps.experimental.SqlDataset("sqlite", path, query, (np.int64,)))
    with pytest.raises(error, match=words):
        next(it)
    assert list(it) == []
    assert len(list(read(path, "i", np.int64))) == 3


def test_a_file_that_is_none_of_its_kind_is_an_error(tmp_path):
    (came,) = steps(iter(read(tmp_path / "missing.db", "i", np.int64)))
    assert came.kind == "FileNotFoundError"
    assert "missing.db" in came.text
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "text.db").write_text("no database " * 100)
    (came,) = steps(iter(read(tmp_path / "text.db", "i", np.int64)))
    assert came.kind == "DataError"


def test_a_damaged_database_ends_with_an_error(tmp_path):
    path = tmp_path / "damaged.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE t (i INTEGER, s TEXT)")
    database.executemany("INSERT INTO t VALUES (?, ?)", [(i, "x" * 500) for i in range(500)])
    database.commit()
    database.close()
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8192] = b"\xff" * 8192
    path.write_bytes(content)
    came = steps(iter(read(path, "i, s", (np.int64, str))))
    errors = [s for s in came if isinstance(s, Failure)]
    assert 0 < len(came) < 500
    assert [s.kind for s in errors] == ["DataError"]
    assert isinstance(came[-1], Failure)


def test_a_database_that_is_cut_off_is_an_error(tmp_path):
    path = tmp_path / "cut.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE t (i INTEGER)")
    database.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(300)])
    database.commit()
    database.close()
    content = path.read_bytes()
    for left_out in (1, 500, len(content) - 600):
        path.write_bytes(content[:-left_out])
        (came,) = steps(iter(read(path, "i", np.int64)))
        assert came.kind == "DataError"
        assert "cut off" in came.text
        assert "cut.db" in came.text


def test_what_sqlite_says_comes_with_the_file(tmp_path):
    path = tmp_path / "text.db"
    path.write_text("no database " * 100)
    with pytest.raises(ps.DataError, match=r"^SqlDataset: row 0: file is not a database") as caught:
        list(read(path, "i", np.int64))
    assert caught.value.file == str(path)
    assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
    numbers = read(path_of_numbers(tmp_path), "q", np.int64)
    with pytest.raises(ValueError, match=r"^SqlDataset: query must be one that SQLite") as caught:
        list(numbers)
    assert any(str(tmp_path) in note for note in caught.value.__notes__)


def test_a_locked_database_raises_os_error(tmp_path):
    path = path_of_numbers(tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        ds = ps.experimental.SqlDataset("sqlite", path, "SELECT i FROM t", np.int64)
        at_once = mock.patch("sqlite3.connect", functools.partial(sqlite3.connect, timeout=0))
        with at_once, pytest.raises(OSError, match="SqlDataset: database is locked") as caught:
            list(ds)
    assert caught.value.filename == str(path)


def test_text_that_is_not_utf_8_is_named(tmp_path):
    path = path_of_numbers(tmp_path)
    ds = ps.experimental.SqlDataset("sqlite", path, "SELECT CAST(x'ff' AS TEXT) FROM t", str)
    with pytest.raises(ps.DataError, match="SqlDataset: row 0: Could not decode to UTF-8"):
        list(ds)


def path_of_numbers(folder):
    path = folder / "numbers.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (i INTEGER)")
        database.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(3)])
        database.commit()
    return path


def test_it_runs_on_other_threads(path):
    ds = read(path, "i", np.int64).repeat(3).prefetch(2).map(lambda x: x, num_parallel_calls=2)
    assert_same(list(ds), [1, 2, 300] * 3)


def test_wrong_arguments_are_refused(path):
    with pytest.raises(ValueError, match="driver_name must be 'sqlite', got 'mysql'"):
        ps.experimental.SqlDataset("mysql", path, "", np.int64)
    for kind in (complex, "nothing", [np.int64], object, None):
        with pytest.raises(TypeError, match="SqlDataset: output_types must be"):
            read(path, "i", (kind,))
