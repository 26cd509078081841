"""JSON lines without a signature yield the same objects with and without orjson."""

import json
import sys

import pytest

import penstock as ps
from penstock.sources import json_lines

pytest.importorskip("orjson")

LINES = [
    '{"id": -80241446968629135069}',
    '{"id": 123456789012345678901234567890, "l": [36893488147419103232]}',
    '{"id": 18446744073709551615, "least": -9223372036854775808}',
    '{"id": 18446744073709551616, "least": -9223372036854775809}',
    '{"text": "12345678901234567890", "x": 0.12345678901234567890, "y": 1e400}',
    '{"a": NaN, "b": [Infinity, -Infinity], "c": -0, "d": -0.0}',
    '{"a": 1, "a": 2}',
    '"\\ud800"',
    '{"\\ud83d\\ude00": null}',
    '  [1, 2.5, "x", true, {"a": {}}] ',
    "1",
    "{'a': 1}",
    '{"a": 01}',
    '{"a": +1}',
    '{"a": .5}',
    '{"a": 1.}',
    '{"a": 1,}',
    '{"a": 1} {"b": 2}',
    '{"a": "\x01"}',
    "nan",
    "",
    '{"a": ' + "1" * 5000 + "}",
    "[" * 100_000,
]


def outcome(path):
    try:
        return repr(list(ps.JSONLinesDataset(path)))
    except ps.DataError as error:
        return str(error)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:30])
def test_values_and_errors_do_not_depend_on_orjson(tmp_path, monkeypatch, line):
    path = tmp_path / "a.jsonl"
    path.write_text(line + "\n", encoding="utf-8", errors="surrogatepass")
    json_lines._loads.cache_clear()
    with_it = outcome(path)
    monkeypatch.setitem(sys.modules, "orjson", None)
    json_lines._loads.cache_clear()
    assert with_it == outcome(path)
    json_lines._loads.cache_clear()


def test_integers_of_any_size_stay_integers(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(LINES[:4]))
    assert list(ps.JSONLinesDataset(path)) == [json.loads(line) for line in LINES[:4]]
