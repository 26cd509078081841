"""Detection of functions that draw from random generators."""

from __future__ import annotations

import functools
import pickle
import sys
import types
from collections.abc import Iterator
from typing import Any

from penstock.code_names import names_of

_MOST_VALUES = 2000  # maximum values examined for one function
_MOST_ITEMS = 100  # maximum items examined in a container
_DEEPEST = 4
_LIBRARIES = frozenset({"builtins", "numpy", "penstock"})


class Generators:
    """The global generators of Python and NumPy, and those that a function can access.

    Parameters
    ----------
    function : callable
        The function. Its closure variables, the globals that it names, its defaults, the arguments
        of a partial and the object of a method are searched; also those of functions among them.
    """

    def __init__(self, function: Any) -> None:
        self._found = list(_generators(function))

    def states(self) -> dict[tuple[str, int], bytes]:
        """Return the state of each generator, by its name and number."""
        states = {}
        if (pythons := sys.modules.get("random")) is not None:
            states["the generator of the module random", 0] = pickle.dumps(pythons.getstate())
        if (numpys := sys.modules.get("numpy.random")) is not None:
            legacy = numpys.get_state(legacy=False)
            states["the generator of numpy.random", 0] = pickle.dumps(legacy)
        for number, (name, generator) in enumerate(self._found):
            states[name, number] = pickle.dumps(_state(generator))
        return states

    def moved(self, before: dict[tuple[str, int], bytes]) -> str:
        """Return the name of a generator whose state has changed, or "" if there is none."""
        after = self.states()
        return next((each[0] for each in before if after[each] != before[each]), "")


def _state(generator: Any) -> Any:
    if hasattr(generator, "getstate"):  # random.Random
        return generator.getstate()
    if hasattr(generator, "get_state"):  # numpy.random.RandomState
        return generator.get_state(legacy=False)
    return getattr(generator, "bit_generator", generator).state


def _generators(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the generators that a function can access, with the names that lead to them."""
    kinds: tuple[type, ...] = ()
    if (pythons := sys.modules.get("random")) is not None:
        kinds += (pythons.Random,)
    if (numpys := sys.modules.get("numpy.random")) is not None:
        kinds += (numpys.Generator, numpys.RandomState, numpys.BitGenerator)
    waiting = [("the function", function, 0)]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_VALUES:
        name, value, depth = waiting.pop()
        if id(value) in seen or depth > _DEEPEST:
            continue
        seen.add(id(value))
        if issubclass(type(value), kinds):
            yield f"the generator {name!r}", value
            continue
        waiting += [(inner, each, depth + 1) for inner, each in _around(name, value)]


def _around(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, functools.partial):
        yield name, value.func
        code = getattr(value.func, "__code__", None)
        names = code.co_varnames if code else ()
        for i, argument in enumerate(value.args):
            yield (names[i] if i < len(names) else f"{name}[{i}]"), argument
        yield from value.keywords.items()
    elif isinstance(value, types.MethodType):
        yield "self", value.__self__
        yield name, value.__func__
    elif isinstance(value, types.FunctionType):
        if value.__module__ and value.__module__.partition(".")[0] not in _LIBRARIES:
            yield from _of_function(value)
    elif type(value) in (tuple, list, dict, set):
        yield from _items(name, value)
    elif type(value).__module__.partition(".")[0] not in _LIBRARIES:
        if not isinstance(value, (type, types.ModuleType)):
            for attribute, inner in list(getattr(value, "__dict__", {}).items())[:_MOST_ITEMS]:
                yield f"{name}.{attribute}", inner
        for base in type(value).__mro__:
            if "__call__" in vars(base):
                yield name, vars(base)["__call__"]


def _items(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    items = values.items() if isinstance(values, dict) else enumerate(values)
    for (key, value), _ in zip(items, range(_MOST_ITEMS), strict=False):
        yield f"{name}[{key!r}]", value


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in names_of(code):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    arguments = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(arguments[len(arguments) - len(defaults) :], defaults, strict=False)
    yield from (function.__kwdefaults__ or {}).items()
