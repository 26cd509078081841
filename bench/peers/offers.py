"""The workloads that each loader offers, read from its source without importing it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from bench.peers.environments import PEERS

LOADERS = Path(__file__).parent / "loaders"


@cache
def configurations(peer: str) -> dict[str, str]:
    """Return the configurations that a loader's functions document, by workload."""
    return {name: said for name, (_, said) in _functions(peer).items()}


def module(peer: str, workload: str) -> str:
    """Return the module of a loader's function, below `bench.peers.loaders`."""
    return _functions(peer)[workload][0]


def offering(workload: str) -> list[str]:
    """Return the peers that offer a workload, in the order of the table."""
    return [peer for peer in PEERS if workload in configurations(peer)]


@cache
def _functions(peer: str) -> dict[str, tuple[str, str]]:
    """Return the module and configuration of each function of a loader."""
    folder = LOADERS / peer
    files = sorted(folder.glob("[!_]*.py")) if folder.is_dir() else [LOADERS / f"{peer}.py"]
    found = {}
    for file in files:
        name = ".".join(file.relative_to(LOADERS).with_suffix("").parts)
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and (said := ast.get_docstring(node)):
                said = said.split("\n\n")[0].replace("\n", " ").removesuffix(".")
                found[node.name] = name, said
    return found
