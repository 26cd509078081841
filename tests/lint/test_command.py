"""``python -m penstock lint`` and ``explain``, and warnings at the first iteration."""

import json
import re
import subprocess
import sys
import warnings

import pytest

import penstock as ps
from penstock import cli, lint
from penstock.lint.rule import all_rules

PROGRAM = """
import penstock as ps

assert __name__ != "__main__"
good = ps.Dataset.range(9).shuffle(9)
bad = ps.Dataset.range(9).repeat().shuffle(9)


def made():
    return ps.Dataset.range(9).batch(2).shuffle(9)


def collect():
    return list(bad)


number = 3


def takes(x, *, y):
    return bad
"""
FILES = {
    "empty.py": b"",
    "side.py": b"print('it runs')",
    "side.txt": b"",
    "fails.py": b"import os\n\nprices = os.environ['none']\n",
    "wrong.py": b"def f(:\n",
    "bytes.py": b"name = '\xff'\n",
    "exits.py": b"raise SystemExit(1)\n",
}


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_all_datasets_of_a_program_are_looked_at(program, capsys):
    assert cli.main(["lint", str(program)]) == 1
    out = capsys.readouterr().out
    assert re.findall(r"^(\w+): (PS\d+)", out, re.MULTILINE) == [("bad", "PS001"), ("bad", "PS024")]
    assert "list() in line 14 never returns" in out
    assert "2 findings; `python -m penstock explain RULE` says more" in out


def test_one_dataset_or_a_function_is_looked_at(program, capsys):
    assert cli.main(["lint", f"{program}:good"]) == 0
    assert capsys.readouterr().out == "no findings\n"
    assert cli.main(["lint", f"{program}:made"]) == 1
    assert "made: PS002 shuffle: whole batches are shuffled" in capsys.readouterr().out


def test_a_module_is_looked_at(program, capsys, monkeypatch):
    monkeypatch.chdir(program.parent)
    monkeypatch.syspath_prepend(program.parent)
    assert cli.main(["lint", "program:bad"]) == 1
    assert "PS001" in capsys.readouterr().out


def test_json(program, capsys):
    assert cli.main(["lint", "--json", f"{program}:bad"]) == 1
    first, _ = json.loads(capsys.readouterr().out)
    assert first["dataset"] == "bad"
    assert first["rule"] == "PS001"
    assert set(first) == {"dataset", "rule", "stage", "message", "fix"}
    assert cli.main(["lint", "--json", f"{program}:good"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.py", "there is no file .*none.py"),
        ("no_such_module_here", "there is no module no_such_module_here"),
        ("program.py:none", "has no 'none'"),
        (
            "program.py:number",
            "number must be a Dataset or a loader, or a function that returns one, got 3",
        ),
        ("empty.py", "has no dataset or loader among its global variables"),
        ("", "no program was named"),
        (":", "no program was named"),
        ("./package", "./package is a folder"),
        (".package", "there is no .package"),
        ("side.txt", "side.txt is no file of Python"),
        ("side.none", "there is no module side.none"),
        ("program.py:takes", r"takes\(x, \*, y\) takes arguments"),
        ("fails.py", r"fails.py failed:\nTraceback[^%]*fails.py\", line 3[^%]*KeyError: 'none'"),
        ("wrong.py", "wrong.py failed:[^%]*wrong.py[^%]*SyntaxError"),
        ("bytes.py", "bytes.py failed:[^%]*SyntaxError[^%]*bytes.py"),
        ("exits.py", r"exits.py failed: it has called sys.exit\(1\)"),
    ],
)
def test_what_is_not_there_is_said(program, capsys, monkeypatch, name, said):
    monkeypatch.chdir(program.parent)
    monkeypatch.setattr(sys, "path", sys.path[:])
    (program.parent / "package").mkdir()
    for file, text in FILES.items():
        (program.parent / file).write_bytes(text)
    assert cli.main(["lint", name]) == 2
    out, err = capsys.readouterr()
    assert re.search(said, err), err
    assert "penstock/program.py" not in err
    assert out == ""  # side.py prints


@pytest.mark.parametrize(
    "text", [b"\xef\xbb\xbfname = 'x'\n", b"# coding: latin-1\nname = '\xe4'\n"]
)
def test_a_program_has_the_encoding_that_it_says(tmp_path, capsys, text):
    path = tmp_path / "coded.py"
    path.write_bytes(text + b"import penstock as ps\nds = ps.Dataset.range(9)\n")
    assert cli.main(["lint", str(path)]) == 0
    assert capsys.readouterr().out == "no findings\n"


def test_datasets_of_compat_are_seen(tmp_path, capsys):
    path = tmp_path / "ported.py"
    path.write_text(
        "import penstock.compat.tf as tf\n"
        "ds = tf.data.Dataset.range(9).repeat().shuffle(9)\n"
        "def made():\n    return ds\n"
    )
    for program in (path, f"{path}:ds", f"{path}:made"):
        assert cli.main(["lint", str(program)]) == 1
        assert "PS001" in capsys.readouterr().out


def test_a_reader_that_has_gone_is_no_finding(program):
    done = subprocess.run(
        f"{sys.executable} -m penstock lint {program}:bad | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (141, "")


def test_rules_are_explained(capsys):
    assert cli.main(["explain", "ps003"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("PS003 shuffle-smaller-than-batch\n\nThe buffer of a `shuffle`")
    assert cli.main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(all_rules())
    assert cli.main(["explain", "PS999"]) == 2
    assert "there is no rule PS999" in capsys.readouterr().err


def test_options_warn_once_for_each_rule(monkeypatch):
    monkeypatch.setattr(lint, "_warned", set())
    options = ps.Options()
    options.warn = True
    ds = ps.Dataset.range(4).repeat(2).shuffle(3).with_options(options)
    with pytest.warns(UserWarning, match="PS001 shuffle: its buffer mixes") as caught:
        iter(ds)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(ds)) == 8
        assert len(list(ps.Dataset.range(4).repeat(2).shuffle(3))) == 8
