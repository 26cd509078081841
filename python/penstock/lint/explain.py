"""``python -m penstock explain``: the page of a rule."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from penstock.lint.rule import Rule, all_rules


def main(argv: Sequence[str] | None = None) -> int:
    """Print the page of a rule, or a list of all rules.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``explain``; None uses the arguments of the process.

    Returns
    -------
    int
        Exit status: 0, or 2 if the rule does not exist.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock explain", description="Show what a rule of `lint` is about."
    )
    parser.add_argument("rule", nargs="?", help="its code, such as PS001; else all are listed")
    parser.add_argument("--json", action="store_true", help="print a JSON list of rules and pages")
    given = parser.parse_args(argv)
    known = all_rules()
    if given.rule is not None and given.rule.upper() not in known:
        print(f"explain: there is no rule {given.rule}; `explain` lists them", file=sys.stderr)
        return 2
    rules = list(known.values()) if given.rule is None else [known[given.rule.upper()]]
    if given.json:
        print(json.dumps([_described(rule) for rule in rules], indent=2))
    elif given.rule is None:
        for rule in rules:
            print(f"{rule.code}  {_first(rule)}")
    else:
        print(rules[0].page(), end="")
    return 0


def _first(rule: Rule) -> str:
    return rule.page().splitlines()[2]


def _described(rule: Rule) -> dict[str, str]:
    return {"rule": rule.code, "summary": _first(rule), "page": rule.page()}
