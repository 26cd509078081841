"""tf.logging: Python's logging, with the logger "tensorflow"."""

from __future__ import annotations

import collections
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf import loggers

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50

_calls: collections.Counter[Any] = collections.Counter()


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at a level."""
    loggers.get_logger().log(level, msg, *args, **kwargs)


vlog = log


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at the level DEBUG."""
    loggers.get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at the level INFO."""
    loggers.get_logger().info(msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at the level WARN."""
    loggers.get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at the level ERROR."""
    loggers.get_logger().error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message at the level FATAL."""
    loggers.get_logger().fatal(msg, *args, **kwargs)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Log a message if a condition is true."""
    if condition:
        log(level, msg, *args)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log a message at the first of every `n` calls."""
    log_if(level, msg, _calls[msg] % n == 0, *args)
    _calls[msg] += 1


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log a message at the first `n` calls."""
    log_if(level, msg, _calls[msg] < n, *args)
    _calls[msg] += 1


def set_verbosity(v: int | str) -> None:
    """Set the minimum level of messages to log."""
    loggers.get_logger().setLevel(v)


def get_verbosity() -> int:
    """Return the minimum level of messages to log."""
    return loggers.get_logger().getEffectiveLevel()


def flush() -> None:
    """Flush the log."""
    for handler in loggers.get_logger().handlers:
        handler.flush()


def TaskLevelStatusMessage(msg: Any) -> None:
    """Log a message at the level ERROR."""
    error(msg)


__all__ = ["DEBUG", "ERROR", "FATAL", "INFO", "WARN"]

__dir__ = listing(globals())
