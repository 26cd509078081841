"""Counting the elements of a plan in the engine."""

from __future__ import annotations

from penstock.iterator import Iterator
from penstock.plan import Plan


def counted(plan: Plan) -> int:
    """Return the number of elements of a plan whose length is unknown."""
    with Iterator(plan._then("count"), plan._options._for_engine(counted=False)) as it:
        return int(next(it))
