"""``python -m penstock profile``: its output, its files, and its exit status."""

import json

import pytest

import penstock as ps
from penstock import cli

PROGRAM = """
import time
import penstock as ps

def load(x):
    time.sleep(0.001)
    return x

photos = ps.Dataset.range(100).map(load)

def make():
    return photos.batch(2)

def fails():
    return 1 / 0
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return str(path)


def profiled(capsys, *arguments):
    status = cli.main(["profile", *arguments, "--seconds", "0.3"])
    return (status, *capsys.readouterr())


def test_the_verdict_and_the_stages_are_printed(program, capsys):
    status, text, _ = profiled(capsys, program)
    assert status == 0
    assert "load" in text


def test_json_has_everything(program, capsys):
    status, text, _ = profiled(capsys, f"{program}:make", "--json", "--step", "0.001")
    found = json.loads(text)
    assert status == 0
    assert found["bottleneck"]["function"] == "load"
    assert found["stages"][0]["kind"] == "batch"


def test_a_report_is_written(program, capsys, tmp_path):
    report = tmp_path / "report.html"
    status, _, _ = profiled(capsys, program, "--report", str(report))
    assert status == 0
    assert "<html" in report.read_text()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (":missing", "has no 'missing'"),
        (":load", "load(x) takes arguments"),
        ("x", "there is no"),
        (":fails", "ZeroDivisionError"),
    ],
)
def test_what_cannot_be_profiled_is_wrong_usage(program, capsys, name, said):
    status, _, error = profiled(capsys, program + name)
    assert (status, said in error) == (2, True), error


def test_several_datasets_are_named(tmp_path, capsys):
    path = tmp_path / "two.py"
    path.write_text("import penstock as ps\none = ps.Dataset.range(3)\ntwo = one.batch(2)\n")
    status, _, error = profiled(capsys, str(path))
    assert status == 2
    assert "has 2 datasets and loaders; name one" in error


def test_an_empty_dataset_is_said_to_be_empty(tmp_path, capsys):
    path = tmp_path / "none.py"
    path.write_text("import penstock as ps\nnone = ps.Dataset.range(0)\n")
    assert profiled(capsys, str(path))[0] == 2
    assert ps.Dataset.range(0).cardinality() == 0


def test_an_error_of_the_dataset_has_its_type_place_and_stage(tmp_path, capsys):
    path = tmp_path / "bad.py"
    path.write_text(
        "import penstock as ps\n"
        "def decode(x):\n    raise KeyError('label')\n"
        "bad = ps.Dataset.range(9).map(decode)\n"
    )
    status, _, error = profiled(capsys, str(path))
    assert status == 2
    assert f"profile: the dataset of {path} failed:" in error
    assert "KeyError: 'label'" in error
    assert "in stage map(decode)" in error
    assert "watch.py" not in error


@pytest.mark.parametrize(
    ("report", "said"),
    [("report.txt", "ends in .html"), ("none/report.html", "there is no folder"), ("", "")],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_run(tmp_path, capsys, report, said):
    path = tmp_path / "runs.py"
    path.write_text("print('it has run')\n")
    (tmp_path / "folder.html").mkdir()
    report = report or "folder.html"
    status, text, error = profiled(capsys, str(path), "--report", str(tmp_path / report))
    assert (status, text) == (2, "")
    assert (said or "is a folder") in error


def test_datasets_of_compat_are_seen(tmp_path, capsys):
    path = tmp_path / "ported.py"
    path.write_text(
        "import penstock.compat.tf as tf\nds = tf.data.Dataset.range(100).map(lambda x: x + 1)\n"
    )
    status, text, _ = profiled(capsys, str(path), "--json")
    assert status == 0
    assert json.loads(text)["stages"][0]["kind"] == "map"
