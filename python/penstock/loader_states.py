"""State dicts of DataLoaders: checksums, and merging states of several processes."""

from __future__ import annotations

import base64
import struct
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.account import differences
from penstock.errors import StateError

CHECKSUM = "checksum"


def signed(state: Mapping[str, Any]) -> dict[str, Any]:
    """Add a checksum to a state; it survives saving as JSON or pickle."""
    return {**state, CHECKSUM: _sum_of(state)}


def is_whole(state: Mapping[str, Any]) -> bool:
    """Return whether the checksum of a state is correct."""
    return state.get(CHECKSUM) == _sum_of(state)


def merged_loaders(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the states of all processes of a loader, for `DataLoader.load_state_dict`.

    Parameters
    ----------
    states : sequence of mapping
        The states of all processes, in any order.

    Raises
    ------
    StateError
        If the delivered batches together are not a prefix of the order, or the states belong to
        different loaders.
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
    return signed(
        behind | {"batches": 0, "order": order | {"begin": min(position, shared["rows"])}}
    )


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
    if not is_whole(state):
        raise StateError(
            f"merge_states: state {number} is damaged; use what state_dict returned unchanged"
        )
    found = [
        f"{what} {state.get(what)!r}, not {first.get(what)!r}"
        for what in ("penstock", "shared", "drop_last")
        if state.get(what) != first.get(what)
    ]
    found += differences(*(base64.b85decode(each["account"]) for each in (state, first)))
    begins = [_of_pass(each) for each in (state, first)]
    if begins[0] != begins[1]:
        found.append(f"another pass ({begins[0]}, not {begins[1]})")
    if found:
        text = f"merge_states: state {number} is not of the same loader as state 0"
        raise StateError(f"{text}: {'; '.join(found)}", found)


def _of_pass(state: Mapping[str, Any]) -> str:
    """Describe the epoch that a loader is in, and where it began."""
    order = state.get("order") or {}
    epochs = [each["epoch"] for each in order.get("samplers", ()) if "epoch" in each]
    return f"epochs {epochs} of the samplers, from element {order.get('begin', 0)} on"


def _sum_of(state: Mapping[str, Any]) -> int:
    found = 0
    for part in _parts({name: value for name, value in state.items() if name != CHECKSUM}):
        found = zlib.crc32(part, found)
    return found


def _parts(value: Any) -> Iterator[bytes]:
    """Yield a value as bytes: numbers, text and arrays by content, other objects by type."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        plain = value.layout == torch.strided and not value.is_quantized
        value = value.detach().cpu().tolist() if plain else value.shape
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        # JSON converts all keys to strings.
        items = sorted(((str(key), part) for key, part in value.items()), key=lambda item: item[0])
        yield b"{%d" % len(items)
        for key, part in items:
            yield from _text(key)
            yield from _parts(part)
    elif isinstance(value, (list, tuple)):
        yield b"[%d" % len(value)
        for part in value:
            yield from _parts(part)
    elif isinstance(value, str):
        yield from _text(value)
    elif isinstance(value, (bytes, bytearray)):
        yield b"b%d:" % len(value)
        yield bytes(value)
    elif isinstance(value, float):
        yield b"f" + struct.pack("<d", value)
    elif value is None or isinstance(value, int):
        yield f"{int(value) if value is not None else 'n'};".encode()
    else:
        yield from _text(type(value).__qualname__)


def _text(text: str) -> Iterator[bytes]:
    data = text.encode("utf-8", "surrogatepass")
    yield b"s%d:" % len(data)
    yield data
