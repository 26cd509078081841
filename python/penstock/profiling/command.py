"""``python -m penstock profile``: find the bottleneck of a program's dataset or loader."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from penstock.profiling.page import check_path
from penstock.profiling.results import Profile
from penstock.profiling.watch import profile_loop, shows_stages
from penstock.program import ARGUMENT, HELP, IMPORTED, NotFoundError, failure, load


def main(argv: Sequence[str] | None = None) -> int:
    """Iterate over a program's dataset or loader for a while, and print its bottleneck.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``profile``; None uses the arguments of the process.

    Returns
    -------
    int
        Exit status: 0, or 2 if the program or dataset does not exist or fails, or the report cannot
        be written.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock profile",
        description="Iterate over a dataset or loader for a while, and report its bottleneck. "
        f"{IMPORTED}",
    )
    parser.add_argument("program", metavar=ARGUMENT, help=f"{HELP}, of which there may be one")
    parser.add_argument(
        "--seconds", type=float, default=5.0, metavar="S", help="how long it runs (default: 5)"
    )
    parser.add_argument(
        "--step",
        type=float,
        metavar="S",
        help="seconds that a training step takes for each element; else they are taken as fast as "
        "they come",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="write a page, or FILE.json for Perfetto, or FILE.png"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    given = parser.parse_args(argv)
    try:
        if given.report:
            check_path(given.report)
        loaders = load("profile", given.program).loaders
        if len(loaders) > 1:
            raise NotFoundError(
                f"profile: {given.program} has {len(loaders)} datasets and loaders; name one: "
                + ", ".join(f"{given.program}:{name}" for name in loaders)
            )
        (loader,) = loaders.values()
        if given.report and not shows_stages(loader):
            raise NotFoundError(
                "profile: a report shows the stages of a dataset, which cannot be seen through "
                "this loader; use --json"
            )
        profile = profile_loop(loader, given.seconds, given.step)
    except Exception as error:
        print(error if _is_said(error) else _failed(given.program, error), file=sys.stderr)
        return 2
    print(json.dumps(profile.to_dict()) if given.json else profile)
    if given.report and isinstance(profile, Profile):
        try:
            profile.save(given.report)
        except OSError as error:
            print(f"profile: the report cannot be written: {error}", file=sys.stderr)
            return 2
    return 0


def _is_said(error: Exception) -> bool:
    """Return whether an error is about the command rather than the dataset."""
    return isinstance(error, NotFoundError) or str(error).startswith(("profile:", "Profile.save:"))


def _failed(program: str, error: Exception) -> str:
    return f"profile: the dataset of {program} failed:\n{failure(error)}"
