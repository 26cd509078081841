"""native: functions that run in C++ without the GIL."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from penstock import _core
from penstock.errors import TraceError
from penstock.ops.symbol import Symbol, Trace

_P = ParamSpec("_P")
_R = TypeVar("_R")


class NativeFunction(Generic[_P, _R]):
    """A function that `Dataset.map` and its kind run as a program of native operations.

    Called by itself it is the function it was made of.
    """

    def __init__(self, function: Callable[_P, _R]) -> None:
        if not callable(function):
            raise TypeError(f"native: a function was expected, got {function!r}")
        functools.update_wrapper(self, function)
        self.__wrapped__ = function

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the function itself."""
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> NativeFunction[..., Any]:
        if instance is None:
            return self
        return NativeFunction(functools.partial(self.__wrapped__, instance))

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        for name in getattr(self, "__qualname__", "<none>").split("."):
            found = getattr(found, name, None)
        return self.__qualname__ if found is self else (NativeFunction, (self.__wrapped__,))

    def __repr__(self) -> str:
        return f"native({getattr(self, '__qualname__', self.__wrapped__)})"


def native(function: Callable[_P, _R]) -> NativeFunction[_P, _R]:
    """Turn a function into one that pipelines run in C++, without the GIL.

    The function is called once when it is given to `Dataset.map`, `filter`, `flat_map` or
    `interleave`, with symbols in the place of values. The operations that it calls on them become a
    program.

    Parameters
    ----------
    function : callable
        Made of penstock's operations, of operators and NumPy's ufuncs, and of NumPy-style indexing.
        Whatever else it does, it does once, while it is traced: variables around it, arguments of
        a `functools.partial` and arrays are taken as they are then.

    Returns
    -------
    NativeFunction
        Called by itself it does what `function` does.

    Raises
    ------
    TraceError
        When it is given to a transformation and cannot be traced, at the line where: an ``if`` on
        a value, a loop over one, a call of something else.

    Notes
    -----
    Results are those of the plain function, bit by bit: an operation is the same code in both, and
    the loops of ufuncs are NumPy's own. Differences: floating-point warnings are not given, and
    ``x.shape`` is an array.

    Random operations draw from the key of the element, as in a plain function.

    Tracing needs the nesting of the elements; behind a plain Python function `element_spec` finds
    it out by one call.

    Examples
    --------
    >>> @ps.native
    ... def scaled(x):
    ...     return np.sqrt(x) / 2
    >>> [float(x) for x in ps.Dataset.range(3, 6).map(scaled)]
    [0.8660254037844386, 1.0, 1.118033988749895]
    >>> float(scaled(np.float64(4)))
    1.0
    """
    return NativeFunction(function)


class SymbolicReader:
    """A source of records over the file that a symbol names: what a native reader returns."""

    def __init__(self, reader: _core.NativeFunction, name: Symbol) -> None:
        self.reader = reader
        self.name = name


def trace(
    stage: str, function: NativeFunction[..., Any], nodes: Sequence[_core.Node]
) -> _core.NativeFunction:
    """Return the program of a function on the elements of a dataset, whose spec is known.

    Of several datasets it is a function of one element of each.
    """
    recorded = Trace()
    elements = tuple(node.spec(lambda shape, dtype: recorded.leaf()) for node in nodes)
    element = elements if len(elements) > 1 else elements[0]
    arguments = element if type(element) is tuple else (element,)
    with recorded:
        result = function.__wrapped__(*arguments)
    reader = None
    if isinstance(result, SymbolicReader):
        reader, result = result.reader, result.name
    elif hasattr(result, "_node"):
        raise TraceError(
            f"{stage}: a native function can only return a dataset of files, as "
            "TFRecordDataset(filename); drop @ps.native to run it as Python"
        )
    if isinstance(result, list):
        result = tuple(result)
    leaves = [recorded.symbol(_result(stage, leaf))._source for leaf in _core.flatten(result)]
    number = _numbering(recorded)
    steps = [(op, [number(*s) for s in inputs], seed) for op, inputs, seed in recorded.steps]
    results = [number(*source) for source in leaves]
    return _core.program(element, recorded.constants, steps, result, results, reader)


def _result(stage: str, leaf: Any) -> Any:
    if isinstance(leaf, (Symbol, np.ndarray, np.generic, bool, int, float, complex, str, bytes)):
        return leaf
    if isinstance(leaf, list):
        return np.asarray(leaf)
    raise TraceError(
        f"{stage}: a native function cannot return {type(leaf).__name__}; drop @ps.native to run "
        "it as Python"
    )


def _numbering(recorded: Trace) -> Callable[[Any, int], int]:
    """Return how values are numbered: leaves, then constants, then the outputs of each step."""
    first = recorded.leaves + len(recorded.constants)
    firsts = []
    for op, _, _ in recorded.steps:
        firsts.append(first)
        first += op.outputs

    def number(source: Any, i: int) -> int:
        if source == "element":
            return i
        return recorded.leaves + i if source == "constant" else firsts[source] + i

    return number
