"""Settings that are stored without effect; the log mentions it once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf.loggers import get_logger

_values: dict[str, Any] = {}
_said: set[str] = set()  # non-empty once the message was logged


def say_no_effect(name: str) -> None:
    """Log once that this function, like the others of tf.config, has no effect."""
    if not _said:
        _said.add(name)
        get_logger().warning(
            "tf.config.%s has no effect here, and nor has any other setting of threads, memory or "
            "devices in tf.config; penstock.Options has those of pipelines (said once)",
            name,
        )


def getter(name: str, setting: str, default: Any) -> Callable[[], Any]:
    """Return a function that returns a setting."""

    def get() -> Any:
        return _values.get(setting, default)

    get.__name__ = get.__qualname__ = name
    get.__doc__ = f"Return what was set, {default!r} at first: it has no effect."
    return get


def setter(
    name: str, setting: str, argument: str = "enabled", silent: bool = False
) -> Callable[..., None]:
    """Return a function that stores a setting.

    Parameters
    ----------
    name : str
        The name of the function.
    setting : str
        The name of the setting.
    argument : str
        The name of the argument.
    silent : bool
        Whether to log nothing, because the setting is correct even without an effect.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(argument, kind)])

    def set_(*args: Any, **kwargs: Any) -> None:
        _values[setting] = signature.bind(*args, **kwargs).arguments[argument]
        if not silent:
            say_no_effect(name)

    set_.__name__ = set_.__qualname__ = name
    set_.__signature__ = signature  # type: ignore[attr-defined]
    set_.__doc__ = "Remember a value, which has no effect."
    return set_


__dir__ = listing(globals())
