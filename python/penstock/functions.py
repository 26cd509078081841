"""Wrappers for Python functions, as in TensorFlow programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.arguments.checked import checked
from penstock.structure import as_dtype


@checked
def py_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """Call ``func(*inp)`` and convert its results to the dtypes `Tout`.

    In penstock, every function passed to `Dataset.map` is already plain Python. This function
    exists so that ported code runs unchanged.

    Parameters
    ----------
    func : callable
        The function.
    inp : sequence
        Its arguments; may be empty.
    Tout : dtype-like or sequence of them
        A single dtype for a single result; a sequence for a list of as many results. If it is
        empty, the result of `func` is ignored.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    array or list of arrays
        One result or a list of results, according to `Tout`.

    Raises
    ------
    ValueError
        If the number of results of `func` differs from the length of `Tout`.

    Examples
    --------
    >>> ps.py_function(lambda a, b: a + b, [1, 2], np.float32)
    np.float32(3.0)
    >>> ps.py_function(print, ["hello"], [])
    hello
    []
    """
    result = func(*inp)
    if not isinstance(Tout, (list, tuple)):
        return _as(result, Tout)
    if not Tout:
        return []
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(results) != len(Tout):
        raise ValueError(
            f"py_function: {len(Tout)} results were expected (Tout), got {len(results)}"
        )
    return [_as(value, dtype) for value, dtype in zip(results, Tout, strict=True)]


@checked
def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call ``func(*inp)`` with arrays, and convert its results to the dtypes `Tout`.

    Parameters
    ----------
    func : callable
        The function.
    inp : sequence
        Its arguments. All except strings become arrays.
    Tout : dtype-like or sequence of them
        As in `py_function`.
    stateful : bool
        Accepted for TensorFlow programs; the function is called for every element in any case.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    array or list of arrays
        One result or a list of results, according to `Tout`.

    Raises
    ------
    ValueError
        If the number of results of `func` differs from the length of `Tout`.

    Examples
    --------
    >>> ps.numpy_function(np.sum, [[1, 2, 3]], np.int64)
    np.int64(6)
    """
    values = [v if isinstance(v, (str, bytes)) else np.asarray(v) for v in inp]
    return py_function(func, values, Tout)


def _as(value: Any, dtype: Any) -> Any:
    wanted = as_dtype(dtype)
    if isinstance(wanted, np.dtype):
        return np.asarray(value).astype(wanted)[()]
    return value
