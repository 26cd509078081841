"""The registry of rules."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock.lint.finding import Finding
from penstock.lint.view import StageView
from penstock.loaders import LoaderView

# The results of a rule: pairs of a message and a suggested fix.
Said = Iterator[tuple[str, str]]
_LoaderCheck = Callable[[LoaderView], Said]
_MODULES = ("ahead", "caching", "functions", "loaders", "memory", "order", "shards")


class Rule(NamedTuple):
    """A rule.

    Attributes
    ----------
    code : str
        Code, such as ``"PS001"``.
    name : str
        Name, such as ``"repeat-before-shuffle"``.
    check : callable
        Takes a `StageView` or `LoaderView`; yields pairs of a message and a fix.
    of_loaders : bool
        Whether `check` takes a `LoaderView`.
    """

    code: str
    name: str
    check: Callable[[Any], Said]
    of_loaders: bool = False

    def findings(self, stage: StageView | LoaderView) -> Iterator[Finding]:
        """Yield the findings for a stage, or for a loader."""
        for message, fix in self.check(stage):
            yield Finding(self.code, str(stage), message, fix)

    def page(self) -> str:
        """Return the page that explains the rule."""
        return f"{self.code} {self.name}\n\n{inspect.getdoc(self.check)}\n"


_rules: dict[str, Rule] = {}


def rule(code: str) -> Callable[[Callable[[StageView], Said]], Callable[[StageView], Said]]:
    """Register a function as a rule; its docstring is the rule's page."""

    def add(check: Callable[[StageView], Said]) -> Callable[[StageView], Said]:
        assert code not in _rules, code
        _rules[code] = Rule(code, check.__name__.replace("_", "-"), check)
        return check

    return add


def loader_rule(code: str) -> Callable[[_LoaderCheck], _LoaderCheck]:
    """Register a function as a rule for loaders; its docstring is the rule's page."""

    def add(check: _LoaderCheck) -> _LoaderCheck:
        assert code not in _rules, code
        _rules[code] = Rule(code, check.__name__.replace("_", "-"), check, of_loaders=True)
        return check

    return add


def all_rules() -> dict[str, Rule]:
    """Return all rules by code, in order."""
    for module in _MODULES:
        importlib.import_module(f"penstock.lint.rules.{module}")
    return dict(sorted(_rules.items()))
