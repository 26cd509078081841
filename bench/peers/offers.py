"""What each loader offers, read from its file without importing it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from bench.peers.environments import PEERS

LOADERS = Path(__file__).parent / "loaders"


@cache
def configurations(peer: str) -> dict[str, str]:
    """Return what a loader's functions say that they do, by workload."""
    tree = ast.parse((LOADERS / f"{peer}.py").read_text())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (said := ast.get_docstring(node)):
            found[node.name] = said.split("\n\n")[0].replace("\n", " ").removesuffix(".")
    return found


def offering(workload: str) -> list[str]:
    """Return the peers that offer a workload, in the order of the table."""
    return [peer for peer in PEERS if workload in configurations(peer)]
