"""Find mistakes in pipelines before they run.

A rule is a function in `penstock.lint.rules`, whose docstring is the rule's page. It inspects a
stage and those around it (`view`, `function`).
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
    """Return the findings of all rules for a dataset, starting with the source stages.

    Parameters
    ----------
    dataset : Dataset
        The pipeline.
    probes : bool
        Whether to compute the first elements if types and sizes are not known otherwise.
    collector : str
        The call in the program that collects all elements, or "".
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
    """Warn about the mistakes in a dataset, once per rule in this process."""
    for finding in findings_of(dataset, probes=False):
        with _lock:
            new = finding.rule not in _warned
            _warned.add(finding.rule)
        if new:
            warnings.warn(f"penstock: {finding}", UserWarning, stacklevel=3)
