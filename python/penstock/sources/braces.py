"""Brace expansion in file names, as in a shell."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

_NUMBERS = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?")

_MOST_NAMES = 1_000_000


def expanded(stage: str, pattern: str) -> list[str]:
    """Return the names that a pattern expands to.

    Parameters
    ----------
    stage : str
        The name to use in errors.
    pattern : str
        A name with ``{000..099}`` (numbers or letters, optionally with a step: ``{0..9..3}``) and
        ``{train,val}``, also nested. Other braces are literal.

    Raises
    ------
    ValueError
        If a brace is not closed, or was not opened.
    """
    depth = 0
    for character in pattern:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            break
    if depth != 0:
        raise ValueError(
            f"{stage}: braces that are opened and closed were expected, got {pattern!r}; a name "
            "that is meant as it is can be given as a pathlib.Path"
        )
    names = list(itertools.islice(_names(pattern), _MOST_NAMES + 1))
    if len(names) > _MOST_NAMES:
        raise ValueError(f"{stage}: {pattern!r} stands for more than {_MOST_NAMES:,} names")
    return names


def _names(pattern: str) -> Iterator[str]:
    begin = pattern.find("{")
    if begin < 0:
        yield pattern
        return
    end, commas = _group(pattern, begin)
    rests = list(_names(pattern[end + 1 :]))
    for choice in _choices(pattern, begin, end, commas):
        for rest in rests:
            yield pattern[:begin] + choice + rest


def _group(pattern: str, begin: int) -> tuple[int, list[int]]:
    """Return the end of a group, and the positions of its top-level commas."""
    depth, commas = 0, []
    for at in range(begin, len(pattern)):
        depth += (pattern[at] == "{") - (pattern[at] == "}")
        if depth == 0:
            break
        if depth == 1 and pattern[at] == ",":
            commas.append(at)
    return at, commas


def _choices(pattern: str, begin: int, end: int, commas: list[int]) -> Iterator[str]:
    if commas:
        for before, after in zip([begin, *commas], [*commas, end], strict=True):
            yield from _names(pattern[before + 1 : after])
        return
    inside = pattern[begin + 1 : end]
    if found := _NUMBERS.fullmatch(inside):
        first, last, step = found.groups()
        padded = any(re.match("-?0[0-9]", each) for each in (first, last))
        width = max(len(first), len(last)) if padded else 0
        for number in _between(int(first), int(last), step):
            yield f"{number:0{width}d}"
    elif found := _LETTERS.fullmatch(inside):
        first, last, step = found.groups()
        yield from map(chr, _between(ord(first), ord(last), step))
    else:
        yield from (f"{{{name}}}" for name in _names(inside))


def _between(first: int, last: int, step: str | None) -> range:
    by = abs(int(step or 1)) or 1
    return range(first, last + 1, by) if first <= last else range(first, last - 1, -by)
