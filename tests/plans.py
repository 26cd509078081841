"""Random pipelines: sources and stages, each with a builder and an oracle.

A stage is an entry of `STAGES` (plan_stages.py), or the `STAGE` of a test file; a source is an
entry of `SOURCES` (plan_sources.py). Each consists of a strategy for its arguments, a function that
builds it, and a generator over the steps of its input (oracle.py).
"""

import functools
import itertools
from typing import NamedTuple

from hypothesis import strategies as st

import oracle
import penstock as ps
from contract import Boom
from plan_functions import number
from plan_sources import SOURCES
from plan_stage import KEEPS, PLACES, RANDOM_VALUES, SHUFFLES
from plan_stages import STAGES


class TooLong(Exception):
    """The oracle has taken too many steps, so the plan is useless as a test."""


class Run(NamedTuple):
    """The settings of a run, which must not change its elements."""

    calls: tuple = (None,)  # num_parallel_calls of the stages, cyclically
    ahead: tuple = (0,)  # buffer sizes of prefetches
    deterministic: bool | None = None
    threads: int | None = None
    memory: int | None = None
    debug: bool = False
    folder: str = ""
    place: int = 0  # index of the stage that is being built

    def parallel(self, most=None):
        calls = self.calls[self.place % len(self.calls)]
        return calls if calls is None or most is None else min(calls, most)

    def buffer(self):
        return self.ahead[self.place % len(self.ahead)]

    def options(self):
        options = ps.Options()
        options.deterministic = self.deterministic
        options.threading.private_threadpool_size = self.threads
        options.memory_limit = self.memory
        return options


class Plan(NamedTuple):
    """A pipeline as data; also used in stage arguments for further inputs and opened datasets."""

    source: tuple[str, dict]
    stages: tuple[tuple[str, dict], ...]

    def __repr__(self):
        parts = [f"{name}({_show(args)})" for name, args in (self.source, *self.stages)]
        return ".".join(parts)

    def order(self):
        """Return the known order: EXACT steps, the same multiset, or neither."""
        known = KEEPS
        for name, args in self.stages:
            inner = max((p.order() for p in args.values() if isinstance(p, Plan)), default=KEEPS)
            own = STAGES[name].order
            if own == PLACES and max(known, inner) >= SHUFFLES:
                return RANDOM_VALUES
            known = max(known, own if own != PLACES else KEEPS, inner)
        return known

    def uses(self, wanted):
        """Return whether a stage anywhere in the plan has this name or order."""
        return any(
            wanted in (name, STAGES[name].order)
            or any(isinstance(p, Plan) and p.uses(wanted) for p in args.values())
            for name, args in self.stages
        )

    def repeats_for_ever(self):
        """Return whether the plan contains an infinite repeat."""
        return any(
            (name == "repeat" and args["count"] < 0)
            or any(isinstance(p, Plan) and p.repeats_for_ever() for p in args.values())
            for name, args in self.stages
        )

    def build(self, run, given=None):
        """Build and return the dataset."""
        name, args = self.source
        ds = given_dataset(given, **args) if name == "given" else SOURCES[name].build(run, **args)
        for place, (stage, arguments) in enumerate(self.stages):
            ds = STAGES[stage].build(ds, run._replace(place=run.place + place), **arguments)
        return ds

    def expect(self, fuel, given=None):
        """Return a function that returns a new iterator of the expected steps on each call."""
        name, args = self.source

        def source():
            if name == "given":
                return given_steps(given, **args)
            return iter(SOURCES[name].oracle(**args))

        again = functools.partial(_burn, source, fuel)
        for stage, arguments in self.stages:
            give = functools.partial(
                STAGES[stage].oracle, again, lambda plan, x=None: plan.expect(fuel, x), **arguments
            )
            again = functools.partial(_burn, give, fuel)
        return again


def _show(args):
    return ", ".join(f"{name}={getattr(a, '__name__', None) or a!r}" for name, a in args.items())


def _burn(give, fuel):
    for step in give():
        fuel[0] -= 1
        if fuel[0] < 0:
            raise TooLong
        yield step


# --- datasets that functions open ---


def given_dataset(given, form):
    """Return a dataset made from an element, like a function of flat_map."""
    n = number(given)
    if form == "copies":
        return ps.Dataset.from_tensors(given).repeat(n % 4)
    if form == "refuses" and n % 3 == 1:
        raise Boom(f"opening {n}")
    return n if form == "no dataset" and n % 4 == 1 else ps.Dataset.range(n % 5)


def given_steps(given, form):
    n = number(given)
    return itertools.repeat(given, n % 4) if form == "copies" else map(oracle.leaf, range(n % 5))


# --- strategies ---


@st.composite
def plans(draw, depth=2, sources=None, most_stages=6, without=()):
    """Draw a plan whose arguments contain nested plans, up to depth `depth`."""
    source = draw(st.sampled_from(sorted(SOURCES) if sources is None else sources))
    form = st.fixed_dictionaries(
        {"form": st.sampled_from(["copies", "numbers", "refuses", "no dataset"])}
    )
    source_args = draw(form if source == "given" else SOURCES[source].args)
    names = [name for name in STAGES if depth > 0 or not callable(STAGES[name].args)]
    names = [name for name in names if name not in without]
    stages = []
    for name in draw(st.lists(st.sampled_from(names), max_size=most_stages)):
        made = STAGES[name].args
        if callable(made):
            made = made(inner(depth - 1), other(depth - 1))
        stages.append((name, draw(made)))
    return Plan((source, source_args), tuple(stages))


def inner(depth):
    """Draw the datasets that a function opens: plans over its element."""
    # Caches do not support a separate file for each element.
    return plans(depth=depth, sources=["given"], most_stages=2, without={"cache file", "snapshot"})


def other(depth):
    """Draw another input."""
    return plans(depth=depth, most_stages=3)
