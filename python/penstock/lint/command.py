"""``python -m penstock lint``: check the datasets and loaders of a program."""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator, Sequence

from penstock.lint import Finding, findings_of, findings_of_loader
from penstock.loaders import loader_of, pipeline_of
from penstock.program import ARGUMENT, HELP, IMPORTED, NotFoundError, load

_COLLECTORS = frozenset({"list", "tuple", "sorted", "set", "sum", "max", "min", "dict"})


def main(argv: Sequence[str] | None = None) -> int:
    """Print the findings of all rules for the datasets and loaders of a program.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``lint``; None uses the arguments of the process.

    Returns
    -------
    int
        Exit status: 0 without findings, 1 with findings, 2 if the program or dataset does not exist
        or the program fails.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock lint",
        description=f"Find mistakes in the datasets and loaders of a program. {IMPORTED}",
    )
    parser.add_argument("program", metavar=ARGUMENT, help=HELP)
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    given = parser.parse_args(argv)
    try:
        found = list(_findings(given.program))
    except NotFoundError as error:
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


def _findings(program: str) -> Iterator[tuple[str, Finding]]:
    loaders, source = load("lint", program)
    collectors = _collectors(source)
    for name, value in loaders.items():
        loader = loader_of(value)
        for finding in findings_of_loader(loader) if loader is not None else ():
            yield name, finding
        dataset = pipeline_of(value) if loader is None else loader.pipeline
        if dataset is not None:
            for finding in findings_of(dataset, collector=collectors.get(name, "")):
                yield name, finding


def _collectors(source: str) -> dict[str, str]:
    """Return the calls that collect all elements of a variable, by variable name."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        if node.func.id in _COLLECTORS and isinstance(node.args[0], ast.Name):
            found[node.args[0].id] = f"{node.func.id}() in line {node.lineno}"
    return found
