"""A stage of a plan with its inputs, which can be inspected and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import _core, debugging
from penstock.iterator import Iterator
from penstock.ops.tracing import Traced
from penstock.options import Options

# The kind of a dataset that is an element of another one; the engine holds its elements.
ELEMENTS = "elements"


class Stage:
    """A node of the engine's plan, and the arguments that created it."""

    __slots__ = (
        *("_args", "_identities", "_inputs", "_kind", "_name", "_node", "_options", "_traced"),
        "_written",
    )

    _node: _core.Node
    _kind: str
    _inputs: tuple[Stage, ...]
    _args: dict[str, Any]
    # The Identity of each function among the arguments, as of build time.
    _identities: Mapping[str, Any]
    _name: str | None  # given by the user
    _options: Options
    # The call that created this stage and those before it, if the stages do not show it.
    _written: tuple[str, Mapping[str, Any]] | None
    _traced: tuple[Traced, ...]  # native functions of this stage and those before it

    def __iter__(self) -> Iterator:
        if not debugging.enabled():
            for traced in self._traced:
                traced.check()
        return Iterator(self, self._options._for_engine())

    def _uncounted(self) -> Iterator:
        """Return an iterator that takes no seed, and is no pass over the dataset for a shuffle."""
        return Iterator(self, self._options._for_engine(counted=False))

    def __aiter__(self) -> Iterator:
        return iter(self)
