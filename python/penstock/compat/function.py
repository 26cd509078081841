"""tf.function: a function whose arguments and results are tensors."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.arguments.checks import SYMBOLS
from penstock.compat.composite import Composite
from penstock.compat.shape import TensorSpec
from penstock.compat.tensor import Tensor, converted, tensor
from penstock.compat.values import tensors
from penstock.structure import is_nested, map_parts, parts_of


class Function:
    """A function whose arguments and results are converted to tensors; nothing is traced.

    Methods of datasets call the wrapped function directly, because elements are already tensors.

    Parameters
    ----------
    python_function : callable
        The function to wrap.
    input_signature : sequence of nested TensorSpec, optional
        The specs to which arguments are converted.
    """

    def __init__(self, python_function: Callable[..., Any], input_signature: Any = None) -> None:
        functools.update_wrapper(self, python_function)
        if input_signature is not None:
            self.__signature__ = inspect.signature(python_function)
        self.python_function = python_function
        self._specs = None if input_signature is None else tuple(input_signature)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self._specs is not None:
            args, kwargs = self._signed(args, kwargs)
        else:
            args = tuple(map(_given, args))
            kwargs = {name: _given(value) for name, value in kwargs.items()}
        return _result(self.python_function(*args, **kwargs))

    def _signed(self, args: Any, kwargs: Any) -> Any:
        """Return the arguments converted by the signature; arguments beyond it need defaults."""
        try:
            bound = self.__signature__.bind(*args, **kwargs)
            given = [_of_spec(*each) for each in zip(self._specs or (), bound.args, strict=False)]
            return (*given, *bound.args[len(given) :]), bound.kwargs
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{error}`. Received args: {args} "
                f"and kwargs: {kwargs} for signature: {self._specs}."
            ) from None

    def __get__(self, instance: Any, owner: type | None = None) -> Function:
        if instance is None:
            return self
        return Function(self.python_function.__get__(instance), self._specs)

    @property
    def input_signature(self) -> Any:
        """The specs to which arguments are converted."""
        return self._specs

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.__name__  # type: ignore[attr-defined, no-any-return]

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Function:
        """Return the function itself: it works for all types."""
        return self

    def experimental_get_tracing_count(self) -> int:
        """Return 1: one function works for all types."""
        return 1

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Return the name and parameters of the function."""
        return f"{self.name}{inspect.signature(self.python_function)}"

    pretty_printed_concrete_signatures = pretty_printed_signature

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.python_function.__module__)
        for name in self.python_function.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self:
            return self.python_function.__qualname__
        return Function, (self.python_function, self._specs)

    def __repr__(self) -> str:
        return f"<tf.function {getattr(self, '__qualname__', self.python_function)}>"


def unwrapped(value: Any) -> Any:
    """Return the function that a `Function` wraps; other objects unchanged."""
    return value.python_function if type(value) is Function else value


def _given(value: Any) -> Any:
    """Return an argument with arrays converted to tensors; numbers and objects unchanged."""
    if isinstance(value, (np.ndarray, np.generic)):
        return tensor(value)
    if isinstance(value, (tuple, list, dict)):
        return _each(_given, value)
    return value


def _result(value: Any) -> Any:
    """Return a result with arrays, numbers and text converted to tensors."""
    if type(value) is Tensor or isinstance(value, Composite) or type(value) in SYMBOLS:
        return value
    if isinstance(value, (tuple, list, dict)) and value:
        return _each(_result, value)
    return value.__tf_tensor__() if hasattr(value, "__tf_tensor__") else tensors(value)


def _each(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list):
        return list(map(function, value))
    return map_parts(lambda _, part: function(part), value)


def _of_spec(spec: Any, value: Any) -> Any:
    """Return an argument converted to the tensors of its spec."""
    if isinstance(spec, list):
        return [_of_spec(part, each) for part, each in zip(spec, value, strict=True)]
    if is_nested(spec):
        parts = dict(parts_of(value))
        return map_parts(lambda key, part: _of_spec(part, parts[key]), spec)
    if not isinstance(spec, TensorSpec) or type(value) in SYMBOLS:
        return value
    # NumPy values are cast. Tensors must have the type already, and Python values must fit.
    if isinstance(value, (np.ndarray, np.generic)) and type(value) is not Tensor:
        made = tensor(value, spec.dtype)
    else:
        made = tensor(value) if type(value) is Tensor else converted(value, spec.dtype.dtype)
    if not spec.is_compatible_with(made):
        raise TypeError(f"Can not cast {TensorSpec(made.shape, made.dtype)!r} to {spec!r}")
    return made
