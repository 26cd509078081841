"""Tracing: converts a function to a program, and detects functions that change."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.arity import arity_note
from penstock.errors import TraceError
from penstock.ops import known_shapes_of_formats  # noqa: F401 - it registers rules
from penstock.ops.generators import Generators
from penstock.ops.known_shapes import Sizes, of_trace
from penstock.ops.python_values import ShapeSymbol
from penstock.ops.symbol import Symbol, Trace

# If a generator has moved, another thread may have drawn from it.
_ATTEMPTS = 3
_NOT_OF_USERS = {"penstock", "numpy", *sys.stdlib_module_names} - {"__main__"}
_INSTEAD = (
    "what changes from call to call would be the same for all elements; draw random numbers with "
    "ps.random, or drop @ps.native and take a generator as the argument `rng`; give other values "
    "with the elements"
)


class SymbolicReader:
    """A source of records in the file that a symbol names, as a native reader returns it."""

    def __init__(
        self, reader: _core.NativeFunction, name: Symbol, key: tuple[str, dict[str, Any]]
    ) -> None:
        self.reader = reader
        self.name = name
        self.key = key  # all its arguments


class Recording:
    """The operations of one call of a function with symbols.

    Parameters
    ----------
    stage : str
        The stage, for errors.
    function : callable
        The plain function.
    nodes : sequence of Node
        The datasets whose elements are the arguments; their specs must be known.
    """

    def __init__(
        self, stage: str, function: Callable[..., Any], nodes: Sequence[_core.Node]
    ) -> None:
        self.trace = Trace()
        self._stage = stage
        # Computed twice, because the function may modify its containers.
        self.nesting = _nested(nodes, lambda shape: 0)
        element = _nested(nodes, self.trace.leaf)
        result = self._call(function, element if type(element) is tuple else (element,))
        self.reader: SymbolicReader | None = None
        if isinstance(result, SymbolicReader):
            self.reader, result = result, result.name
        elif hasattr(result, "_node"):
            raise TraceError(
                f"{stage}: a native function can only return a dataset of files, as "
                "TFRecordDataset(filename); drop @ps.native to run it as Python"
            )
        self.result = tuple(result) if isinstance(result, list) else result
        leaves = _core.flatten(self.result)
        self.leaves = [self.trace.symbol(_result(stage, leaf))._source for leaf in leaves]

    def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        try:
            with self.trace:
                result = function(*arguments)
            if (refused := self.trace.refused) is not None:
                refused.add_note("penstock: the function has caught this error itself")
                raise refused
            return result
        except TraceError as error:
            _add_line(error)
            raise
        except Exception as error:
            if (refused := self.trace.refused) is not None:  # other code has replaced the error
                refused = refused.with_traceback(error.__traceback__)
                _add_line(refused)
                raise refused from None
            if not isinstance(error, TypeError):
                raise
            if note := arity_note(function, self._stage, len(arguments), rng=False):
                error.add_note(note)
            if Symbol.__name__ not in str(error):
                raise
            # A C function of Python that accepts no symbols.
            traced = TraceError(
                f"native: {error}, which stands for a value that is known only when the function "
                "runs; drop @ps.native to run it as Python"
            ).with_traceback(error.__traceback__)
            _add_line(traced)
            raise traced from None
        finally:
            self.trace.refused = None

    def program(self, exact: bool = False) -> _core.NativeFunction:
        """Return the recorded operations as a program.

        Parameters
        ----------
        exact : bool
            Whether to decode images in full even if a lower resolution was requested.
        """
        trace = self.trace
        number = self._numbering()
        steps = [(op, [number(*s) for s in inputs], seed) for op, inputs, seed in trace.steps]
        results = [number(*source) for source in self.leaves]
        reader = self.reader.reader if self.reader else None
        return _core.program(
            self.nesting, trace.constants, steps, self.result, results, reader, exact
        )

    def known_shapes(self, leaves: Sequence[Sizes | None]) -> list[Sizes | None]:
        """Return the known shapes of the result, for each leaf.

        Parameters
        ----------
        leaves : sequence of tuple, or None
            The known shapes of the leaves of the elements.
        """
        values = of_trace(self.trace, leaves)
        return [values[source].shape for source in self.leaves]

    def _numbering(self) -> Callable[[Any, int], int]:
        """Return a function that numbers values: leaves, then constants, then outputs of steps."""
        trace = self.trace
        first = len(trace.leaves) + len(trace.constants)
        firsts = []
        for op, _, _ in trace.steps:
            firsts.append(first)
            first += op.outputs

        def number(source: Any, i: int) -> int:
            if source == "element":
                return i
            return len(trace.leaves) + i if source == "constant" else firsts[source] + i

        return number

    def difference(self, other: Recording) -> str | None:
        """Describe where another call behaved differently, or return None if it did not."""
        mine, its = self.trace, other.trace
        pairs = zip(mine.steps, its.steps, mine.places, its.places, strict=False)
        for one, two, place, its_place in pairs:
            if not _same(one[0].key, two[0].key):
                return f"{two[0].key[0]} was called{_of(one, two)} at {its_place}"
            for source, its_source in zip(one[1], two[1], strict=False):
                if source[0] == its_source[0] == "constant":
                    value, its_value = mine.constants[source[1]], its.constants[its_source[1]]
                    if not _same(value, its_value):
                        what = f"the constant of {two[0].key[0]} at {place}"
                        return f"{what} was {_short(value)} and then {_short(its_value)}"
            if one[1:] != two[1:]:
                return f"{two[0].key[0]} was called with other values at {its_place}"
        if len(mine.steps) != len(its.steps):
            longer = max(mine, its, key=lambda trace: len(trace.steps))
            number = min(len(mine.steps), len(its.steps))
            op = longer.steps[number][0].key[0]
            return f"{op} was called only one time of two, at {longer.places[number]}"
        return self._result_difference(other)

    def _result_difference(self, other: Recording) -> str | None:
        if not _core.same_nesting(self.result, other.result):
            return "its result was nested in another way"
        for one, two in zip(self.leaves, other.leaves, strict=True):
            if one[0] == two[0] == "constant":
                value, its_value = self.trace.constants[one[1]], other.trace.constants[two[1]]
                if not _same(value, its_value):
                    return f"a constant in its result was {_short(value)} and then " + _short(
                        its_value
                    )
            elif one != two:
                return "its result was another value"
        keys = [recording.reader and recording.reader.key for recording in (self, other)]
        return None if _same(*keys) else "it opened files in another way"


class Traced:
    """A function and its program, which is verified before each run.

    Parameters
    ----------
    stage, function, nodes
        As in `Recording`.

    Raises
    ------
    TraceError
        If the function cannot be traced, or behaves differently each time.
    """

    def __init__(
        self, stage: str, function: Callable[..., Any], nodes: Sequence[_core.Node]
    ) -> None:
        inner = function
        while isinstance(inner, functools.partial):
            inner = inner.func
        self._name = getattr(inner, "__qualname__", type(inner).__name__)
        self._record = functools.partial(Recording, stage, function, nodes)
        generators = Generators(function)
        for attempt in range(_ATTEMPTS):
            before = generators.states()
            self._first = self._record()
            between = generators.states()  # the function may have imported a module
            second = self._record()
            moved = generators.moved(before) or generators.moved(between)
            different = self._first.difference(second)
            if different is not None:
                drew = f"drew from {moved}, and " if moved else ""
                raise TraceError(
                    f"native: {self._name} {drew}did something else when it was traced again: "
                    f"{different}; {_INSTEAD}"
                )
            if not moved:
                break
            if attempt + 1 == _ATTEMPTS:
                raise TraceError(
                    f"native: {self._name} drew from {moved} while it was traced; {_INSTEAD}"
                )
        self.program = self._first.program()

    @property
    def exact(self) -> _core.NativeFunction | None:
        """A program with exactly the plain function's results, if `program` is not one."""
        reduced = any(op.reduces for op, _, _ in self._first.trace.steps)
        return self._first.program(exact=True) if reduced else None

    @property
    def first(self) -> Recording:
        """The recording of the first call."""
        return self._first

    def check(self) -> None:
        """Raise TraceError if the function would now result in another program."""
        different = self._first.difference(self._record())
        if different is not None:
            raise TraceError(
                f"native: what {self._name} does has changed since it was given to a dataset: "
                f"{different}; make the dataset again, or drop @ps.native"
            )


def _add_line(error: TraceError) -> None:
    """Add the line of the user's code to an error."""
    line = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _NOT_OF_USERS:
            line = f" (at {frame.f_code.co_filename}:{number})"
    (message,) = error.args
    if line is not None and " (at " not in message:
        error.args = (message + line,)


def _nested(nodes: Sequence[_core.Node], leaf: Callable[[Sizes | None], Any]) -> Any:
    """Return a new element of these datasets, with their structure."""
    elements = tuple(node.spec(lambda shape, dtype: leaf(shape)) for node in nodes)
    return elements if len(elements) > 1 else elements[0]


def _result(stage: str, leaf: Any) -> Any:
    if isinstance(leaf, ShapeSymbol):
        raise TraceError(
            f"{stage}: a native function cannot return x.shape, a tuple of which the length is not "
            "known; return the array ps.shape(x), or drop @ps.native to run it as Python"
        )
    kinds = (Symbol, np.ndarray, np.generic, bool, int, float, complex, str, bytes)
    if isinstance(leaf, kinds):
        return leaf
    if isinstance(leaf, list):
        return np.asarray(leaf)
    raise TraceError(
        f"{stage}: a native function cannot return {type(leaf).__name__}; drop @ps.native to run "
        "it as Python"
    )


def _of(one: Any, two: Any) -> str:
    """Describe how the second of two calls differs from the first."""
    first, second = one[0].key, two[0].key
    if first[0] != second[0]:
        return f" where {first[0]} had been called before,"
    return f" with {_short(second[1:])} and before with {_short(first[1:])}"


def _same(one: Any, two: Any) -> bool:
    """Return whether two constants are equal in every bit."""
    if type(one) is not type(two):
        return False
    if isinstance(one, (np.ndarray, np.generic)):
        if one.dtype != two.dtype or one.shape != two.shape:
            return False
        if one.dtype.hasobject:
            return all(map(_same, np.asarray(one).flat, np.asarray(two).flat))
        if one.dtype in (np.longdouble, np.clongdouble):  # these have padding bits
            return bool(_same_floats(one.real, two.real) and _same_floats(one.imag, two.imag))
        bits, its = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (one, two))
        return bool(np.array_equal(bits, its))
    if isinstance(one, (tuple, list)):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, dict):
        return list(one) == list(two) and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, _core.Value):
        return _same(one.value(), two.value())
    if isinstance(one, (float, complex)):
        return repr(one) == repr(two)
    return one is two or bool(one == two)


def _same_floats(one: Any, two: Any) -> bool:
    signs = np.array_equal(np.signbit(one), np.signbit(two))
    return signs and np.array_equal(one, two, equal_nan=True)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
