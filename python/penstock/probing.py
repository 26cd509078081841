"""What the elements of a dataset are, found out by computing one."""

from __future__ import annotations

from collections.abc import Iterator as Elements
from typing import Any

from penstock import _core
from penstock.iterator import Iterator
from penstock.on_error import MAX_ERRORS


def find_spec(dataset: Any) -> bool:
    """Find out what a plan does not know of its elements; False if there are none."""
    while (unknown := dataset._node.first_unknown()) is not None:
        probe = object.__new__(type(dataset))
        probe._node = unknown
        probe._options = dataset._options
        # Not counted: a shuffle in front is as if it had not been looked through.
        with Iterator(probe, dataset._options._for_engine(counted=False)) as it:
            first = first_good(it)
        if not first:
            return False
        unknown.set_spec(_core.Value(first[0], False).spec())
    return True


def first_good(it: Elements[Any]) -> tuple[Any, ...]:
    """Return the first element that does not fail, as a tuple of one; () when there is none.

    When many fail the first error is raised.
    """
    errors: list[Exception] = []
    while len(errors) < MAX_ERRORS:
        try:
            return (next(it),)
        except StopIteration:
            break
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return ()
