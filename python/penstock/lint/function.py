"""A function as seen by rules: the names that it uses, found without calling it."""

from __future__ import annotations

import builtins
import contextlib
import dis
import functools
import inspect
import itertools
import random
import sys
import types
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from penstock.arity import is_coroutine_function
from penstock.code_names import globals_of, names_of, used_whole
from penstock.labels import innermost

_MOST_FUNCTIONS = 50  # maximum number of functions to inspect for one
_MOST_VALUES = 500  # maximum number of values that they use
_MOST_ITEMS = 20  # maximum number of items of a container
_CODE = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type)
_OPERATORS = ("__call__", "__getitem__")
_LIBRARIES = ("numpy", "penstock", "torch")
_DECODERS = frozenset(
    {"decode_jpeg", "decode_png", "decode_image", "decode_bmp", "decode_gif", "decode_webp"}
    | {"imdecode", "imread", "read_image", "load_img", "decode_and_crop_jpeg", "decode_raw"}
    | {"parse_single_example", "parse_example", "decompress", "frombuffer"}
)
_CROPS = frozenset(
    {"random_crop", "random_resized_crop", "central_crop", "crop_to_bounding_box"}
    | {"resize_with_crop_or_pad"}
)
_DRAWS_OF_TORCH = frozenset(
    {"rand", "rand_like", "randn", "randn_like", "randint", "randperm", "normal", "bernoulli"}
    | {"multinomial"}
)
_OWN_GENERATORS = frozenset({"default_rng", "Generator", "RandomState", "Random", "SystemRandom"})
# Modules of the standard library that hold the GIL.
_HOLDING = frozenset(
    {"bisect", "builtins", "collections", "copy", "csv", "datetime", "decimal", "fractions"}
    | {"functools", "heapq", "html", "itertools", "json", "math", "operator", "random", "re"}
    | {"statistics", "string", "struct", "textwrap", "unicodedata", "urllib.parse"}
)
_LOOPS = frozenset({"FOR_ITER", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "FOR_ITER_LIST"})


class FunctionView:
    """Static properties of a function.

    Parameters
    ----------
    function : callable
        The function of a stage.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._plain = list(_reached(function))

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Names that the function, and the Python functions that it calls, look up."""
        found = {name for each in self._plain for name in names_of(each.__code__)}
        values = (*self._values, _code_of(self._function))
        own = (getattr(value, "__name__", None) for value in values)
        return frozenset(found.union(each for each in own if isinstance(each, str)))

    @functools.cached_property
    def _values(self) -> list[Any]:
        """Values of the global and outer names that are looked up."""
        return [value for each in self._plain for value in _around(each)]

    @property
    def decodes(self) -> bool:
        """Whether it decodes bytes into arrays."""
        return not self.names.isdisjoint(_DECODERS) or (
            "open" in self.names and any(_is_module(value, "PIL.Image") for value in self._values)
        )

    @property
    def decodes_jpeg(self) -> bool:
        """Whether it decodes whole JPEG images."""
        return not self.names.isdisjoint({"decode_jpeg", "decode_image"})

    @property
    def crops(self) -> bool:
        """Whether it crops images."""
        return not self.names.isdisjoint(_CROPS)

    @property
    def parses_single_example(self) -> bool:
        """Whether it parses Examples individually."""
        return "parse_single_example" in self.names

    @property
    def opens_datasets(self) -> bool:
        """Whether it creates datasets from files."""
        return any(name.endswith("Dataset") and name != "Dataset" for name in self.names)

    @property
    def reads_files(self) -> bool:
        """Whether it opens files itself."""
        return "read_file" in self.names or any(
            value is open or _is_function_of(value, ("numpy", {"load", "fromfile"}))
            for value in self._values
        )

    @property
    def draws(self) -> bool:
        """Whether its results are random."""
        return (
            self.draws_globally
            or _takes_rng(self._function)
            or any(name.startswith("random_") for name in self.names)
            or any(_is_module(value, "penstock.random") for value in self._values)
            or ("random" in self.names and any(_is_module(v, "penstock") for v in self._values))
        )

    @property
    def draws_globally(self) -> bool:
        """Whether it draws from a generator that all threads share."""
        if self._holds_generator:
            return True
        if not self.names.isdisjoint(_OWN_GENERATORS):
            return False
        if any(value is random or value is np.random for value in self._values):
            return True
        if "random" in self.names and any(value is np for value in self._values):
            return True
        if any(_is_module(value, "torch") for value in self._values):
            return not self.names.isdisjoint(_DRAWS_OF_TORCH)
        shared = {id(each.__self__) for each in (random.random, np.random.rand)}  # type: ignore[attr-defined]
        return any(id(getattr(value, "__self__", None)) in shared for value in self._values)

    @functools.cached_property
    def _holds_generator(self) -> bool:
        """Whether it uses a generator: in a variable, an attribute or a container."""
        names: set[str] = set()
        # Each value, and whether it may be called itself (otherwise only its methods are).
        waiting = [(self._function, True), (innermost(self._function), True)]
        seen: dict[int, Any] = {}  # keeps values alive while their ids are compared
        objects: list[Any] = []
        while waiting and len(seen) < _MOST_VALUES:
            value, whole = waiting.pop()
            if whole and not isinstance(value, _CODE):
                waiting += [(each, False) for each in _attributes(value, _OPERATORS)]
            if id(value) in seen:
                continue
            seen[id(value)] = value
            if _is_generator(value):
                return True
            parts, code = _parts_of(value)
            waiting += parts
            known = len(names)
            names |= names_of(code) if code is not None else frozenset()
            if not _is_of_library(value):
                objects.append(value)
            # A newly found method may use attributes that have not been looked up yet.
            for each in objects if len(names) > known else objects[-1:]:
                waiting += [(found, True) for found in _attributes(each, names)]
        return False

    @property
    def holds_gil(self) -> bool:
        """Whether all of its expensive code appears to be plain Python loops."""
        if not self._plain or is_coroutine_function(self._function):
            return False
        loops = any(_has_loop(each.__code__) for each in self._plain)
        return loops and all(_is_python(value) for value in self._values)


def _code_of(function: Any) -> Any:
    """Return the Python function that runs when an object is called, or the object itself."""
    function = innermost(function)
    if isinstance(function, types.MethodType):
        function = innermost(function.__func__)
    call = getattr(type(function), "__call__", None)  # noqa: B004 - it is not called
    return call if isinstance(call, types.FunctionType) else function


def _reached(function: Any) -> Iterator[types.FunctionType]:
    """Yield the Python functions that a function is or refers to by name, outside of libraries."""
    waiting = [_code_of(function)]
    seen: set[types.FunctionType] = set()
    while waiting and len(seen) < _MOST_FUNCTIONS:
        each = waiting.pop()
        if not isinstance(each, types.FunctionType) or each in seen:
            continue
        if seen and each.__module__ and each.__module__.partition(".")[0] in ("numpy", "penstock"):
            continue
        seen.add(each)
        yield each
        waiting += [_code_of(value) for value in _around(each)]


def _around(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values of the globals, builtins and closure variables that a function uses."""
    for name in names_of(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]
        elif name in vars(builtins):
            yield vars(builtins)[name]
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _held(function: types.FunctionType) -> Iterator[tuple[Any, bool]]:
    """Yield the globals, closure variables and default arguments that a function uses.

    The second item of each pair is whether more than an attribute of the value is used.
    """
    whole = used_whole(function.__code__)
    for name in globals_of(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name], name in whole
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            yield cell.cell_contents, name in whole
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield default, True


def _is_generator(value: Any) -> bool:
    """Return whether a value is a random generator with mutable state."""
    if isinstance(value, random.SystemRandom):
        return False  # it has no state
    torch = sys.modules.get("torch")
    kinds = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    return isinstance(value, kinds) or (
        torch is not None and isinstance(value, getattr(torch, "Generator", ()))
    )


def _parts_of(value: Any) -> tuple[list[tuple[Any, bool]], types.CodeType | None]:
    """Return the parts of a value, as pairs like those of `_held`, and the code of a function."""
    parts: list[Any] = []
    if isinstance(value, types.FunctionType):
        wrapped = getattr(value, "__wrapped__", None)
        return [*_held(value), (wrapped, True)], value.__code__
    if isinstance(value, (types.MethodType, types.BuiltinMethodType)):
        return [(value.__self__, False), (getattr(value, "__func__", None), True)], None
    if isinstance(value, functools.partial):
        parts = [value.func, *value.args[:_MOST_ITEMS], *value.keywords.values()]
    elif isinstance(value, dict):
        parts = list(itertools.islice(value.values(), _MOST_ITEMS))
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = list(itertools.islice(value, _MOST_ITEMS))
    elif isinstance(value, property):
        parts = [value.fget]
    elif isinstance(value, (staticmethod, classmethod)):
        parts = [value.__func__]
    return [(part, True) for part in parts], None


def _is_of_library(value: Any) -> bool:
    """Return whether a value belongs to a library, whose attributes are not searched."""
    if isinstance(value, types.ModuleType):
        library = value.__name__.partition(".")[0]
        return library in _LIBRARIES or (
            library in sys.stdlib_module_names and library != "__main__"
        )
    kind = value if isinstance(value, type) else type(value)
    return str(kind.__module__).partition(".")[0] in _LIBRARIES


def _attributes(value: Any, names: Collection[str]) -> Iterator[Any]:
    """Yield attributes of an object, its class or a module, without running code."""
    for name in names:
        with contextlib.suppress(Exception):
            yield inspect.getattr_static(value, name)


def _is_module(value: Any, name: str) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__ == name


def _is_function_of(value: Any, of: tuple[str, set[str]]) -> bool:
    module, names = of
    home = getattr(value, "__module__", None)
    return (
        isinstance(home, str)
        and home.partition(".")[0] == module
        and (getattr(value, "__name__", "") in names)
    )


def _takes_rng(function: Any) -> bool:
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _has_loop(code: types.CodeType) -> bool:
    if any(step.opname in _LOOPS for step in dis.get_instructions(code)):
        return True
    return any(_has_loop(const) for const in code.co_consts if isinstance(const, types.CodeType))


def _is_python(value: Any) -> bool:
    """Return whether a function that uses this value holds the GIL while doing so."""
    if isinstance(value, types.FunctionType):
        return True  # it is inspected itself
    if isinstance(value, types.ModuleType):
        return value.__name__ in _HOLDING
    if value is open:
        return False
    if isinstance(value, (types.BuiltinFunctionType, type)):
        return getattr(value, "__module__", None) in (*_HOLDING, "__main__", None)
    home = type(value).__module__
    return isinstance(home, str) and home.partition(".")[0] in _HOLDING
