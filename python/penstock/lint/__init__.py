"""Mistakes in pipelines, found before they run.

A rule is a function with a page as its docstring, in `penstock.lint.rules`; it looks at a stage and
those around it (`view`, `function`).
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

from penstock.lint.finding import Finding
from penstock.lint.rule import all_rules
from penstock.lint.view import StageView, stages_of
from penstock.loaders import LoaderView

__all__ = ["Finding", "findings_of", "findings_of_loader", "warn_once"]

_lock = threading.Lock()
_warned: set[str] = set()


def findings_of(dataset: Any, *, probes: bool = True, collector: str = "") -> list[Finding]:
    """Return what all rules say of a dataset, in the order of the stages from the source on.

    Parameters
    ----------
    dataset : Dataset
        The pipeline.
    probes : bool
        Whether the first element may be computed where types and sizes are not known otherwise.
    collector : str
        The call of the program that takes all elements at once, if there is one.
    """
    checks = [each for each in all_rules().values() if not each.of_loaders]
    stages = list(stages_of(StageView(dataset, None, probes, collector)))
    found = [each for stage in reversed(stages) for one in checks for each in one.findings(stage)]
    return list(dict.fromkeys(found))


def findings_of_loader(loader: LoaderView) -> list[Finding]:
    """Return the findings of all rules for the settings of a DataLoader."""
    checks = [each for each in all_rules().values() if each.of_loaders]
    return [finding for each in checks for finding in each.findings(loader)]


def warn_once(dataset: Any) -> None:
    """Warn of what is wrong with a dataset, once for each rule in this process."""
    for finding in findings_of(dataset, probes=False):
        with _lock:
            new = finding.rule not in _warned
            _warned.add(finding.rule)
        if new:
            warnings.warn(f"penstock: {finding}", UserWarning, stacklevel=3)
