"""What programs wrap functions in, and what they choose between functions with."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.compat.dtypes import for_penstock
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.compat.values import numpy_values, tensors
from penstock.functions import py_function as _py_function


def py_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """Call ``func(*inp)`` with tensors, and give its results the types `Tout`.

    Parameters
    ----------
    func : callable
        The function.
    inp : sequence
        Its arguments.
    Tout : dtype-like or sequence of them
        One type: one result. A sequence: as many results, as a list.
    name : str, optional
        A label without further meaning.

    Returns
    -------
    Tensor or list of Tensor
        As `Tout` says.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.py_function(lambda x: x.numpy() + 1, [1], tf.float32)
    <tf.Tensor: shape=(), dtype=float32, numpy=2.0>
    """
    return _typed(func, [tensor(value) for value in inp], Tout)


def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call ``func(*inp)`` with NumPy values, and give its results the types `Tout`.

    Parameters
    ----------
    func : callable
        The function.
    inp : sequence
        Its arguments; strings are given as bytes.
    Tout : dtype-like or sequence of them
        As in `py_function`.
    stateful : bool
        Accepted; the function is called every time.
    name : str, optional
        A label without further meaning.

    Returns
    -------
    Tensor or list of Tensor
        As `Tout` says.
    """
    return _typed(func, [numpy_values(tensor(value)) for value in inp], Tout)


def _typed(func: Callable[..., Any], inp: list[Any], Tout: Any) -> Any:
    types = [for_penstock(t) for t in Tout] if isinstance(Tout, (list, tuple)) else Tout
    if not isinstance(types, list):
        return tensors(_py_function(_as_numpy(func), inp, for_penstock(Tout)))
    return list(map(tensors, _py_function(_as_numpy(func), inp, types)))


def _as_numpy(func: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        made = func(*args)
        if isinstance(made, (list, tuple)):
            return [numpy_values(value) for value in made]
        return numpy_values(made)

    return call


def function(func: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return the function itself: nothing is traced.

    Parameters
    ----------
    func : callable, optional
        The function; without it a decorator is returned.
    *args, **kwargs
        Ignored; TensorFlow's decorator has them.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    ... def double(x):
    ...     return x * 2
    >>> int(double(tf.constant(2)))
    4
    """
    return (lambda decorated: decorated) if func is None else func


def cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    """Call one of two functions."""
    return true_fn() if pred else false_fn()


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Call the function beside the first condition that holds, or `default`.

    Raises
    ------
    ValueError
        If none holds, and there is no default.
    """
    pairs = pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs
    for pred, chosen in pairs:
        if pred:
            return chosen()
    if default is None:
        raise ValueError("case: one of the conditions was expected to hold; give a default")
    return default()


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, **ignored: Any
) -> Any:
    """Call `body` with what it returned, as long as `cond` of it holds."""
    values = [tensor(value) for value in loop_vars]
    while cond(*values):
        made = body(*values)
        values = list(made) if isinstance(made, (list, tuple)) else [made]
    return values


def print_(*inputs: Any, output_stream: Any = None, end: str = "\n", sep: str = " ") -> None:
    """Print values, tensors as NumPy has them.

    Parameters
    ----------
    *inputs
        What is printed.
    output_stream : file, optional
        Where; the standard error by default.
    end, sep : str
        What stands at the end, and between the values.
    """
    texts = [_text(numpy_values(value)) for value in inputs]
    print(*texts, file=output_stream or sys.stderr, end=end, sep=sep)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@contextlib.contextmanager
def device(device_name: Any) -> Iterator[None]:
    """Be a context, and nothing else: values are in the memory of this machine."""
    yield


name_scope = control_dependencies = device


def no_op(name: str | None = None) -> None:
    """Do nothing."""


def group(*inputs: Any, **kwargs: Any) -> None:
    """Do nothing: its arguments have been computed."""


__dir__ = listing(globals())
