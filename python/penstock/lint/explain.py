"""``python -m penstock explain``: the page of a rule."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from penstock.lint.rule import all_rules


def main(argv: Sequence[str] | None = None) -> int:
    """Print the page of a rule, or a list of all rules.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``explain``; ``None`` takes those of the process.

    Returns
    -------
    int
        0, or 2 when there is no such rule.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock explain", description="Show what a rule of `lint` is about."
    )
    parser.add_argument("rule", nargs="?", help="its code, such as PS001; else all are listed")
    given = parser.parse_args(argv)
    known = all_rules()
    if given.rule is None:
        for each in known.values():
            print(f"{each.code}  {each.page().splitlines()[2]}")
        return 0
    if given.rule.upper() not in known:
        print(f"explain: there is no rule {given.rule}; `explain` lists them", file=sys.stderr)
        return 2
    print(known[given.rule.upper()].page(), end="")
    return 0
