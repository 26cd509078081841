"""Plant small defects in the sources, and count how many the tests detect.

    python tests/mutants/plant.py --build COMMAND [--tests COMMAND] [--folder FOLDER]

Each mutant replaces one expression. The variable PENSTOCK_MUTANT selects it at run time, so one
build contains all of them. The build command compiles the checkout, whose sources are restored at
the end. The tests command runs pytest on the paths appended to it. `--folder` names a test folder
other than `tests`, for the tests of another revision: the same mutants must be detected in both.
"""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = """#include <cstdlib>
static bool Planted(int number) {
  static const char* const selected = std::getenv("PENSTOCK_MUTANT");
  return selected != nullptr && std::atoi(selected) == number;
}
"""
CHOICES = {
    ".cc": "(Planted({}) ? ({}) : ({}))",
    ".py": '(({1}) if __import__("os").environ.get("PENSTOCK_MUTANT") == "{0}" else ({2}))',
}


class Mutant(NamedTuple):
    """An expression that occurs once in a stage's source file, and its replacement."""

    stage: str
    file: str
    before: str
    after: str


MUTANTS = [
    # A failed element is not counted.
    Mutant("take", "take.cc", "taken_ += block.steps()", "taken_ += block.rows"),
    Mutant("skip", "skip.cc", "left_ -= block.steps()", "left_ -= block.rows"),
    Mutant("enumerate", "enumerate.cc", "MoveBy(block.steps())", "MoveBy(block.rows)"),
    Mutant("take_while", "take_while.cc", "index_ += !error->transient()", "index_ += 0"),
    # Rows are lost, added or reordered.
    Mutant("concatenate", "concatenate.cc", "block.end = part_ == parts()", "block.end = true"),
    Mutant(
        *("interleave", "interleave/interleave.cc"),
        *("++closed >= options_.cycle", "++closed >= options_.cycle - 1"),
    ),
    Mutant(
        *("interleave", "interleave/interleave.cc"),
        *("left_ == 0", "left_ <= 1"),
    ),
    Mutant(
        *("batch", "batch/batching.cc"),
        *("drop_ && rows_->rows() < size", "drop_ && rows_->rows() + 1 < size"),
    ),
    Mutant("shard", "shard/shard.cc", "position_ % shards_", "(position_ + 1) % shards_"),
    Mutant("zip", "zip.cc", "std::min(least, n)", "std::max(least, n)"),
    # States differ from the iterator's position, or one is lost when it is saved again.
    Mutant("concatenate", "concatenate.cc", "part != part_", "false"),
    Mutant("unique", "unique.cc", "input_.position() + replay_", "input_.position()"),
    Mutant(
        *("shuffle", "shuffle/shuffle_buffer.cc"),
        *("std::max(base_ + position(), refill_until_)", "base_ + position()"),
    ),
    Mutant(
        *("batch", "batch/batching.cc"),
        *("pulled_ + replay_ - NotLookedAt()", "pulled_ + replay_"),
    ),
    Mutant("window", "window.cc", "back - waiting + replay_", "back - waiting"),
    Mutant("scan", "scan/scan.cc", "index_ + again_", "index_"),
    Mutant("cache", "cache/cache.cc", "steps_ + to_pass_", "steps_"),
    Mutant("repeat", "repeat.cc", "epoch_ >= count_", "epoch_ + 1 >= count_"),
    # An error has a different position.
    Mutant("scan", "scan/scan.cc", "index_ = info.index + 1", "index_ = info.index"),
    Mutant(
        *("scan", "scan/scan.cc"),
        *(
            'placed.In({stage_, info.index, ""}, origin_)',
            'placed.In({stage_, info.index + 1, ""}, origin_)',
        ),
    ),
    # Arguments are not validated.
    Mutant(
        *("shard", "shard/shard.cc"),
        *("index < 0 || index >= shards", "index < 0 || index > shards"),
    ),
    Mutant("zip", "zip.py", "bool(args) == (datasets is not None)", "False"),
    Mutant("interleave", "interleave.py", "ahead and num_parallel_calls is None", "False"),
]


def path_of(mutant):
    folder = "cpp/stages" if mutant.file.endswith(".cc") else "python/penstock/stages"
    return ROOT / folder / mutant.file


def planted(path, text):
    """Return a source in which each mutant of the file can be selected."""
    for number, mutant in enumerate(MUTANTS):
        if path_of(mutant) == path:
            assert text.count(mutant.before) == 1, f"{path}: {mutant.before!r} must occur once"
            choice = CHOICES[path.suffix].format(number, mutant.after, mutant.before)
            text = text.replace(mutant.before, choice)
    return HEADER + text if path.suffix == ".cc" else text


def survives(number, tests, folder):
    """Return whether the stage's tests pass with a mutant, or with none."""
    files = sorted({f"{folder}/transforms/test_{each.stage}.py" for each in MUTANTS})
    if number is not None:
        files = [f"{folder}/transforms/test_{MUTANTS[number].stage}.py"]
    environment = {**os.environ, "PENSTOCK_MUTANT": "" if number is None else str(number)}
    command = [*shlex.split(tests), "-x", "-q", *files]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stdout.decode()  # other codes: pytest could not run them
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--tests", default=f"{sys.executable} -P -m pytest")
    parser.add_argument("--folder", default="tests")
    options = parser.parse_args()
    sources = {path: path.read_text() for path in map(path_of, MUTANTS)}
    try:
        for path, text in sources.items():
            path.write_text(planted(path, text))
        subprocess.run(shlex.split(options.build), cwd=ROOT, check=True)
        alive = [i for i in range(len(MUTANTS)) if survives(i, options.tests, options.folder)]
        sound = survives(None, options.tests, options.folder)
    finally:
        for path, text in sources.items():
            path.write_text(text)
    for i in alive:
        sys.stdout.write(f"alive: {MUTANTS[i].file}: {MUTANTS[i].after}\n")
    sys.stdout.write(f"{len(MUTANTS) - len(alive)} of {len(MUTANTS)} mutants died\n")
    sys.exit(bool(alive) or not sound)


if __name__ == "__main__":
    main()
