"""What stages say of themselves, by their kinds; each registers it in its own C++ file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock import _core


class Traits(NamedTuple):
    """What holds for all stages of a kind; cpp/engine/registry.h says more."""

    name: str = ""  # what errors call it, where that is not its kind
    form_of: str = ""  # another kind that gives the same elements
    timing: bool = False  # it changes when elements are made, and nothing else
    keeps_sizes: bool = False  # as many elements as its input has, of the same sizes
    of_positions: bool = False  # which elements come, and in what order, depends on positions alone
    fetches: bool = False  # an element for each position that its input gives
    folds: bool = False  # its functions take a state before the element
    reads: str = ""  # the argument that names the file or folder that it reads
    format: str = ""  # what users call the format of that file, where it is one of records
    keeping: frozenset[str] = frozenset()  # arguments on where and how it keeps elements on disk
    replays: bool = False  # it gives in later passes what it has kept of the first one
    timing_arguments: frozenset[str] = frozenset()  # they change when elements are made
    share_states: frozenset[str] = frozenset()  # arguments whose values share states
    arguments: Mapping[str, str] = {}  # what those are that encode.py makes something of


_TRAITS = {kind: Traits(**traits) for kind, traits in _core.stage_traits().items()}
_FOLDING = {traits.name or kind for kind, traits in _TRAITS.items() if traits.folds}
_NONE = Traits()  # of what is no stage of the engine, as elements that were handed over


def traits_of(kind: str) -> Traits:
    """Return the traits of the stages of a kind."""
    # get() takes a lock where there is no GIL, which a fork child may find taken.
    return _TRAITS[kind] if kind in _TRAITS else _NONE  # noqa: SIM401


def main_form(kind: str) -> str:
    """Return the kind of which this one is another form, or itself."""
    return traits_of(kind).form_of or kind


def folds(stage: str) -> bool:
    """Return whether functions of a stage, by what errors call it, take a state first."""
    return stage in _FOLDING
