"""Graphs and sessions as programs set them up: names without an effect."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

from penstock.compat.listing import listing


class Graph:
    """What programs make before they describe datasets; there is one for all."""

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Be a context."""
        yield self

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Be a context."""
        yield

    def finalize(self) -> None:
        """Do nothing."""


_default = Graph()


def get_default_graph() -> Graph:
    """Return the graph."""
    return _default


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
