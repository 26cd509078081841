"""The doctor: what is installed, what is missing, and the commands that install it."""

import argparse
import importlib.metadata
import json
import math
import platform
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from penstock import Dataset, _core

_REINSTALL = "pip install --force-reinstall penstock"
# Codecs, and the packages with their headers.
_CODECS = {
    "jpeg": "libjpeg62-turbo-dev",
    "png": "libpng-dev",
    "zlib": "zlib1g-dev",
    "zstd": "libzstd-dev",
    "re2": "libre2-dev",
}
_OPTIONAL = {
    "pillow": ("image", "pictures for the demo, and decoding where no native codec is built in"),
    "matplotlib": ("viz", "timeline pictures, and the photograph of the demo"),
}


class Finding(NamedTuple):
    """One line of the report."""

    section: str
    name: str
    value: str
    fix: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``doctor``. ``None`` uses those of the process.

    Returns
    -------
    int
        0 if penstock is usable, with or without its optional libraries, otherwise 1.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock doctor",
        description="Show versions, codecs, processors and memory, and how to get what is missing.",
    )
    parser.add_argument("--json", action="store_true", help="print the lines as a JSON list")
    given = parser.parse_args(argv)
    failure = _engine_failure()
    found = findings(failure)
    print(json.dumps([line._asdict() for line in found], indent=2) if given.json else render(found))
    return 1 if failure else 0


def findings(failure: str = "") -> list[Finding]:
    """Examine the installation.

    Parameters
    ----------
    failure : str
        Why the engine does not run. Empty if it does.

    Returns
    -------
    list of Finding
        In the order of the report. A finding with a ``fix`` is something that is missing.
    """
    return [
        *_versions(),
        Finding("engine", "engine", failure or "runs", _REINSTALL if failure else ""),
        *_codecs(),
        *_processors(),
        Finding("memory", "available", _memory()),
        *_optional_packages(),
    ]


def render(lines: Sequence[Finding]) -> str:
    """Format findings as aligned text, with blank lines between sections and fixes below lines."""
    width = max(len(line.name) for line in lines)
    text: list[str] = []
    for i, line in enumerate(lines):
        if i and line.section != lines[i - 1].section:
            text.append("")
        text.append(f"{line.name:{width}}  {line.value}")
        if line.fix:
            text.append(f"{'':{width}}  fix: {line.fix}")
    return "\n".join(text)


def _engine_failure() -> str:
    try:
        elements = [int(element) for element in Dataset.range(3)]
    except Exception as error:  # the report names any exception
        return f"fails: {type(error).__name__}: {error}"
    return "" if elements == [0, 1, 2] else f"fails: range(3) gives {elements}"


def _versions() -> Iterator[Finding]:
    build = _core.build_info()
    system = f"{platform.python_implementation()}, {platform.system()} {platform.machine()}"
    yield Finding("versions", "penstock", str(build["version"]))
    yield Finding("versions", "python", f"{platform.python_version()} ({system})")
    yield Finding("versions", "numpy", np.__version__)
    standard = int(build["cxx_standard"]) // 100 % 100  # __cplusplus is 202002 for C++20
    yield Finding("versions", "compiler", f"{build['compiler']}, C++{standard}")


def _codecs() -> Iterator[Finding]:
    build = _core.build_info()
    found = {
        "jpeg": build["jpeg"],
        "png": build["png"],
        "zlib": build["zlib"],
        "zstd": build["zstd"],
        "re2": build["re2"],
    }
    for name, package in _CODECS.items():
        if found[name]["native"]:
            yield Finding("codecs", name, f"native ({found[name]['version']})")
        else:
            fix = f"apt-get install {package} && {_REINSTALL} --no-binary penstock"
            yield Finding("codecs", name, "missing", fix)


def _processors() -> Iterator[Finding]:
    cpu = _core.cpu_info()
    quota = float(cpu["quota"])
    limited = math.isfinite(quota) and quota > 0
    yield Finding("cpu", "cpu affinity", f"{cpu['affinity']} processors may be used")
    yield Finding("cpu", "cpu quota", f"{quota:g} processors" if limited else "none")
    yield Finding("cpu", "cpu effective", f"{cpu['effective']} threads by default")
    used = _core.build_info()["instructions"]
    yield Finding("cpu", "instructions", f"{used}, of {', '.join(_core.instruction_sets())}")


def _memory() -> str:
    memory = _core.memory_info()
    available, group = memory["available"], memory["cgroup"]
    if not available:
        return f"unknown on {sys.platform}"
    limited = " (limited by the cgroup)" if 0 < group <= available else ""
    return f"{available / 2**30:.1f} GiB{limited}"


def _optional_packages() -> Iterator[Finding]:
    for package, (extra, purpose) in _OPTIONAL.items():
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            fix = f"pip install 'penstock[{extra}]'"
            yield Finding("optional", package, f"missing: {purpose}", fix)
        else:
            yield Finding("optional", package, f"{version}: {purpose}")
