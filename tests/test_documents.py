"""The files named in README.md and CONTRIBUTING.md exist."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CODE = re.compile(r"`([^`\n]+)`")
PLACE = re.compile(r"(?:\.ci|bench|cpp|docs|examples|python|tests)/[\w./-]*\w")
MADE = {"build", "dist"}


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "README.md", "cpp/README.md"])
def test_files_and_folders_that_are_named_exist(name):
    text = (ROOT / name).read_text()
    for code in CODE.findall(text):
        for place in PLACE.findall(code):
            example = re.search(r"/x\.|/test_x\.", place)  # a file still to be created
            assert example or (ROOT / place).exists(), f"{name}: {place}"


def test_classes_that_contributors_are_told_of_exist():
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").glob("*.py"))
    for contract in re.findall(r"`(\w+Contract)`", (ROOT / "CONTRIBUTING.md").read_text()):
        assert f"class {contract}" in tests, contract


def test_the_steps_that_contributors_are_told_of_are_those_of_the_program():
    (listed,) = re.findall(r"only these steps: `([\w ]+)`", (ROOT / "CONTRIBUTING.md").read_text())
    (steps,) = re.findall(r"^steps=\((.*)\)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    names = [step.partition(":")[0] for step in steps.split()]
    assert listed.split() == [name for name in names if name != "setup"]


def test_folders_of_the_table_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("| folder | what |") : text.index("An include goes")]
    for row in table.splitlines()[2:]:
        for place in CODE.findall(row.split("|")[1] if "|" in row else ""):
            assert (ROOT / place).is_dir(), place


def test_the_quickstart_needs_no_more_than_it_installs():
    text = (ROOT / "docs" / "quickstart.md").read_text()
    names = re.findall(r"^(?:>>> )?(?:import|from) (\w+)", text, re.MULTILINE)
    assert "penstock" in names
    assert set(names) - sys.stdlib_module_names == {"numpy", "penstock"}


def test_the_page_of_tensorflow_names_is_the_one_that_is_generated(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import tensorflow_names

    assert tensorflow_names.PAGE.read_text() == tensorflow_names.text(), (
        "run: python docs/tensorflow_names.py"
    )
