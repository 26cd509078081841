"""native: functions that run in C++ without the GIL."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from penstock.arguments.checked import checked
from penstock.arguments.checks import whole

_P = ParamSpec("_P")
_R = TypeVar("_R")
_NONE = object()
_check_count = whole(0)


class NativeFunction(Generic[_P, _R]):
    """A function that `Dataset.map` and similar methods run as a program of native operations.

    Called directly, it behaves like the original function.
    """

    def __init__(self, function: Callable[_P, _R], check: int = 0) -> None:
        if not callable(function):
            raise TypeError(f"native: a function was expected, got {function!r}")
        _check_count("native: check", check)
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._check = check

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the original function."""
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> NativeFunction[..., Any]:
        if instance is None:
            return self
        return NativeFunction(functools.partial(self.__wrapped__, instance), self._check)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        for name in getattr(self, "__qualname__", "<none>").split("."):
            found = getattr(found, name, None)
        if found is self:
            return self.__qualname__
        return NativeFunction, (self.__wrapped__, self._check)

    def __repr__(self) -> str:
        return f"native({getattr(self, '__qualname__', self.__wrapped__)})"


@overload
def native(function: Callable[_P, _R], *, check: int = 0) -> NativeFunction[_P, _R]: ...


@overload
def native(*, check: int = 0) -> Callable[[Callable[_P, _R]], NativeFunction[_P, _R]]: ...


@checked
def native(function: Any = _NONE, *, check: int = 0) -> Any:
    """Turn a function into one that pipelines run in C++, without the GIL.

    When it is passed to `Dataset.map`, `filter`, `flat_map` or `interleave`, the function is called
    with symbols instead of values. The operations that it applies to them become a program.

    Parameters
    ----------
    function : callable
        A function that uses penstock's operations, operators, NumPy's ufuncs, and NumPy-style
        indexing. Everything else happens during tracing: closure variables, arguments of a
        `functools.partial` and arrays keep the values they have then. If omitted, the result is a
        decorator, as in ``@ps.native(check=3)``.
    check : int
        Number of elements, at the beginning of each iteration, that are also computed by the plain
        function with the same random numbers. A difference in a single bit raises a TraceError that
        describes it. Datasets that `function` returns are not compared.

    Returns
    -------
    NativeFunction
        Called directly, it behaves like `function`.

    Raises
    ------
    TraceError
        When it is passed to a transformation and cannot be traced: because of an ``if`` on a value,
        text made of a value, or a call of an unsupported function. The message has the line. Also
        if it behaves differently when it is traced a second time, for example because it draws from
        a random generator. When a run begins, if its behaviour has changed since. While iterating,
        if `check` finds a difference.
    ValueError
        If `check` is negative.

    Notes
    -----
    Results equal those of the plain function bit by bit: an operation is the same code in both, and
    the loops of ufuncs are NumPy's own. The only exception is opt-in:
    ``decode_jpeg(ratio="auto")``, for which `check` compares the full decoding. Floating-point
    warnings are not issued. For other differences, see :doc:`/guides/native`.

    Random operations draw from the key of the element, as in a plain function.

    Tracing needs the structure of the elements. After a plain Python function, one call finds it,
    as for `element_spec`. If there is no element to call it with, the function runs as Python for
    later elements.

    Tracing cannot detect ``x is ...`` and ``type(x)``, nor values that change between runs of the
    program but not during a run, such as a date or a file: see :doc:`/guides/native`.

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
    if function is _NONE:
        return functools.partial(NativeFunction, check=check)
    return NativeFunction(function, check)
