"""``python -m penstock profile``: what it prints and writes, and how it ends."""

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
    [(":missing", "has no 'missing'"), (":load", "load"), ("x", "there is no")],
)
def test_what_cannot_be_profiled_is_wrong_usage(program, capsys, name, said):
    if name == ":load":
        with pytest.raises(TypeError, match=said):
            profiled(capsys, program + name)
        return
    status, _, error = profiled(capsys, program + name)
    assert (status, said in error) == (2, True), error


def test_several_datasets_are_named(tmp_path, capsys):
    path = tmp_path / "two.py"
    path.write_text("import penstock as ps\none = ps.Dataset.range(3)\ntwo = one.batch(2)\n")
    status, _, error = profiled(capsys, str(path))
    assert status == 2
    assert "has 2 datasets; name one" in error


def test_an_empty_dataset_is_said_to_be_empty(tmp_path, capsys):
    path = tmp_path / "none.py"
    path.write_text("import penstock as ps\nnone = ps.Dataset.range(0)\n")
    assert profiled(capsys, str(path))[0] == 2
    assert ps.Dataset.range(0).cardinality() == 0
