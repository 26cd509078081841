"""What programs wrap functions in, and what they choose between functions with."""

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
    """Call ``func(*inp)`` with tensors, and give its results the types `Tout`.

    Parameters
    ----------
    func : callable, optional
        The function; without it a decorator is returned, whose function does this when called.
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
    """Call ``func(*inp)`` with NumPy values, and give its results the types `Tout`.

    Parameters
    ----------
    func : callable, optional
        The function; without it a decorator is returned, as of `py_function`.
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
        The function; without it a decorator is returned.
    input_signature : sequence of nested TensorSpec, optional
        What the arguments are converted to.
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
    """Call one of two functions."""
    return true_fn() if pred else false_fn()


@deferred
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


@deferred
def switch_case(
    branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case"
) -> Any:
    """Call the function of a number; `default`, or the one of the greatest number, for others.

    Parameters
    ----------
    branch_index : int
        The number.
    branch_fns : sequence or mapping
        Functions, or pairs of a number and a function.
    default : callable, optional
        What is called for other numbers.
    name : str, optional
        A label without further meaning.
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
    """Call `body` with what it returned, as long as `cond` of it holds.

    Parameters
    ----------
    cond, body : callable
        Called with the variables.
    loop_vars : sequence
        What they are at first.
    shape_invariants, parallel_iterations, back_prop, swap_memory : object
        Ignored.
    maximum_iterations : int, optional
        How often `body` is called at most.
    name : str, optional
        A label without further meaning.

    Returns
    -------
    tuple or list
        The variables at the end, nested as `loop_vars`.
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
    """Be a context, and nothing else: values are in the memory of this machine."""
    yield


@contextlib.contextmanager
def name_scope(name: Any) -> Iterator[None]:
    """Be a context, and nothing else: there are no names of operations."""
    yield


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Be a context, and nothing else: its arguments have been computed."""
    yield


def no_op(name: str | None = None) -> None:
    """Do nothing."""


def group(*inputs: Any, **kwargs: Any) -> None:
    """Do nothing: its arguments have been computed."""


def custom_gradient(f: Any = None) -> Any:
    """Return a function that gives the first result of `f`: there are no gradients."""
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
    """Be a context, and nothing else: everything runs at once."""
    yield


def inside_function() -> bool:
    """Return False: nothing is traced."""
    return False


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return False: tensors have values."""
    return False


def get_current_name_scope() -> str:
    """Return "": there are no names of operations."""
    return ""


NAMES = [
    *("case", "cond", "control_dependencies", "custom_gradient", "device", "function"),
    *("get_current_name_scope", "grad_pass_through", "group", "init_scope", "inside_function"),
    *("is_symbolic_tensor", "name_scope", "no_op", "numpy_function", "py_function"),
    *("recompute_grad", "switch_case", "while_loop"),
]

__dir__ = listing(globals())
