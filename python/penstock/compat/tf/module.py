"""tf.Module: base class of classes with variables, or with functions of tensors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf.variable import Variable


class Module:
    """A base class that finds its variables and submodules.

    Parameters
    ----------
    name : str, optional
        Name of the module; the class name by default.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name or _snake_case(type(self).__name__)

    @property
    def name(self) -> str:
        """Name of the module."""
        return self._name

    @property
    def name_scope(self) -> contextlib.AbstractContextManager[None]:
        """A context manager without effect."""
        return contextlib.nullcontext()

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method itself."""
        return method

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the module and its submodules."""
        return tuple(each for each in _within(self, set()) if isinstance(each, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable variables."""
        return tuple(each for each in self.variables if each.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The other variables."""
        return tuple(each for each in self.variables if not each.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The submodules."""
        return tuple(each for each in _within(self, set()) if isinstance(each, Module))


def _within(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield the variables and modules in an object, without duplicates."""
    children = []
    if isinstance(value, Module):
        children = [each for _, each in sorted(vars(value).items())]
    elif isinstance(value, dict):
        children = [each for _, each in sorted(value.items())]
    elif isinstance(value, (list, tuple)):
        children = list(value)
    for each in children:
        if id(each) not in seen:
            seen.add(id(each))
            if isinstance(each, (Variable, Module)):
                yield each
            yield from _within(each, seen)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


__dir__ = listing(globals())
