"""Instructions per element of the most common pipelines, counted by valgrind's callgrind.

python -m bench.instructions                 count, and compare with the recorded counts python -m
bench.instructions --record        write the counts to bench/results/instructions.json python -m
bench.instructions --at-most 1.1   fail if a path takes over 1.1 times the recorded count

Times vary with the machine and its load; instruction counts hardly do. Each path runs several
passes with few elements and several with many, and the minimum of each counts. The difference of
the two minima is the cost of the additional elements. The counts include everything that the
process does on all threads, including Python.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import machine
from bench.spread import lay_out, number

RECORD = Path(__file__).parent / "results" / "instructions.json"
MISSING = "valgrind is not installed; install it (Debian, Ubuntu: apt-get install valgrind)"


class CountError(Exception):
    """The counts are not available; the message contains the reason."""


def main() -> int:
    arguments = _parse()
    try:
        found = count()
    except CountError as error:
        print(f"bench.instructions: {error}", file=sys.stderr)
        return 1
    recorded = json.loads(arguments.json.read_text()) if arguments.json.is_file() else None
    print(lay_out(rows(found, recorded)))
    if arguments.record:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.at_most and (worse := grown(found, recorded, arguments.at_most)):
        print(f"more than {arguments.at_most} times the record: {'; '.join(worse)}")
        return 1
    return 0


def count() -> dict[str, Any]:
    """Run `bench.hot_paths` under callgrind, and return the counts of each path."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise CountError(MISSING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = [sys.executable, "-m", "bench.hot_paths", str(folder / "parts.json")]
        command = [valgrind, "--tool=callgrind", "--dump-before=getppid", *OPTIONS]
        command.append(f"--callgrind-out-file={folder}/counted")
        run = subprocess.run(
            [*command, *program],
            cwd=RECORD.parents[2],
            env=os.environ | {"PYTHONHASHSEED": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if run.returncode:
            raise CountError(f"the run under valgrind failed:\n{run.stdout[-2000:]}")
        parts = json.loads((folder / "parts.json").read_text())
        counts = [total(folder / f"counted.{i}") for i in range(1, len(parts) + 1)]
    return {
        "machine": machine.describe(),
        "penstock": _version(),
        "valgrind": subprocess.run(
            [valgrind, "--version"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.strip(),
        "paths": counted(parts, counts),
    }


OPTIONS = ("--separate-threads=no", "--dump-instr=no", "--dump-line=no", "--fair-sched=yes")


def total(file: Path) -> int:
    """Return the instructions of one part of the run, from the callgrind file."""
    for line in file.read_text(errors="replace").splitlines():
        if line.startswith(("totals:", "summary:")):
            return int(line.split()[1])
    raise CountError(f"{file.name}: no line of totals in what callgrind wrote")


def counted(parts: list[dict[str, Any]], counts: list[int]) -> dict[str, dict[str, float]]:
    """Return instructions per element, from the minima of passes of two lengths."""
    least: dict[str, dict[int, int]] = {}
    for part, instructions in zip(parts, counts, strict=True):
        if part:
            passes = least.setdefault(part["path"], {})
            n = part["elements"]
            passes[n] = min(instructions, passes.get(n, instructions))
    found = {}
    for path, passes in least.items():
        (few, less), (many, more) = passes.items()
        each = (more - less) / (many - few)
        found[path] = {"per_element": round(each, 1)}
    return found


def rows(found: dict[str, Any], recorded: dict[str, Any] | None) -> list[list[str]]:
    """Return the table of counts, next to the recorded ones."""
    table = [["path", "instructions per element", "recorded", "of the record"]]
    before = recorded["paths"] if recorded else {}
    for path, counts in found["paths"].items():
        old = before.get(path, {}).get("per_element")
        each = counts["per_element"]
        beside = [number(old), f"{each / old:.2f} x"] if old else ["-", "-"]
        table.append([path, number(each), *beside])
    return table


def told(found: dict[str, Any]) -> str:
    """Return the counts as Markdown."""
    table = [row[:2] for row in rows(found, None)]
    return (
        f"Counted by {found['valgrind'].replace('-', ' ')} with Python {found['machine']['python']}"
        f": all that the process does, Python included.\n\n{lay_out(table, markdown=True)}"
    )


def grown(found: dict[str, Any], recorded: dict[str, Any] | None, at_most: float) -> list[str]:
    """Return the paths whose count exceeds this multiple of the recorded one."""
    before = recorded["paths"] if recorded else {}
    return [
        path
        for path, counts in found["paths"].items()
        if path in before and counts["per_element"] > at_most * before[path]["per_element"]
    ]


def _version() -> str:
    import penstock as ps

    return ps.__version__


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", action="store_true", help="keep the counts")
    parser.add_argument("--at-most", type=float, metavar="X", help="fail beyond X times the record")
    parser.add_argument("--json", type=Path, default=RECORD, metavar="FILE", help="the record")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
