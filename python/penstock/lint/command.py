"""``python -m penstock lint``: the datasets of a program."""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock.dataset import Dataset
from penstock.lint import Finding, findings_of

_COLLECTORS = frozenset({"list", "tuple", "sorted", "set", "sum", "max", "min", "dict"})


def main(argv: Sequence[str] | None = None) -> int:
    """Print what all rules say of the datasets in a program.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``lint``; ``None`` takes those of the process.

    Returns
    -------
    int
        0 when nothing is found, 1 when something is, 2 when there is no such program or dataset.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock lint",
        description="Find mistakes in the datasets of a program. It is imported: what starts its "
        "work has to stand under `if __name__ == '__main__':`.",
    )
    parser.add_argument(
        "program",
        metavar="FILE_OR_MODULE[:NAME]",
        help="NAME is a dataset, or a function without arguments that returns one; else all "
        "datasets that are global variables",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    given = parser.parse_args(argv)
    try:
        found = list(_findings(given.program))
    except _NotFound as error:
        print(error, file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps([{"dataset": name, **each._asdict()} for name, each in found], indent=2))
    else:
        for name, each in found:
            print(f"{name}: {each.rule} {each.stage}: {each.message}\n    {each.fix}")
        count = f"{len(found)} findings" if len(found) != 1 else "1 finding"
        print(f"{count}; `python -m penstock explain RULE` says more" if found else "no findings")
    return 1 if found else 0


class _NotFound(Exception):
    """There is no such program or dataset."""


def _findings(program: str) -> Iterator[tuple[str, Finding]]:
    target, name, variables, source = _run(program)
    if name:
        value = variables.get(name)
        if value is None:
            raise _NotFound(f"lint: {target} has no {name!r}")
        if not isinstance(value, Dataset) and callable(value):
            value = value()
        if not isinstance(value, Dataset):
            raise _NotFound(
                f"lint: {name} must be a Dataset, or a function that returns one, got {value!r:.80}"
            )
        datasets = {name: value}
    else:
        datasets = {
            name: value
            for name, value in variables.items()
            if isinstance(value, Dataset) and not name.startswith("_")
        }
        if not datasets:
            raise _NotFound(
                f"lint: {target} has no dataset among its global variables; name a function that "
                f"returns one: {target}:make_dataset"
            )
    collectors = _collectors(source)
    for name, dataset in datasets.items():
        for finding in findings_of(dataset, collector=collectors.get(name, "")):
            yield name, finding


def _run(program: str) -> tuple[str, str, dict[str, Any], str]:
    """Return the program, the name that is asked for, its global variables, and its text."""
    target, colon, name = program.rpartition(":")
    if not colon or (len(target) == 1 and name[:1] in "/\\"):  # a drive of Windows
        target, name = program, ""
    if target.endswith(".py"):
        path = Path(target)
        if not path.is_file():
            raise _NotFound(f"lint: there is no file {target}")
        sys.path.insert(0, str(path.resolve().parent))
        variables = runpy.run_path(target, run_name="__penstock_lint__")
        return target, name, variables, path.read_text()
    sys.path.insert(0, "")
    try:
        module = importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name and not target.startswith(error.name):
            raise
        raise _NotFound(f"lint: there is no module {target}; files end with .py") from None
    file = getattr(module, "__file__", None)
    return target, name, vars(module), Path(file).read_text() if file else ""


def _collectors(source: str) -> dict[str, str]:
    """Return the calls that collect all elements of a variable, by its name."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        if node.func.id in _COLLECTORS and isinstance(node.args[0], ast.Name):
            found[node.args[0].id] = f"{node.func.id}() in line {node.lineno}"
    return found
