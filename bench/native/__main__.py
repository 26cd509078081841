"""C++ micro-benchmarks of the engine, each group compared with alternative implementations.

python -m bench.native                       all, in about two minutes python -m bench.native
--quick               a smoke test, in seconds python -m bench.native --only shuffle        one
theme; --json FILE, --markdown FILE keep it
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import machine
from bench.native.build import built
from bench.spread import Spread, lay_out, number

SECONDS, REPEATS = 0.2, 7  # of each case
QUICK = (0.01, 2)


def main() -> int:
    arguments = _parse()
    seconds, repeats = QUICK if arguments.quick else (SECONDS, REPEATS)
    command = [str(built("native_bench", arguments.build)), "--seconds", str(seconds)]
    command += ["--repeats", str(repeats)]
    if arguments.only:
        command += ["--only", arguments.only]
    noise = machine.Noise()
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        return run.returncode
    found = json.loads(run.stdout)
    found["machine"] = machine.describe() | {"compiler": found.pop("compiler")}
    found["others_busy_cpus"] = round(noise.cpus(), 2)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text(lay_out(rows(found), markdown=True) + "\n")
    print(lay_out(rows(found)))
    for reason in found["left_out"]:
        print(f"left out: {reason}")
    print(f"other programs kept {found['others_busy_cpus']} CPUs busy")
    return 0


def rows(found: dict[str, Any]) -> list[list[str]]:
    """Return the table: each case with its median, spread and relative speed.

    The first case of a theme is the engine's; the last column contains the engine's speed-up.
    """
    first: dict[str, Spread] = {}
    table = [["theme", "case", "median", "spread", "the engine is"]]
    themes = [case["theme"] for case in found["cases"]]
    for case in sorted(found["cases"], key=lambda case: themes.index(case["theme"])):
        theme, unit, spread = case["theme"], case["unit"], Spread.of(case["values"])
        ours = first.setdefault(theme, spread)
        faster = spread.median / ours.median if unit == "ns" else ours.median / spread.median
        table.append(
            [
                theme if ours is spread else "",
                case["name"],
                f"{number(spread.median)} {unit}",
                f"{number(spread.low)} to {number(spread.high)}",
                "" if ours is spread else f"{number(faster)} x as fast",
            ]
        )
    return table


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="short runs")
    parser.add_argument("--only", metavar="THEME", help="one theme, as the table names it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all values there, too")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
    parser.add_argument(
        "--build", type=Path, metavar="FOLDER", help="a build folder of CMake to use"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
