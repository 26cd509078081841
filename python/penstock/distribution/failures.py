"""Exceptions that several consumers raise: each has one of its own."""

from __future__ import annotations

import copy
from typing import TypeVar

_Raised = TypeVar("_Raised", bound=BaseException)


def own(failure: _Raised) -> _Raised:
    """Return an exception like another one, for one consumer.

    An exception that was raised has the frames that it has left, and with them all that their
    variables refer to. One that all consumers raise, and that a job keeps, would keep the
    iterators of those who have dropped theirs: they would never leave.

    Parameters
    ----------
    failure : BaseException
        What is kept; it is raised nowhere.

    Returns
    -------
    BaseException
        Of the same class and with the same attributes; the very same one where its class cannot be
        copied.
    """
    try:
        made = copy.copy(failure)
    except Exception:  # its class takes other arguments than it has kept
        try:
            made = type(failure).__new__(type(failure), *failure.args)
        except Exception:  # its class makes no second one at all
            return failure
        made.__dict__.update(failure.__dict__)
    if type(made) is not type(failure):
        return failure
    if notes := getattr(failure, "__notes__", None):
        made.__notes__ = list(notes)
    made.__cause__ = failure.__cause__
    made.__context__ = failure.__context__
    made.__suppress_context__ = failure.__suppress_context__
    return made.with_traceback(failure.__traceback__)


def kept(failure: _Raised) -> _Raised:
    """Return an exception that was raised as one to keep, of which consumers get their `own`."""
    made = own(failure).with_traceback(None)
    made.__context__ = None
    return made
