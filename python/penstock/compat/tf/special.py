"""Special functions of tf.math: from Python or, if installed, SciPy."""

from __future__ import annotations

import importlib
import inspect
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tensor import array, in_one_type, tensor

# By TensorFlow's name: SciPy's name and the arguments.
_OF_SCIPY = {
    "bessel_i0": ("i0", "x"),
    "bessel_i0e": ("i0e", "x"),
    "bessel_i1": ("i1", "x"),
    "bessel_i1e": ("i1e", "x"),
    "betainc": ("betainc", "a b x"),
    "digamma": ("digamma", "x"),
    "igamma": ("gammainc", "a x"),
    "igammac": ("gammaincc", "a x"),
    "polygamma": ("polygamma", "a x"),
    "zeta": ("zeta", "x q"),
}


def _lgamma(x: float) -> float:
    pole = x <= 0 and x == math.floor(x)
    return math.inf if pole or math.isinf(x) else math.lgamma(x)


def _ndtri(p: float) -> float:
    if 0 < p < 1:
        return statistics.NormalDist().inv_cdf(p)
    return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)


_OF_PYTHON: dict[str, Callable[[float], float]] = {
    "erf": math.erf,
    "erfc": math.erfc,
    "erfcinv": lambda x: -_ndtri(x / 2) / math.sqrt(2),
    "erfinv": lambda x: _ndtri((x + 1) / 2) / math.sqrt(2),
    "lgamma": _lgamma,
    "ndtri": _ndtri,
}


def _by_python(name: str, function: Callable[[float], float]) -> Callable[..., Any]:
    def call(x: Any, name: str | None = None) -> Any:
        values = array(x)
        made = [function(value) for value in values.ravel().tolist()]
        return tensor(np.array(made, values.dtype).reshape(values.shape))

    return _named(call, name, f"Return the `{name}` of each value.")


def _by_scipy(name: str, theirs: str, arguments: str) -> Callable[..., Any]:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(each, kind) for each in arguments.split()]
    signature = inspect.Signature([*parameters, inspect.Parameter("name", kind, default=None)])

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        values = in_one_type([given[each] for each in arguments.split()])
        return tensor(getattr(_scipy_special(name), theirs)(*values), values[0].dtype)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return _named(call, name, f"Return SciPy's `{theirs}` of each value, or group of values.")


def _named(call: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def _scipy_special(name: str) -> Any:
    try:
        return importlib.import_module("scipy.special")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"tf.math.{name} needs SciPy, which is not installed: pip install scipy"
        ) from None


for _name, _function in _OF_PYTHON.items():
    globals()[_name] = _by_python(_name, _function)
for _name, (_theirs, _arguments) in _OF_SCIPY.items():
    globals()[_name] = _by_scipy(_name, _theirs, _arguments)


def lbeta(x: Any, name: str | None = None) -> Any:
    """Return the log beta function of the values along the last axis."""
    values, lgamma = array(x), globals()["lgamma"]
    return tensor(array(lgamma(values)).sum(-1) - array(lgamma(values.sum(-1))))


NAMES = [*_OF_PYTHON, *_OF_SCIPY, "lbeta"]

__dir__ = listing(globals())
