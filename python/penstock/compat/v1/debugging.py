"""tf.debugging as in TensorFlow 1: checks whose second argument after the values is `data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.compat.graph import deferred
from penstock.compat.listing import listing
from penstock.compat.tf import debugging as _debugging
from penstock.compat.tf import math as _math

_OF_ONE = ("assert_negative", "assert_non_negative", "assert_non_positive", "assert_positive")
_OF_TWO = (
    *("assert_equal", "assert_greater", "assert_greater_equal", "assert_less"),
    *("assert_less_equal", "assert_none_equal", "assert_rank", "assert_rank_at_least"),
    "assert_rank_in",
)


def _with_data(name: str, values: int) -> Callable[..., Any]:
    today = vars(_debugging)[name]

    def call(*args: Any, **kwargs: Any) -> Any:
        # x, (y,) data, summarize, message, name
        rest = dict(zip(("data", "summarize", "message", "name"), args[values:], strict=False))
        given = {**rest, **kwargs}
        given.pop("data", None)
        if values == 2 and "rank" in name:
            given.pop("summarize", None)
        return today(*args[:values], **given)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = today.__doc__
    return deferred(call)  # type: ignore[no-any-return]


for _name in dir(_debugging):
    _thing = getattr(_debugging, _name)
    if _name in _OF_ONE or _name in _OF_TWO:
        globals()[_name] = _with_data(_name, 1 if _name in _OF_ONE else 2)
    else:
        globals()[_name] = deferred(_thing)
for _name in ("is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing"):
    globals()[_name] = deferred(vars(_math)[_name])


@deferred
def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: Any = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless ``|x - y| <= atol + rtol * |y|`` holds everywhere."""
    _debugging.assert_near(x, y, rtol, atol, message, summarize)


@deferred
def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> None:
    """Raise ValueError unless a value has no axes."""
    _debugging.assert_scalar(tensor, message)


@deferred
def assert_all_finite(
    t: Any = None, msg: Any = None, name: str | None = None, x: Any = None, message: Any = None
) -> Any:
    """Return an array of floats, all of which are numbers."""
    return _debugging.check_numerics(t if x is None else x, message or msg or "")


AT_TOP = [
    *_OF_ONE,
    *_OF_TWO,
    *("Assert", "assert_integer", "assert_near", "assert_proper_iterable"),
    *("assert_same_float_dtype", "assert_scalar", "assert_type", "check_numerics"),
]

__dir__ = listing(globals())
