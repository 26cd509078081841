"""The summary of a profile as text."""

from __future__ import annotations

import math

from penstock.profiling.advice import Advice
from penstock.profiling.bottleneck import MOST_OF_THEM, Bottleneck, Evidence

_REASONS = {
    "cpu": "all processors are busy, {share:.0%} of them with this program, and it takes the most",
    "others": "other programs keep the processors busy, so that its threads wait for one; this "
    "program has {share:.0%} of them",
    "gil": "it holds the GIL while it computes, so its calls take turns: the GIL is held "
    "{share:.0%} of the time",
    "io": "it waits for files, or sleeps, {share:.0%} of the time",
    "serial": "it computes {share:.0%} of the time, {calls} at a time, while processors are idle",
    "buffer": "it is fast enough on average, but its elements come irregularly, and a buffer of "
    "{limit} is too small for that",
    "memory": "the memory budget (Options.memory_limit) stops its threads {share:.0%} of the time",
    "lock": "its calls wait for each other (a lock in the function) {share:.0%} of the time",
}


def verdict_of(bottleneck: Bottleneck, seen: Evidence, rate: float, advice: list[Advice]) -> str:
    """Return a paragraph: whether the loop waits, for which stage, why, and what would help.

    Parameters
    ----------
    bottleneck : Bottleneck
        The bottleneck.
    seen : Evidence
        The measurements.
    rate : float
        Elements of the output per second.
    advice : list of Advice
        Changes that would help, the best one first.
    """
    if bottleneck.kind == "consumer":
        return consumer_verdict(seen.input_bound, rate)
    stage = next(each for each in seen.stages if each.path == bottleneck.stage)
    calls = "one call" if stage.parallelism < 2 else f"{stage.parallelism} calls"
    others = bottleneck.kind == "cpu" and bottleneck.share < MOST_OF_THEM
    reason = _REASONS["others" if others else bottleneck.kind].format(
        share=bottleneck.share, calls=calls, limit=stage.buffer_limit
    )
    what = "data"
    if seen.gil_bound > seen.input_bound / 4:
        what = "data, or for the GIL that the pipeline holds,"
    text = f"{waiting(seen.input_bound, what)} The reason is {stage}: {reason}."
    if not advice:
        return f"{text} No change of the pipeline's calls would help by more than a few percent."
    best = advice[0]
    return (
        f"{text} With {best.change} it would be about {best.rate:,.4g} elements/s instead of "
        f"{rate:,.4g} ({best.why})."
    )


def headspace_of(input_bound: float) -> float:
    """Return the speedup of the loop with an infinitely fast loader."""
    return 1 / (1 - input_bound) if input_bound < 0.999 else math.inf


def consumer_verdict(input_bound: float, rate: float) -> str:
    """Return the verdict on a loop that does not wait."""
    return (
        f"The loop waits for data {input_bound:.1%} of its time: the data is ready before the "
        f"loop needs it. The loop takes {rate:,.4g} elements/s. No change of how data is loaded "
        "would make it faster."
    )


def waiting(input_bound: float, what: str = "data") -> str:
    """Return a sentence about the share of time that a loop waits."""
    more = headspace_of(input_bound)
    if math.isinf(more):
        return "The loop does nothing but wait for data."
    times = f"{more:.2g}" if more < 10 else f"{more:,.0f}"
    return (
        f"The loop waits for {what} {input_bound:.0%} of its time: with an infinitely fast loader "
        f"it would be {times} times as fast."
    )
