"""Wrappers of functions, and functions for control flow."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from penstock.compat.composite import Composite
from penstock.compat.dtypes import for_penstock
from penstock.compat.function import Function
from penstock.compat.graph import deferred
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.compat.tf import nest
from penstock.compat.values import numpy_values, tensors
from penstock.functions import py_function as _py_function


def py_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, name: Any = None
) -> Any:
    """Call ``func(*inp)`` with tensors, and convert its results to the types `Tout`.

    Parameters
    ----------
    func : callable, optional
        The function. If omitted, return a decorator for such functions.
    inp : sequence
        The arguments of the function.
    Tout : dtype-like or sequence of them
        A type for a single result, or a sequence of types for a list of results.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor or list of Tensor
        The results.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.py_function(lambda x: x.numpy() + 1, [1], tf.float32)
    <tf.Tensor: shape=(), dtype=float32, numpy=2.0>
    """
    if func is None:
        return _decorator(py_function, Tout)
    given = [value if isinstance(value, Composite) else tensor(value) for value in inp]
    return _typed(func, given, Tout)


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call ``func(*inp)`` with NumPy values, and convert its results to the types `Tout`.

    Parameters
    ----------
    func : callable, optional
        The function. If omitted, return a decorator, as in `py_function`.
    inp : sequence
        The arguments of the function; strings are passed as bytes.
    Tout : dtype-like or sequence of them
        As in `py_function`.
    stateful : bool
        Ignored; the function is called every time.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor or list of Tensor
        The results.
    """
    if func is None:
        return _decorator(numpy_function, Tout)
    return _typed(func, [numpy_values(tensor(value)) for value in inp], Tout)


def _decorator(call: Callable[..., Any], Tout: Any) -> Callable[..., Any]:
    def decorated(func: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(func)(lambda *inp: call(func, inp, Tout))

    return decorated


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


def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    **experimental: Any,
) -> Any:
    """Return a function whose arguments and results are tensors; nothing is traced.

    Parameters
    ----------
    func : callable, optional
        The function. If omitted, return a decorator.
    input_signature : sequence of nested TensorSpec, optional
        Specs to which the arguments are converted.
    autograph, jit_compile, reduce_retracing, **experimental
        Ignored.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    ... def double(x):
    ...     return x * 2
    >>> double(2)
    <tf.Tensor: shape=(), dtype=int32, numpy=4>
    """
    if func is None:
        return functools.partial(Function, input_signature=input_signature)
    return Function(func, input_signature)


@deferred
def cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    """Call one of two functions, depending on a condition."""
    return true_fn() if pred else false_fn()


@deferred
def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Call the function of the first pair whose condition is true, or `default`.

    Raises
    ------
    ValueError
        If no condition is true and there is no default.
    """
    pairs = pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs
    for pred, chosen in pairs:
        if pred:
            return chosen()
    if default is None:
        raise ValueError("case: one of the conditions was expected to hold; give a default")
    return default()


@deferred
def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case"
) -> Any:
    """Call the function with a given number; for other numbers, `default` or the last function.

    Parameters
    ----------
    branch_index : int
        The number.
    branch_fns : sequence or mapping
        Functions, or pairs of a number and a function.
    default : callable, optional
        The function for other numbers; by default, the one with the highest number.
    name : str, optional
        A label without effect.
    """
    if isinstance(branch_fns, dict):
        branch_fns = list(branch_fns.items())
    pairs = [each if isinstance(each, tuple) else (i, each) for i, each in enumerate(branch_fns)]
    functions: dict[int, Any] = dict(pairs)
    if sorted(functions) != list(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{set(functions)}"
        )
    otherwise = functions[len(pairs) - 1] if default is None else default
    return functions.get(int(branch_index), otherwise)()


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Call `body` repeatedly with its own results, as long as `cond` is true for them.

    Parameters
    ----------
    cond, body : callable
        Called with the variables.
    loop_vars : sequence
        Initial values of the variables.
    shape_invariants, parallel_iterations, back_prop, swap_memory : object
        Ignored.
    maximum_iterations : int, optional
        Maximum number of calls of `body`.
    name : str, optional
        A label without effect.

    Returns
    -------
    tuple or list
        The final values of the variables, in the structure of `loop_vars`.
    """
    values = nest.map_structure(_variable, loop_vars)
    left = sys.maxsize if maximum_iterations is None else int(maximum_iterations)
    while left and cond(*values):
        made = body(*values)
        made = made if isinstance(made, (list, tuple)) else [made]
        values = nest.pack_sequence_as(loop_vars, list(map(_variable, nest.flatten(made))))
        left -= 1
    return values


def _variable(value: Any) -> Any:
    return value if hasattr(value, "write") or hasattr(value, "to_list") else tensor(value)


@contextlib.contextmanager
def device(device_name: Any) -> Iterator[None]:
    """Return a context manager without effect: values are in main memory."""
    yield


@contextlib.contextmanager
def name_scope(name: Any) -> Iterator[None]:
    """Return a context manager without effect: operations have no names."""
    yield


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Return a context manager without effect: its arguments are already computed."""
    yield


def no_op(name: str | None = None) -> None:
    """Do nothing."""


def group(*inputs: Any, **kwargs: Any) -> None:
    """Do nothing: its arguments are already computed."""


def custom_gradient(f: Any = None) -> Any:
    """Return a function that returns the first result of `f`: there are no gradients."""
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        return f(*map(_variable, args), **kwargs)[0]

    return call


def grad_pass_through(f: Any) -> Any:
    """Return the function itself: there are no gradients."""
    return f


recompute_grad = grad_pass_through


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Return a context manager without effect: execution is always eager."""
    yield


def inside_function() -> bool:
    """Return False: nothing is traced."""
    return False


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return False: tensors have values."""
    return False


def get_current_name_scope() -> str:
    """Return "": operations have no names."""
    return ""


NAMES = [
    *("case", "cond", "control_dependencies", "custom_gradient", "device", "function"),
    *("get_current_name_scope", "grad_pass_through", "group", "init_scope", "inside_function"),
    *("is_symbolic_tensor", "name_scope", "no_op", "numpy_function", "py_function"),
    *("recompute_grad", "switch_case", "while_loop"),
]

__dir__ = listing(globals())
