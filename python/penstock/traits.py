"""Static properties of each kind of stage, as registered in the C++ file of the stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock import _core


class Traits(NamedTuple):
    """Properties of all stages of a kind; see cpp/engine/registry.h for details."""

    name: str = ""  # the name in errors, if it is not the kind
    form_of: str = ""  # another kind that yields the same elements
    timing: bool = False  # it affects only when elements are produced
    keeps_sizes: bool = False  # same number and sizes of elements as its input
    of_positions: bool = False  # it selects and orders elements by their positions alone
    fetches: bool = False  # it yields an element for each position from its input
    folds: bool = False  # its functions take a state before the element
    reads: str = ""  # the argument that names the file or folder to read
    format: str = ""  # the public name of that file's format, for records
    keeping: frozenset[str] = frozenset()  # arguments about where and how to keep elements on disk
    replays: bool = False  # later epochs yield the elements that it kept from the first one
    timing_arguments: frozenset[str] = frozenset()  # they affect only when elements are produced
    share_states: frozenset[str] = frozenset()  # arguments that states do not depend on
    arguments: Mapping[str, str] = {}  # forms of the arguments that encode.py converts


_TRAITS = {kind: Traits(**traits) for kind, traits in _core.stage_traits().items()}
_FOLDING = {traits.name or kind for kind, traits in _TRAITS.items() if traits.folds}
_NONE = Traits()  # for kinds that are not engine stages, such as ELEMENTS


def traits_of(kind: str) -> Traits:
    """Return the traits of the stages of a kind."""
    # get() acquires a lock without a GIL, and after a fork that lock may be held forever.
    return _TRAITS[kind] if kind in _TRAITS else _NONE  # noqa: SIM401


def main_form(kind: str) -> str:
    """Return the kind that this one is a form of, or the kind itself."""
    return traits_of(kind).form_of or kind


def folds(stage: str) -> bool:
    """Return whether functions of a stage, by its name in errors, take a state first."""
    return stage in _FOLDING
