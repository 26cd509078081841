"""Instruction counts: parsing of callgrind's files, and the measured runs."""

import json
import sys

import pytest

from bench import hot_paths, instructions


def test_passes_of_two_lengths_give_the_cost_of_an_element():
    few, many = ({"path": "a", "elements": n} for n in (100, 300))
    counts = instructions.counted([{}, few, few, {}, many, many], [9, 1500, 1900, 9, 4000, 3500])
    assert counts == {"a": {"per_element": 10.0}}


def test_the_total_is_read_from_what_callgrind_writes(tmp_path):
    file = tmp_path / "counted.1"
    file.write_text("# callgrind format\nevents: Ir\nfn=(1) main\n12 4\n\ntotals: 123456\n")
    assert instructions.total(file) == 123456
    file.write_text("events: Ir\n")
    with pytest.raises(instructions.CountError, match=r"counted\.1: no line of totals"):
        instructions.total(file)


def test_the_table_and_the_check_compare_with_the_record():
    old = {"paths": {"a": {"per_element": 100.0}}}
    paths = {name: {"per_element": 120.0} for name in "ab"}
    head, *table = instructions.rows({"paths": paths}, old)
    assert head[2:] == ["recorded", "of the record"]
    assert table == [
        ["a", "120", "100", "1.20 x"],
        ["b", "120", "-", "-"],
    ]
    assert instructions.rows({"paths": paths}, None)[1][2:] == ["-", "-"]
    assert instructions.grown({"paths": paths}, old, 1.1) == ["a"]
    assert instructions.grown({"paths": paths}, old, 1.3) == []


def test_without_valgrind_it_is_said_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(instructions.shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["instructions"])
    assert instructions.main() == 1
    assert "apt-get install valgrind" in capsys.readouterr().err


def test_the_record_has_every_path():
    recorded = json.loads(instructions.RECORD.read_text())
    assert list(recorded["paths"]) == list(hot_paths.PATHS)
    assert all(counts["per_element"] > 0 for counts in recorded["paths"].values())


@pytest.mark.parametrize("path", hot_paths.PATHS)
def test_a_path_gives_all_its_elements(tmp_path, path):
    dataset = hot_paths.PATHS[path](tmp_path, 1024)
    total = 0
    for batch in dataset:
        total += len(batch[-1] if isinstance(batch, tuple) else batch)
    assert total == 1024


def test_each_part_of_the_run_ends_with_a_mark(tmp_path, monkeypatch):
    marks = []
    monkeypatch.setattr(hot_paths, "MARK", lambda: marks.append(1))
    monkeypatch.setattr(hot_paths, "SIZES", (256, 512))
    monkeypatch.setattr(sys, "argv", ["hot_paths", str(tmp_path / "parts.json")])
    hot_paths.main()
    parts = json.loads((tmp_path / "parts.json").read_text())
    each = hot_paths.PASSES
    assert len(marks) == len(parts) == 2 * (1 + each) * len(hot_paths.PATHS)
    sizes = [256] * each + [512] * each
    assert [part["elements"] for part in parts if part] == sizes * len(hot_paths.PATHS)
