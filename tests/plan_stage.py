"""What a stage of random pipelines is made of."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

import oracle
import penstock as ps
from plan_functions import number

# What a stage does to the order of its input, and needs of it.
KEEPS = 0  # gives the same elements, in some order, from an input in any order
PLACES = 1  # what it gives depends on the places of elements
SHUFFLES = 2  # changes the order at random
RANDOM_VALUES = 3  # gives elements that nobody can foretell


class Stage(NamedTuple):
    """One stage of random pipelines."""

    args: Any  # a strategy of dicts; of (inner, other) when plans are among them: see plans.py
    build: Callable[..., ps.Dataset]  # (ds, run, **args)
    oracle: Callable[..., Any]  # (again, expect, **args): again() restarts the input
    order: int = KEEPS


small = st.integers(1, 5)


def args(**strategies):
    return st.fixed_dictionaries(strategies)


def numbers(again):
    return oracle.map(again(), number)
