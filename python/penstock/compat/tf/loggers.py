"""The logger of programs written for TensorFlow."""

from __future__ import annotations

import logging

from penstock.compat.listing import listing


def get_logger() -> logging.Logger:
    """Return the logger "tensorflow", which writes warnings to standard error."""
    logger = logging.getLogger("tensorflow")
    if not logger.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        logger.addHandler(handler)
        logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)
    return logger


__dir__ = listing(globals())
