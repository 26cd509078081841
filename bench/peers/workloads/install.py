"""The installed size of a loader and its dependencies, in bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

from bench.peers.workload import Task, Workload


class Install(Workload):
    title = "Size of an installation"
    summary = (
        "The unpacked wheels of the loader and of all that it requires beyond NumPy; loaders "
        "without a codec need one besides."
    )
    unit = "MB"
    limit = ""
    bound = "One extension with its codecs, and a few Python files."
    rate = False
    weighed = False
    once = True
    cases = {"installed": {"n": 1}}

    def check(self, elements: Iterator[Any], task: Task) -> None:
        """Do nothing: only installed distributions can be measured."""


def measured(*names: str) -> float:
    """Return the megabytes of distributions and their dependencies, except NumPy."""
    waiting, known = list(names), {"numpy"}
    size = 0
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in known:
            continue
        known.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            if name in names:
                raise NotImplementedError(f"{name} is not installed as a distribution") from None
            continue  # not needed on this platform
        size += sum(file.size or 0 for file in found.files or ())
        waiting += required(found)
    return size * 1e-6


def required(found: Distribution) -> list[str]:
    """Return the names of a distribution's dependencies, without extras."""
    lines = [line for line in found.requires or () if not re.search(r"\bextra\s*==", line)]
    return [re.split(r"[^\w.-]", line.strip(), maxsplit=1)[0] for line in lines]


WORKLOAD = Install()
