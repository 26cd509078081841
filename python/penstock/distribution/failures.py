"""Copies of exceptions, so that each consumer raises a separate one."""

from __future__ import annotations

import copy
from typing import TypeVar

_Raised = TypeVar("_Raised", bound=BaseException)


def own(failure: _Raised) -> _Raised:
    """Return a copy of an exception, for one consumer to raise.

    A raised exception refers to the frames that it passed through, and so to all of their
    variables. If a job kept an exception that all consumers raise, it would keep alive the
    iterators that they have dropped. Those consumers would never leave.

    Parameters
    ----------
    failure : BaseException
        The stored exception, which is never raised itself.

    Returns
    -------
    BaseException
        An exception of the same class with the same attributes; `failure` itself if its class
        cannot be copied.
    """
    try:
        made = copy.copy(failure)
    except Exception:  # the constructor takes other arguments than `args`
        try:
            made = type(failure).__new__(type(failure), *failure.args)
        except Exception:  # the class cannot be instantiated again
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
    """Return a raised exception as one to store, from which `own` makes copies."""
    made = own(failure).with_traceback(None)
    made.__context__ = None
    return made
