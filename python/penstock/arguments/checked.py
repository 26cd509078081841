"""Functions whose arguments are checked at the call, by the names of the parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.arguments.checks import SYMBOLS, Check, is_symbol
from penstock.arguments.keywords import explain
from penstock.arguments.names import check_of, data_of
from penstock.storage_options import carrying

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

# Exceptions that NumPy and Python raise for an unexpected value.
_BLAMED = (TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)


def checked(function: _F, stage: str | None = None) -> _F:
    """Return `function` with its arguments checked before each call.

    Parameters
    ----------
    function : callable
        Its parameter names determine the checks; see `penstock.arguments.names`. None is accepted
        where it is the default.
    stage : str, optional
        The name of the function in errors; by default its own name.

    Returns
    -------
    callable
        The checked function. If it raises an error that names no argument, and an array argument
        cannot be converted to an array, the error is replaced by one that names this argument: a
        ValueError if it was a ValueError, otherwise a TypeError.
    """
    stage = stage or _stage_of(function)
    parameters = inspect.signature(function).parameters
    checks: dict[str, tuple[str, Check, bool]] = {}
    data: dict[str, tuple[Check, bool]] = {}
    for name, parameter in parameters.items():
        check = check_of(stage, name)
        if check is not None:
            checks[name] = (f"{stage}: {name}", check, parameter.default is None)
        elif (look := data_of(stage, name)) is not None:
            data[name] = (look, parameter.default is None)
    positional = [name for name, each in parameters.items() if each.kind in _BY_PLACE]
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters.values()):
        positional = []
    by_place = tuple((i, *checks[name]) for i, name in enumerate(positional) if name in checks)

    # An operation takes only 1 to 2 us, so the wrapper runs the checks itself, without another
    # call, and examines only arguments that have a check.
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # IPython and pytest omit this frame
        try:
            given = len(args)
            for i, place, check, optional in by_place:
                if i >= given:
                    break
                value = args[i]
                if type(value) in SYMBOLS or (value is None and optional):
                    continue
                check(place, value)
            if kwargs:
                for name, value in kwargs.items():
                    if name in checks and type(value) not in SYMBOLS:
                        place, check, optional = checks[name]
                        if value is not None or not optional:
                            check(place, value)
        except (TypeError, ValueError) as error:
            raise _at_the_call(error) from error.__cause__
        try:
            return function(*args, **kwargs)
        except _BLAMED as error:
            if kwargs:
                explain(stage, parameters, kwargs)
            if _is_of_the_call(error):
                said = str(error).removeprefix(f"{function.__qualname__}()")
                raise TypeError(f"{stage}:{said}") from None
            if data:
                blame(stage, data, dict(zip(parameters, args, strict=False)) | kwargs, error)
            raise

    if "storage_options" in parameters and stage != "configure":  # its options apply to a prefix
        return carrying(call, stage)  # type: ignore[return-value]
    return call  # type: ignore[return-value]


def _at_the_call(error: Exception) -> Exception:
    """Return a check's error without the frames of the check, unless it called users' code."""
    trace = error.__traceback__
    while trace is not None:
        if not str(trace.tb_frame.f_globals.get("__name__")).startswith("penstock."):
            return error
        trace = trace.tb_next
    return error.with_traceback(None)


def _is_of_the_call(error: Exception) -> bool:
    """Return whether the call itself failed: an argument is missing, or there are too many."""
    trace = error.__traceback__
    return isinstance(error, TypeError) and trace is not None and trace.tb_next is None


def _stage_of(function: Callable[..., Any]) -> str:
    if function.__name__ == "__init__":
        return function.__qualname__.split(".")[0]
    of_strings = function.__module__.startswith("penstock.ops.strings.")
    return f"strings.{function.__name__}" if of_strings else function.__name__


def blame(
    stage: str, data: dict[str, tuple[Check, bool]], given: dict[str, Any], error: Exception
) -> None:
    """Raise an error that names the argument that is not valid data, if there is one."""
    said = str(error)
    if any(f" {name} " in f" {said} " for name in given):
        return
    for name, (check, optional) in data.items():
        value = given.get(name)
        if name in given and not (optional and value is None) and not is_symbol(value):
            try:
                check(f"{stage}: {name}", value)
            except (TypeError, ValueError) as fault:
                reason = said.removeprefix(f"{stage}: ") if said else str(fault)
                wanted = ValueError if isinstance(error, ValueError) else TypeError
                raise wanted(f"{stage}: {name}: {reason}") from error


def checked_tuple(cls: _C) -> _C:
    """Return a named tuple class whose fields are checked at creation."""
    setattr(cls, "__new__", staticmethod(checked(cls.__new__, cls.__name__)))  # noqa: B010
    return cls


def checked_methods(cls: _C) -> _C:
    """Return a class with all of its public methods checked."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, staticmethod):
            setattr(cls, name, staticmethod(checked(member.__func__)))
        elif isinstance(member, classmethod):
            setattr(cls, name, classmethod(checked(member.__func__)))
        elif inspect.isfunction(member):
            setattr(cls, name, checked(member))
    return cls
