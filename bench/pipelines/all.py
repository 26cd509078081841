"""All benchmarks of this folder, each in a separate process, in one table.

A failed benchmark (for example, because a part of the package is not built) is listed at the end.
The others still run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.pipelines.measure import Figure, load, save, table

FOLDER = Path(__file__).parent
NOT_ONE = ("__init__", "all", "measure")


def main() -> int:
    found = sorted(file.stem for file in FOLDER.glob("*.py") if file.stem not in NOT_ONE)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
    parser.add_argument("--only", nargs="+", choices=found, default=found, metavar="NAME")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only:
            print(f"{name} ...", file=sys.stderr, flush=True)
            file = Path(folder, f"{name}.json")
            command = [sys.executable, "-m", f"bench.pipelines.{name}", "--json", str(file)]
            run = subprocess.run(
                command, stdout=subprocess.DEVNULL, cwd=FOLDER.parents[1], check=False
            )
            if run.returncode == 0:
                figures += load(file)
            else:
                failed.append(name)
    if arguments.json:
        save(arguments.json, figures)
    if arguments.markdown:
        arguments.markdown.write_text(table(figures, markdown=True) + "\n")
    print(table(figures, markdown=True))
    missed = [figure.name for figure in figures if figure.met is False]
    print(f"\n{len(figures)} figures, {len(missed)} below their target")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
