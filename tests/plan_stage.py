"""The definition of a stage of random pipelines."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

import oracle
import penstock as ps
from plan_functions import number

# How a stage depends on the order of its input, and changes it.
KEEPS = 0  # yields the same elements, in some order, from an input in any order
PLACES = 1  # its result depends on the positions of elements
SHUFFLES = 2  # changes the order at random
RANDOM_VALUES = 3  # yields unpredictable elements


class Stage(NamedTuple):
    """One stage of random pipelines."""

    args: Any  # a strategy of dicts, or a function of (inner, other) for nested plans: see plans.py
    build: Callable[..., ps.Dataset]  # (ds, run, **args)
    oracle: Callable[..., Any]  # (again, expect, **args): again() restarts the input
    order: int = KEEPS


small = st.integers(1, 5)


def args(**strategies):
    return st.fixed_dictionaries(strategies)


def numbers(again):
    return oracle.map(again(), number)
