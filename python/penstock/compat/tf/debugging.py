"""tf.debugging: checks of values, types and shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from penstock.compat.dtypes import DTYPES, DType, as_dtype
from penstock.compat.errors import InvalidArgumentError, raise_translated
from penstock.compat.listing import listing
from penstock.compat.tensor import in_one_type, tensor
from penstock.compat.tf import arrays

_SHOWN = 3  # values of a tensor in an error message, unless set by `summarize`


def _holds(
    sign: str, ufunc: np.ufunc, x: Any, y: Any, message: str | None, summarize: int | None
) -> None:
    first, second = in_one_type([x, y])
    try:
        holds = np.asarray(ufunc(first, second))
    except ValueError as error:  # shapes that do not match
        raise_translated(error)
    if holds.all():
        return
    shown = _SHOWN if summarize is None else holds.size if summarize < 0 else int(summarize)
    lines = [*([message] if message else []), f"Condition x {sign} y did not hold."]
    if first.ndim and first.shape == second.shape:
        wrong = np.argwhere(~holds)[:shown]
        at = tuple(wrong.T)
        lines += [f"Indices of first {len(wrong)} different values:", str(wrong)]
        lines += ["Corresponding x values:", str(np.asarray(first)[at])]
        lines += ["Corresponding y values:", str(np.asarray(second)[at])]
    for name, values in (("x", np.ravel(first)[:shown]), ("y", np.ravel(second)[:shown])):
        lines += [f"First {len(values)} elements of {name}:", str(values)]
    raise InvalidArgumentError(None, None, "\n".join(lines))


def _of_two(name: str, sign: str, ufunc: np.ufunc) -> Callable[..., None]:
    def check(
        x: Any, y: Any, message: str | None = None, summarize: Any = None, name: str | None = None
    ) -> None:
        _holds(sign, ufunc, x, y, message, summarize)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise InvalidArgumentError unless ``x {sign} y`` holds everywhere."
    return check


def _of_one(name: str, sign: str, ufunc: np.ufunc) -> Callable[..., None]:
    def check(
        x: Any, message: str | None = None, summarize: Any = None, name: str | None = None
    ) -> None:
        x = tensor(x)
        if not np.all(ufunc(x, 0)):
            values = _summary(x, _SHOWN if summarize is None else summarize)
            raise InvalidArgumentError(
                None,
                None,
                f"{message or ''}\nCondition x {sign} 0 did not hold element-wise:\n"
                f"x (shape={x.shape} dtype={as_dtype(x.dtype).name}) = \n{values}",
            )

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise InvalidArgumentError unless ``x {sign} 0`` holds everywhere."
    return check


for _name, _sign, _ufunc in (
    ("assert_equal", "==", np.equal),
    ("assert_greater", ">", np.greater),
    ("assert_greater_equal", ">=", np.greater_equal),
    ("assert_less", "<", np.less),
    ("assert_less_equal", "<=", np.less_equal),
):
    globals()[_name] = _of_two(_name, _sign, _ufunc)
for _name, _sign, _ufunc in (
    ("assert_negative", "<", np.less),
    ("assert_non_negative", ">=", np.greater_equal),
    ("assert_non_positive", "<=", np.less_equal),
    ("assert_positive", ">", np.greater),
):
    globals()[_name] = _of_one(_name, _sign, _ufunc)


def assert_none_equal(
    x: Any, y: Any, summarize: Any = None, message: str | None = None, name: str | None = None
) -> None:
    """Raise InvalidArgumentError if ``x == y`` anywhere."""
    _holds("!=", np.not_equal, x, y, message, summarize)


def Assert(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> None:
    """Raise InvalidArgumentError, showing `data`, unless the condition is true everywhere."""
    if not np.all(condition):
        shown = "\n".join(_summary(each, summarize or _SHOWN) for each in data)
        raise InvalidArgumentError(
            None, None, f"Expected '{condition}' to be true. Summarized data: {shown}"
        )


def _summary(value: Any, shown: int) -> str:
    values = np.ravel(tensor(value)).tolist()
    more = ["..."] if len(values) > shown else []
    return ", ".join([*map(str, values[:shown]), *more])


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: Any = None,
    name: str | None = None,
) -> None:
    """Raise InvalidArgumentError unless ``|x - y| <= atol + rtol * |y|`` holds everywhere.

    Parameters
    ----------
    x, y : array_like of float
        The values.
    rtol, atol : float, optional
        The tolerances; by default, ten times the precision of the type.
    message : str, optional
        Prefix of the error message.
    summarize : int, optional
        Number of values to show in the error message.
    name : str, optional
        A label without effect.
    """
    first, second = in_one_type([x, y])
    precision = 10 * np.finfo(first.dtype).eps
    rtol, atol = (precision if each is None else np.asarray(each) for each in (rtol, atol))
    near = np.abs(first - second) <= atol + rtol * np.abs(second)
    said = f"{message or ''}\nx and y not equal to tolerance rtol = {rtol}, atol = {atol}"
    Assert(near, [said, "x = ", first, "y = ", second], summarize)


def assert_rank(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise ValueError unless there are `rank` axes."""
    _check_rank(x, message, f"rank {int(rank)}", np.ndim(tensor(x)) == int(rank))


def assert_rank_at_least(
    x: Any, rank: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise ValueError if there are fewer than `rank` axes."""
    _check_rank(x, message, f"rank at least {int(rank)}", np.ndim(tensor(x)) >= int(rank))


def assert_rank_in(x: Any, ranks: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise ValueError unless the rank is among `ranks`."""
    wanted = tuple(int(rank) for rank in ranks)
    _check_rank(x, message, f"rank in {wanted}", np.ndim(tensor(x)) in wanted)


def _check_rank(x: Any, message: str | None, wanted: str, holds: bool) -> None:
    if not holds:
        x = tensor(x)
        raise ValueError(
            f"{f'{message}.  ' if message else ''}Tensor must have {wanted}.  "
            f"Received rank {x.ndim}, shape {x.shape}"
        )


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise ValueError unless a value is 0-d."""
    shape = np.shape(_tensor(tensor))
    if shape:
        raise ValueError(f"{message or ''}Expected scalar shape, saw shape: {shape}.")


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise TypeError unless the values have a given type."""
    found = as_dtype(_tensor(tensor).dtype)
    if found != tf_type:
        wanted = as_dtype(tf_type)
        raise TypeError(f"{message or ''}  tensor must be of type {wanted!r}; got {found!r}")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise TypeError unless the values are integers."""
    found = as_dtype(tensor(x).dtype)
    if not found.is_integer:
        raise TypeError(f"{message or ''}Expected x to be integer type.  Found: {found!r}")


def assert_proper_iterable(values: Any) -> None:
    """Raise TypeError unless a value is a list, tuple or similar, not a tensor or text."""
    if isinstance(values, (str, bytes, np.ndarray)) or not isinstance(values, Iterable):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """Return the common floating-point type of tensors; float32 if there are none.

    Raises
    ------
    ValueError
        If they have different types, or a type that is not floating-point.
    """
    found = [as_dtype(tensor(each).dtype) for each in tensors or () if each is not None]
    common = as_dtype(dtype) if dtype is not None else next(iter(found), DTYPES["float32"])
    wrong = [each for each in found if each != common]
    if wrong:
        raise ValueError(f"a tensor of type {common!r} was expected, got {wrong[0]!r}")
    if not common.is_floating:
        raise ValueError(f"a type of floats was expected, got {common!r}")
    return common


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: Any = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Check that the shapes of several tensors are consistent.

    Parameters
    ----------
    shapes : mapping or sequence of pairs
        Tensors, each with its expected sizes. A size is a number, a name (equal names require equal
        sizes), or "." or None for any size. A leading "..." or "*" matches any number of axes.
    data, summarize : object, optional
        Ignored.
    message : str, optional
        Prefix of the error message.
    name : str, optional
        A label without effect.

    Raises
    ------
    ValueError
        If a shape does not match.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.debugging.assert_shapes([(tf.ones([2, 3]), ("N", 3)), (tf.ones([2]), ("N",))])
    """
    known: dict[Any, int] = {}
    for value, wanted in shapes.items() if isinstance(shapes, Mapping) else shapes:
        symbols = list(wanted) if isinstance(wanted, (list, tuple, str)) else [wanted]
        sizes = np.shape(tensor(value))
        if symbols and symbols[0] in ("*", ...):
            symbols = symbols[1:]
            sizes = sizes[max(len(sizes) - len(symbols), 0) :]
        if "*" in symbols or ... in symbols:
            raise ValueError(f"assert_shapes: * and ... are expected in front, got {wanted}")
        fits = len(symbols) == len(sizes) and all(map(_fits, symbols, sizes, [known] * len(sizes)))
        if not fits:
            said = f"{message}.  " if message else ""
            raise ValueError(
                f"{said}Tensor shape {np.shape(tensor(value))} does not fit {wanted}, {known}"
            )


def _fits(symbol: Any, size: int, known: dict[Any, int]) -> bool:
    if symbol is None or symbol == ".":
        return True
    if isinstance(symbol, str) and not symbol.isdecimal():
        return known.setdefault(symbol, size) == size
    return int(symbol) == size


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """Return an array of floats after checking that all are finite.

    Raises
    ------
    InvalidArgumentError
        If a value is infinite or NaN.
    """
    value = _tensor(tensor)
    bad = [
        said
        for said, check in (("NaN", np.isnan), ("Inf", np.isinf))
        if check(np.asarray(value)).any()
    ]
    if bad:
        raise InvalidArgumentError(None, None, f"{message} : Tensor had {' and '.join(bad)} values")
    return value


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Any:
    """Return an array of floats after checking that all are finite; see `check_numerics`."""
    return check_numerics(x, message)


def is_numeric_tensor(tensor: Any) -> bool:
    """Return whether a value is a numeric tensor."""
    return arrays.is_tensor(tensor) and _tensor(tensor).dtype.kind in "iufc"


def get_log_device_placement() -> bool:
    """Return False: there is only one device."""
    return False


def is_traceback_filtering_enabled() -> bool:
    """Return False: tracebacks are those of Python."""
    return False


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Do nothing: values are only checked where `check_numerics` is called."""


def disable_check_numerics() -> None:
    """Do nothing: values are only checked where `check_numerics` is called."""


def set_log_device_placement(enabled: bool) -> None:
    """Do nothing: there is only one device."""


def enable_traceback_filtering() -> None:
    """Do nothing: tracebacks are those of Python."""


disable_traceback_filtering = enable_traceback_filtering
_tensor = tensor  # for functions with a parameter of the same name

__dir__ = listing(globals())
