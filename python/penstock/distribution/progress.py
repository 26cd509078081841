"""How far a consumer is: all elements up to a position, and ranges after it."""

from __future__ import annotations

import struct

from penstock.distribution.leases import Range

_MARK = b"PSLEASES"
_COUNT = struct.Struct("<I")
_RANGE = struct.Struct("<qq")


class Progress:
    """What has been delivered, and the state of the pipeline after the first unbroken part of it.

    Parameters
    ----------
    state : bytes
        Of the pipeline where this begins; positions are counted from there.
    done : list of (first, last)
        Ranges that were delivered before.
    """

    def __init__(self, state: bytes, done: list[Range]) -> None:
        self.position = 0
        self.state = state
        self._after: dict[int, tuple[int, bytes]] = {}  # ranges by their beginnings
        self._done_before = sorted(done)

    def deliver(self, first: int, position: int, state: bytes) -> None:
        """Note an element of the lease that begins at `first`; `state` is that after it."""
        begins = position if position == self.position else first
        self._after[begins] = position + 1, state
        self._absorb()

    def ranges(self) -> list[Range]:
        """Return what was delivered after the position, from there."""
        found = [(first, last) for first, (last, _) in self._after.items()] + self._done_before
        return sorted(
            (first - self.position, last - self.position)
            for first, last in found
            if last > self.position
        )

    def saved(self) -> bytes:
        """Return all as bytes: the state of the pipeline itself, where there are no ranges."""
        ranges = self.ranges()
        if not ranges:
            return self.state
        packed = b"".join(_RANGE.pack(*each) for each in ranges)
        return _MARK + _COUNT.pack(len(ranges)) + packed + self.state

    def _absorb(self) -> None:
        passed = dict(self._done_before)
        while (found := self._after.pop(self._next(passed), None)) is not None:
            self.position, self.state = found

    def _next(self, passed: dict[int, int]) -> int:
        """Return where the first element after the position is that is not in a former range."""
        position = self.position
        while position in passed:
            position = passed[position]
        return position


def opened(saved: bytes) -> tuple[bytes, list[Range]]:
    """Return the state and the ranges of `Progress.saved`."""
    if not saved.startswith(_MARK):
        return saved, []
    at = len(_MARK) + _COUNT.size
    try:
        (count,) = _COUNT.unpack_from(saved, len(_MARK))
        end = at + count * _RANGE.size
        ranges = list(_RANGE.iter_unpack(saved[at:end]))
    except struct.error:
        ranges, end, count = [], 0, -1
    if len(ranges) != count or any(not 0 <= first < last for first, last in ranges):
        raise ValueError("set_state: the state is damaged: its ranges are no ranges")
    return saved[end:], ranges
