"""tf.debugging: checks of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import alike, tensor


def _check(name: str, ufunc: np.ufunc) -> Callable[..., None]:
    def check(
        x: Any, y: Any, message: str | None = None, summarize: Any = None, name: str | None = None
    ) -> None:
        first, second = alike([x, y])
        if not np.all(ufunc(first, second)):
            said = f"{message}; " if message else ""
            text = f"{said}assert_{ufunc.__name__}: {first} and {second} were given"
            raise InvalidArgumentError(None, None, text)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = (
        f"Raise InvalidArgumentError unless NumPy's `{ufunc.__name__}` holds everywhere."
    )
    return check


for _name, _ufunc in {
    "assert_equal": np.equal,
    "assert_greater": np.greater,
    "assert_greater_equal": np.greater_equal,
    "assert_less": np.less,
    "assert_less_equal": np.less_equal,
    "assert_none_equal": np.not_equal,
}.items():
    globals()[_name] = _check(_name, _ufunc)


def Assert(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> None:
    """Raise InvalidArgumentError, with `data`, unless the condition holds everywhere."""
    if not np.all(condition):
        raise InvalidArgumentError(None, None, f"Assert: the condition does not hold, with {data}")


def check_numerics(tensor_: Any, message: str, name: str | None = None) -> Any:
    """Return an array of floats, all of which are numbers.

    Raises
    ------
    InvalidArgumentError
        If one is infinite or not a number.
    """
    value = tensor(tensor_)
    if not np.all(np.isfinite(value)):
        raise InvalidArgumentError(None, None, f"{message}: {value} has infinities or NaN")
    return value


__dir__ = listing(globals())
