"""What stages mean, in plain Python over lists: the other side of the random tests."""

import itertools


def interleave(lists, cycle, block):
    """Visit slots in turn; an exhausted one passes the turn on, and is refilled when visited."""
    source = iter(lists)
    slots = [None] * cycle
    at = closed = 0
    while closed < cycle:
        if slots[at] is None and (items := next(source, None)) is not None:
            slots[at] = iter(items)
        if slots[at] is None:
            closed += 1
        else:
            closed = 0
            taken = list(itertools.islice(slots[at], block))
            yield from taken
            if len(taken) < block:  # the end was met
                slots[at] = None
        at = (at + 1) % cycle


def batch(items, size, drop_remainder=False):
    """Cut into lists of `size`."""
    items = iter(items)
    while rows := list(itertools.islice(items, size)):
        if len(rows) == size or not drop_remainder:
            yield rows
