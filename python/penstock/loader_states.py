"""The state dicts of DataLoaders in several processes, as one."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.account import differences
from penstock.errors import StateError


def merged_loaders(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the state of all processes of a loader, for `DataLoader.load_state_dict`.

    Parameters
    ----------
    states : sequence of mapping
        Of every process, in any order.

    Raises
    ------
    StateError
        If what they had together is no beginning of the order, or they are not of one loader.
    """
    for number, state in enumerate(states):
        _check(number, state, states[0])
    shared = states[0]["shared"]
    count = shared["processes"]
    by_process = {state["process"]: state for state in states}
    if len(states) != count or set(by_process) != set(range(count)):
        raise StateError(
            f"merge_states: the states of all {count} processes were expected, each once, got "
            f"those of {', '.join(str(state.get('process')) for state in states)}"
        )
    had = [_had(by_process[process]) for process in range(count)]
    low = min(had)
    ahead = [process for process in range(count) if had[process] > low]
    rows = shared["batch_size"]
    if not ahead:
        return dict(by_process[0])
    first_ones = ahead == list(range(len(ahead))) and max(had) == low + 1 and rows == 1
    if not first_ones:
        places = [f"process {process} is at batch {had[process]}" for process in range(count)]
        raise StateError(
            f"merge_states: {', '.join(places)}; what they had together is not the beginning of "
            "the order, so it has no position: let those that are behind go on to the same step",
            places,
        )
    behind = dict(by_process[count - 1])
    order = dict(behind.get("order") or {})
    position = order.get("begin", 0) + low * count + len(ahead)
    return behind | {"batches": 0, "order": order | {"begin": min(position, shared["rows"])}}


def _had(state: Mapping[str, Any]) -> int:
    if state.get("ahead") or state.get("failed"):
        raise StateError(
            f"merge_states: process {state.get('process')} gave batches out of order, or could not "
            "read some, so it is at no position of the order"
        )
    return int(state["batches"])


def _check(number: int, state: Mapping[str, Any], first: Mapping[str, Any]) -> None:
    if "shared" not in state or "process" not in state:
        raise StateError(
            "merge_states: dicts must be of DataLoader.state_dict with a DistributedSampler, whose "
            f"order does not depend on the number of processes; state {number} is not"
        )
    if not _is_whole(state):
        raise StateError(
            f"merge_states: state {number} is damaged; use what state_dict returned unchanged"
        )
    found = [
        f"{what} {state.get(what)!r}, not {first.get(what)!r}"
        for what in ("penstock", "shared", "drop_last")
        if state.get(what) != first.get(what)
    ]
    found += differences(state["account"], first["account"])
    begins = [_of_pass(each) for each in (state, first)]
    if begins[0] != begins[1]:
        found.append(f"another pass ({begins[0]}, not {begins[1]})")
    if found:
        text = f"merge_states: state {number} is not of the same loader as state 0"
        raise StateError(f"{text}: {'; '.join(found)}", found)


def _is_whole(state: Mapping[str, Any]) -> bool:
    """Return whether a state has what is read here; it may come from a file that anyone wrote."""
    shared, order = state["shared"], state.get("order") or {}
    if not isinstance(shared, Mapping) or not isinstance(order, Mapping):
        return False
    found = [shared.get(name) for name in ("processes", "batch_size", "rows")]
    found += [state["process"], state.get("batches"), order.get("begin", 0)]
    samplers = order.get("samplers", ())
    return (
        isinstance(state.get("account"), bytes)
        and all(isinstance(number, numbers.Integral) for number in found)
        and isinstance(samplers, Sequence)
        and all(isinstance(each, Mapping) for each in samplers)
    )


def _of_pass(state: Mapping[str, Any]) -> str:
    """Return which pass a loader is in, and from where on, in words."""
    order = state.get("order") or {}
    epochs = [each["epoch"] for each in order.get("samplers", ()) if "epoch" in each]
    return f"epochs {epochs} of the samplers, from element {order.get('begin', 0)} on"
