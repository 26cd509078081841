"""Graphs and sessions as programs set them up: names without an effect."""

from __future__ import annotations

import types
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.session import DEFAULT_GRAPH, Graph


def get_default_graph() -> Graph:
    """Return the graph."""
    return DEFAULT_GRAPH


def reset_default_graph() -> None:
    """Do nothing: nothing is kept."""


class ConfigProto(types.SimpleNamespace):
    """Settings of a session, remembered: they have no effect.

    Parameters
    ----------
    **kwargs
        Any settings.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(gpu_options=GPUOptions(), graph_options=GraphOptions())
        self.__dict__.update(kwargs)


class GPUOptions(types.SimpleNamespace):
    """Settings of GPUs, remembered: they have no effect."""


class GraphOptions(types.SimpleNamespace):
    """Settings of graphs, remembered: they have no effect."""


NAMES = [
    *("ConfigProto", "GPUOptions", "Graph", "GraphOptions", "get_default_graph"),
    "reset_default_graph",
]

__dir__ = listing(globals())
