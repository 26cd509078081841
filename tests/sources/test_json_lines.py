"""JSONLinesDataset: JSON fields as columns, and lines as Python objects."""

import gzip
import json
import math
import random
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps
from penstock.sources import json_lines
from records import zstd

Spec = ps.TensorSpec
SIGNATURE = {
    "n": Spec((), np.int64),
    "f": Spec((), np.float32),
    "s": Spec((), str),
    "inside": {"b": Spec((), bool), "pair": Spec((2,), np.int8)},
    "list": Spec((None,), np.float64),
    "words": Spec((None,), bytes),
    "rows": Spec((None, 2), np.int32),
}
ROWS = 13


def value(n):
    return {
        "unknown": {"a": [n, {"b": None}], "c": "\u20ac"},
        "n": n,
        "f": n / 4,
        "s": 'a "quoted" \u00e9\U0001f600 ' + chr(10) * (n % 3),
        "inside": {"pair": [n, -n], "b": n % 2 == 0, "x": []},
        "list": [i / 2 for i in range(n % 4)],
        "words": [f"w{i}" for i in range(n % 3)],
        "rows": [[i, n] for i in range(n % 2)],
    }


def row(n):
    given = value(n)
    return {
        "n": np.int64(n),
        "f": np.float32(given["f"]),
        "s": given["s"],
        "inside": {"b": np.bool_(n % 2 == 0), "pair": np.array([n, -n], np.int8)},
        "list": np.array(given["list"], np.float64),
        "words": np.array([w.encode() for w in given["words"]], object),
        "rows": np.array(given["rows"], np.int32).reshape(-1, 2),
    }


def lines(first=0, end=ROWS):
    return "".join(
        json.dumps(value(n), ensure_ascii=n % 2 == 0) + "\n" for n in range(first, end)
    ).encode()


@pytest.fixture(scope="class")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    (folder / "a.jsonl").write_bytes(lines(0, 6))
    (folder / "b.jsonl").write_bytes(lines(6).rstrip())
    return [str(folder / name) for name in ("a.jsonl", "b.jsonl")]


class OfFiles(DatasetContract):
    @pytest.fixture(autouse=True)
    def use(self, files):
        type(self).files = files


class TestFields(OfFiles):
    @classmethod
    def build(cls, num_parallel_calls=None):
        return ps.JSONLinesDataset(cls.files, SIGNATURE, num_parallel_calls=num_parallel_calls)

    expected = [row(n) for n in range(ROWS)]

    def test_the_spec_is_the_signature(self):
        assert self.build().element_spec == SIGNATURE


class TestBatches(OfFiles):
    @classmethod
    def build(cls):
        signature = {name: SIGNATURE[name] for name in ("n", "list", "words")}
        return ps.JSONLinesDataset(cls.files, signature).ragged_batch(5)

    @staticmethod
    def expected():
        rows = [{name: row(n)[name] for name in ("n", "list", "words")} for n in range(ROWS)]
        signature = {
            "n": SIGNATURE["n"],
            "list": Spec((None,), float),
            "words": Spec((None,), bytes),
        }
        ds = ps.Dataset.from_generator(lambda: iter(rows), output_signature=signature)
        return list(ds.ragged_batch(5))


class TestObjects(OfFiles):
    @classmethod
    def build(cls):
        return ps.JSONLinesDataset(cls.files)

    expected = [value(n) for n in range(ROWS)]

    # The function's results have fields again, so this test does not apply.
    test_an_error_behind_it_leaves_the_others = None

    def check(self, came, wanted):
        assert list(map(str, came)) == list(map(str, wanted))

    def test_element_spec_accepts_every_element(self):
        assert self.build().element_spec == Spec((), object)


@pytest.mark.parametrize("reads", [1, 3])
def test_files_that_are_read_together(files, reads):
    ds = ps.JSONLinesDataset(files, {"n": SIGNATURE["n"]}, num_parallel_reads=reads)
    wanted = ps.TextLineDataset(files, num_parallel_reads=reads).map(lambda x: json.loads(x)["n"])
    assert [int(e["n"]) for e in ds] == [int(n) for n in wanted]


def test_compressed_files(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines()))
    names = [tmp_path / "a.jsonl.gz"]
    if ps.build_info()["zstd"]["native"]:
        name = tmp_path / "a.jsonl.zst"
        name.write_bytes(zstd(lines()))
        names.append(name)
    for name in names:
        assert len(list(ps.JSONLinesDataset(name, SIGNATURE))) == ROWS
    with pytest.raises(ValueError, match="files of one compression"):
        ps.JSONLinesDataset([names[0], tmp_path / "b.jsonl"], SIGNATURE)
    with pytest.raises(ps.DataError, match="compression_type"):
        ps.JSONLinesDataset(names[0], compression_type="").first()


WRONG = {
    b"[1]": "an object was expected, got a list, at byte 0",
    b'{"x": 1} 2': "nothing more was expected at byte 9",
    b'{"x": 1': "} was expected at byte 7",
    b'{"x": 1,}': "a string was expected, got invalid JSON, at byte 8",
    b'{"y": 1}': "field x: it was expected, and is missing in the object that ends at byte 8",
    b'{"x": 1, "x": 2}': "field x: a name that comes once was expected, it comes again at byte 13",
    b'{"x": "1"}': "field x: a number was expected, got a string, at byte 6",
    b'{"x": null}': "field x: a number was expected, got null, at byte 6",
    b'{"x": true}': "field x: a number was expected, got a bool, at byte 6",
    b'{"x": 1.0}': "field x: a number that int8 holds was expected, got 1.0, which ends at byte 9",
    b'{"x": 128}': "field x: a number that int8 holds was expected, got 128, which ends at byte 9",
    b'{"x": 01}': "field x: no digit was expected after a leading 0 at byte 7",
    b'{"x": -}': "field x: a digit was expected at byte 7",
    b'{"x": 1e}': "field x: a digit was expected at byte 8",
    b'{"x": +1}': "field x: a number was expected, got invalid JSON, at byte 6",
    b'{"x": NaN}': "field x: a number was expected, got NaN, which is not valid JSON, at byte 6",
    b'{"x": nan}': "field x: a number was expected, got NaN, which is not valid JSON, at byte 6",
    b'{"x": nul}': "field x: a number was expected, got invalid JSON, at byte 6",
    b'{"x": ' + b"9" * 50 + b"}": "got " + "9" * 40 + "... of 50 characters, which ends at byte 56",
    b'{"x": 1, "y": "\xff"}': "bytes that are no UTF-8 are in a string at byte 15",
    b'{"x": 1, "y": "\xed\xa0\x80"}': "bytes that are no UTF-8 are in a string at byte 15",
    b'{"x": 1, "y": "\xc0\x80"}': "bytes that are no UTF-8 are in a string at byte 15",
    b'{"x": 1, "y": "\\ud800"}': "a lone surrogate, which is no character, ends at byte 21",
    b'{"x": 1, "y": "\\udc00\\ud800"}': "a lone surrogate, which is no character, ends at byte 21",
    b'{"x": 1, "y": "\\x"}': "what may follow a backslash was expected at byte 16",
    b'{"x": 1, "y": "\\u12g4"}': "four hex digits were expected at byte 19",
    b'{"x": 1, "y": "\t"}': "a control character, which must be escaped, is in a string at byte 15",
    b'{"x": 1, "y": "': "the end of a string was expected at byte 15",
    b'{"x": 1, "y": ' + b"[" * 1001 + b"]" * 1001 + b"}": "a value is nested more than 1000 deep",
    b'{"x": 1, "y": [1, }': "a value was expected, got invalid JSON, at byte 18",
    b'{"x": 1, "y": {"a" 1}}': ": was expected at byte 19",
    b'{"x": 1, "y": tru}': "a value was expected, got invalid JSON, at byte 14",
}


@pytest.mark.parametrize("line", WRONG, ids=lambda line: repr(line)[2:30])
def test_a_wrong_line_is_one_error(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"x": 1}\n' + line + b'\n{"x": 3}\n')
    signature = {"x": Spec((), np.int8)}
    it = iter(ps.JSONLinesDataset(path, signature))
    assert int(next(it)["x"]) == 1
    with pytest.raises(ps.DataError) as raised:
        next(it)
    text = str(raised.value)
    assert text.startswith("JSONLinesDataset: record 1: ")
    assert WRONG[line] in text
    assert f"(file {path}, byte 9)" in text
    assert (raised.value.file, raised.value.offset) == (str(path), 9)
    assert [int(e["x"]) for e in it] == [3]
    kept = ps.JSONLinesDataset(path, signature, on_error="skip", num_parallel_calls=2)
    assert list(kept.batch(2).first()["x"]) == [1, 3]


@pytest.mark.parametrize(
    ("shape", "text", "problem"),
    [
        ((2,), "[1]", "a list of 2 was expected, got 1,"),
        ((2,), "[1, 2, 3]", "a list of 2 was expected, got more than 2,"),
        ((2,), "5", "a list was expected, got a number,"),
        ((None,), '["a"]', "a number was expected, got a string,"),
        ((None, 2), "[[1, 2], [3]]", "a list of 2 was expected, got 1,"),
        ((0,), "[1]", "a list of 0 was expected, got more than 0,"),
        ((), "[1]", "a number was expected, got a list,"),
    ],
)
def test_lists_of_other_sizes(tmp_path, shape, text, problem):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"x": {text}}}\n')
    with pytest.raises(ps.DataError, match="field x: ") as raised:
        ps.JSONLinesDataset(path, {"x": Spec(shape, np.int64)}).first()
    assert problem in str(raised.value)


def test_values_for_missing_fields(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": null}\n{"o": {}}\n{"a": 1, "o": {"l": [2, 3], "s": "x"}, "p": [4, 5]}\n')
    signature = {
        "a": Spec((), np.int16),
        "o": {"l": Spec((None,), np.int64), "s": Spec((), bytes)},
        "p": Spec((2,), np.float32),
    }
    nulls = {"a": -1, "o.l": [7], "o.s": b"?", "p": [0.5, 1]}
    ds = ps.JSONLinesDataset(path, signature, null_values=nulls)
    empty = {
        "a": np.int16(-1),
        "o": {"l": np.array([7]), "s": b"?"},
        "p": np.array([0.5, 1], np.float32),
    }
    whole = {
        "a": np.int16(1),
        "o": {"l": np.array([2, 3]), "s": b"x"},
        "p": np.array([4, 5], np.float32),
    }
    assert_same(list(ds), [empty, empty, whole])
    for wrong, problem in (
        ({"zz": 1}, "null_values must name fields, got zz; there are a, o.l, o.s, p"),
        ({"a": "x"}, r"null_values\['a'\] must be a value of TensorSpec"),
        ({"a": 2**20}, r"null_values\['a'\] must be"),
        ({"o.s": "text"}, r"null_values\['o.s'\] must be"),
        ({"p": [1]}, r"null_values\['p'\] must be"),
    ):
        with pytest.raises(ValueError, match=f"JSONLinesDataset: {problem}"):
            ps.JSONLinesDataset(path, signature, null_values=wrong)
    with pytest.raises(ValueError, match="null_values need a signature"):
        ps.JSONLinesDataset(path, null_values={"a": 1})


@pytest.mark.parametrize(
    ("signature", "problem"),
    [
        (Spec((), np.int64), "must be a dict"),
        ({"a": (Spec((), np.int64),)}, "must be a dict"),
        ({"a": Spec((), object)}, "must be of a number"),
        ({"a": Spec((), "datetime64[s]")}, "must be of a number"),
        ({"a": Spec((None, None), np.int64)}, "only the first size is None"),
    ],
)
def test_signatures_that_are_wrong(signature, problem):
    with pytest.raises(TypeError, match=f"JSONLinesDataset: .*{problem}"):
        ps.JSONLinesDataset("a.jsonl", signature)


def test_objects_of_lines(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": [1, {"b": null}]}\n[1, 2]\n3\n"x"\nnot\n{"a": 2}\n')
    for missing in (False, True):
        if missing:
            monkeypatch.setitem(sys.modules, "orjson", None)
        json_lines._loads.cache_clear()
        came = steps(iter(ps.JSONLinesDataset(path)))
        assert came[:4] == [{"a": [1, {"b": None}]}, [1, 2], 3, "x"]
        assert isinstance(came[4], Failure)
        assert came[4].kind == "DataError"
        assert came[5] == {"a": 2}
        numbers = ps.JSONLinesDataset(path, on_error="skip").filter(lambda x: isinstance(x, dict))
        assert len(list(numbers)) == 2


def test_lines_of_bytes_in_memory_have_no_file():
    ds = ps.Dataset.from_tensor_slices([b'{"n": 1}', b"{}"])
    with pytest.raises(TypeError):
        ps.JSONLinesDataset(ds.map(len), {"n": Spec((), np.int64)}).first()


numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, 1e-320, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -0.0]),
)
TYPES = [np.int8, np.uint8, np.int32, np.uint64, np.int64, np.float16, np.float32, np.float64]


@settings(max_examples=200)
@given(number=numbers, kind=st.sampled_from(TYPES))
def test_numbers_are_those_of_python(tmp_path_factory, number, kind):
    text = json.dumps(number)
    path = tmp_path_factory.getbasetemp() / "number.jsonl"
    path.write_text(f'{{"x":{text}}}')
    came = steps(iter(ps.JSONLinesDataset(path, {"x": Spec((), kind)})))
    if issubclass(kind, np.floating):
        with np.errstate(over="ignore"):
            wanted = np.float32(text) if kind is np.float32 else kind(float(text))
        fits = math.isfinite(wanted)
    else:
        limits = np.iinfo(kind)
        fits = isinstance(number, int) and limits.min <= number <= limits.max
        wanted = kind(number) if fits else None
    if fits:
        assert_same(came, [{"x": wanted}])
    else:
        assert isinstance(came[0], Failure)


values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=12,
)


@settings(max_examples=200)
@given(
    text=st.text(), others=st.dictionaries(st.text().filter(lambda k: k != "x"), values),
    ascii_only=st.booleans(), indent=st.sampled_from([None, ""]),
)  # fmt: skip
def test_strings_are_those_of_python(tmp_path_factory, text, others, ascii_only, indent):
    line = json.dumps(others | {"x": text}, ensure_ascii=ascii_only, indent=indent)
    path = tmp_path_factory.getbasetemp() / "text.jsonl"
    path.write_bytes(line.replace("\n", " ").encode())
    assert list(ps.JSONLinesDataset(path, {"x": Spec((), str)})) == [{"x": text}]


def test_what_is_not_what_it_seems_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a.b": 1, "a": {"b": 2}}\n')
    number = ps.TensorSpec((), np.int64)
    with pytest.raises(ValueError, match=r"got two for a\.b"):
        ps.JSONLinesDataset(path, {"a.b": number, "a": {"b": number}})
    with pytest.raises(ValueError, match=r"must be a value of .* got 1\.5"):
        ps.JSONLinesDataset(path, {"x": number}, null_values={"x": 1.5})


@pytest.mark.parametrize("calls", [None, 2])
def test_without_a_signature_an_error_names_file_and_byte(tmp_path, calls):
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1}\n{"x": \n[2]\n')
    seen = []
    ds = ps.JSONLinesDataset(path, num_parallel_calls=calls, on_error=lambda e, _: seen.append(e))
    assert list(ds) == [{"x": 1}, [2]]
    assert (seen[0].file, seen[0].offset, seen[0].element) == (str(path), 9, 1)
    assert str(seen[0]).endswith(f"(file {path}, byte 9)")


@pytest.mark.parametrize("signature", [None, {"a": ps.TensorSpec((), np.int64)}])
def test_a_byte_order_mark_is_not_parsed_as_json(tmp_path, signature):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\n{"a":2}\n')
    assert [dict(row) for row in ps.JSONLinesDataset(path, signature)] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("signature", [None, {"x": ps.TensorSpec((), np.int64)}])
def test_blank_lines_are_skipped(tmp_path, signature, end):
    rng = random.Random(3)
    numbers = range(300)
    text = "\ufeff" + end
    for i in numbers:
        text += f'{{"x": {i}}}' + end
        text += "".join(rng.choice(["", " ", "\t \t", " " * 99]) + end for _ in range(i % 3))
    path = tmp_path / "a.jsonl"
    path.write_text(text + "  ", encoding="utf-8", newline="")
    for buffer_size in (1, 50, None):
        ds = ps.JSONLinesDataset(path, signature, buffer_size=buffer_size)
        assert [int(row["x"]) for row in ds] == list(numbers)
        assert [int(row["x"]) for row in ds.skip(100).take(3)] == [100, 101, 102]
    calls = ps.JSONLinesDataset(path, signature, num_parallel_calls=2)
    assert [int(row["x"]) for row in calls] == list(numbers)
    ps.index(path)
    indexed = ps.JSONLinesDataset(path, signature, indexed=True)
    assert len(indexed) == len(numbers)
    assert [int(indexed[i]["x"]) for i in numbers] == list(numbers)


def test_only_blank_lines_yield_no_elements(tmp_path):
    path = tmp_path / "a.jsonl"
    for text in ("", "\n", " \n\n\t", "\ufeff", "\ufeff\n"):
        path.write_text(text, encoding="utf-8")
        assert list(ps.JSONLinesDataset(path)) == []


MISUSES = {
    "missing": lambda folder: ps.JSONLinesDataset(folder / "missing"),
    "cut off": lambda folder: ps.JSONLinesDataset(folder / "a.jsonl.gz"),
    "too long": lambda folder: ps.JSONLinesDataset(folder / "a.jsonl", max_record_bytes=4),
    "packed": lambda folder: ps.JSONLinesDataset(folder / "b.jsonl"),
    "not packed": lambda folder: ps.JSONLinesDataset(folder / "a.jsonl", compression_type="GZIP"),
    "compression": lambda folder: ps.JSONLinesDataset(folder / "a.jsonl", compression_type="LZ4"),
    "not indexed": lambda folder: ps.JSONLinesDataset(folder / "a.jsonl", indexed=True),
    "index of packed": lambda folder: ps.JSONLinesDataset(folder / "a.jsonl.gz", indexed=True),
    "damaged index": lambda folder: ps.JSONLinesDataset(folder / "c.jsonl", indexed=True),
    "no names": lambda _: ps.JSONLinesDataset(5),
    "no name": lambda folder: ps.JSONLinesDataset([folder / "a.jsonl", 5]),
    "reads of indexed": lambda folder: ps.JSONLinesDataset(
        folder / "a.jsonl", indexed=True, num_parallel_reads=2
    ),
}


@pytest.mark.parametrize("wrong", MISUSES)
def test_errors_begin_with_the_name_of_this_class(tmp_path, wrong):
    lines = b'{"a": 1}\n' * 100
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines)[:-9])
    (tmp_path / "b.jsonl").write_bytes(gzip.compress(lines))
    (tmp_path / "c.jsonl").write_bytes(lines)
    ps.index(tmp_path / "c.jsonl", progress=False)
    index = tmp_path / "c.jsonl.psindex"
    index.write_bytes(index.read_bytes()[:-1])
    with pytest.raises(Exception) as caught:
        list(MISUSES[wrong](tmp_path))
    text = str(caught.value).removeprefix("[Errno 2] ")
    assert text.startswith("JSONLinesDataset: ")
    assert "TextLine" not in text
