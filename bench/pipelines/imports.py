"""The import time of penstock beyond `import numpy`, in fresh processes, and the size of a wheel.

The wheel is the newest one in ``dist`` or ``build`` of the checkout; without one, that line is
omitted.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.pipelines.measure import Case, Figure, Spread, interleaved, main

TIMES = 5  # processes per timing
CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def importing(module: str) -> Case:
    def case() -> float:
        command = [sys.executable, "-c", CODE.format(module)]
        runs = (
            subprocess.run(command, check=True, capture_output=True, text=True)
            for _ in range(TIMES)
        )
        return sorted(float(run.stdout) for run in runs)[TIMES // 2]

    return case


def wheel() -> Path | None:
    root = Path(__file__).parents[2]
    found = [*root.glob("dist/penstock-*.whl"), *root.glob("build/**/penstock-*.whl")]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def run() -> list[Figure]:
    rounds = interleaved({"numpy": importing("numpy"), "penstock": importing("penstock")})
    ms = {case: rounds.seconds(case).median * 1e3 for case in rounds.rounds[0]}
    figures = [
        Figure(
            "import penstock, beyond import numpy",
            Spread.of((r["penstock"] - r["numpy"]) * 1e3 for r in rounds.rounds),
            "ms",
            at_most=30,
            note=f"{ms['penstock']:.0f} against {ms['numpy']:.0f} ms",
        )
    ]
    if file := wheel():
        size = Spread.of([file.stat().st_size / 1e6])
        figures.append(Figure("wheel", size, "MB", at_most=5, note=file.name))
    return figures


if __name__ == "__main__":
    main(run, __doc__)
