"""Graphs and sessions as set up by programs: names without effect."""

from __future__ import annotations

import types
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.session import DEFAULT_GRAPH, Graph


def get_default_graph() -> Graph:
    """Return the graph."""
    return DEFAULT_GRAPH


def reset_default_graph() -> None:
    """Do nothing: the graph contains no state."""


class ConfigProto(types.SimpleNamespace):
    """Settings of a session, stored without effect.

    Parameters
    ----------
    **kwargs
        Any settings.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(gpu_options=GPUOptions(), graph_options=GraphOptions())
        self.__dict__.update(kwargs)


class GPUOptions(types.SimpleNamespace):
    """Settings of GPUs, stored without effect."""


class GraphOptions(types.SimpleNamespace):
    """Settings of graphs, stored without effect."""


class variable_scope:
    """A context manager without effect: operations have no names, and graphs no variables.

    Parameters
    ----------
    name_or_scope : str or variable_scope
        The name.
    default_name : str, optional
        The name if `name_or_scope` is None.
    values, initializer, regularizer, caching_device, partitioner, custom_getter : object
        Have no effect.
    reuse : bool, optional
        Stored.
    dtype, use_resource, constraint, auxiliary_name_scope : object
        Have no effect.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: Any = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        self.name = _name_of(name_or_scope, default_name)
        self.original_name_scope = f"{self.name}/"
        self.reuse = reuse

    def reuse_variables(self) -> None:
        """Record that variables are reused."""
        self.reuse = True

    def __enter__(self) -> variable_scope:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class name_scope:
    """A context manager without effect: operations have no names.

    Parameters
    ----------
    name, default_name : str, optional
        The name, and its default.
    values : sequence, optional
        Has no effect.
    """

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Any = None
    ) -> None:
        self._name = _name_of(name, default_name)

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    def __enter__(self) -> str:
        return f"{self._name}/" if self._name and not self._name.endswith("/") else self._name

    def __exit__(self, *exception: object) -> None:
        pass


def _name_of(given: Any, default: str | None) -> str:
    name = default if given is None else getattr(given, "name", given)
    return "" if name is None else str(name)


NAMES = [
    *("ConfigProto", "GPUOptions", "Graph", "GraphOptions", "get_default_graph"),
    *("name_scope", "reset_default_graph", "variable_scope"),
]

__dir__ = listing(globals())
