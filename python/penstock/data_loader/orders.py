"""The order in which an epoch fetches indices, and how a later epoch repeats it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock import random
from penstock.data_loader import torch_rules
from penstock.data_loader.replicas import indices_from, shared_by
from penstock.data_loader.samplers import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    items_of,
)
from penstock.data_loader.settings import Settings

# For each batch: its number, the input of the fetch, the dataset's state after it.
Input = tuple[int, Any, Any]
Inputs = Iterator[Input]

_OF_WORKERS = 1  # derives a second seed, for the workers, from that of an order

# Follows the last batch. A generator that an interruption ended yields none.
END: Input = (-1, None, None)

_Indices = npt.NDArray[np.int64] | range


class Failed:
    """An error in place of an input."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class KnownOrder:
    """Indices of an epoch, all known when it begins.

    Parameters
    ----------
    indices : numpy.ndarray or range
        The indices, in order.
    batch_size : int or None
        Number of indices in a batch. None: each index is fetched individually.
    drop_last : bool
        Whether to drop an incomplete last batch.
    state : dict
        The state from which `begin` restores this order.
    last : torch.Generator, optional
        The generator from which PyTorch's sampler draws another permutation after its last index.
    """

    def __init__(
        self,
        indices: _Indices,
        batch_size: int | None,
        drop_last: bool,
        state: dict[str, Any],
        last: Any = None,
    ) -> None:
        self.state = state
        self._indices = indices
        self._size = batch_size
        self._last = last
        size = batch_size or 1
        self._count = len(indices) // size if drop_last else -(-len(indices) // size)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> _Indices | int:
        if self._size is None:
            return int(self._indices[number])
        return self._indices[number * self._size : (number + 1) * self._size]

    def finish(self) -> None:
        """Make the draws that follow the last batch."""
        if self._last is not None:
            torch_rules.torch().randperm(len(self._indices), generator=self._last)


class DrawnOrder:
    """The items of a custom sampler, drawn one at a time."""

    def __init__(self, items: Iterator[Any], state: dict[str, Any]) -> None:
        self.state = state
        self._items = items

    def inputs(self, start: int, without: Collection[int]) -> Inputs:
        """Yield the inputs from item `start` on, then END; earlier items are already drawn."""
        for number in itertools.count(start):
            try:
                item = next(self._items)
            except StopIteration:
                yield END
                return
            except Exception as error:
                item = Failed(error)
            if number not in without:
                yield number, item, None

    def finish(self) -> None:
        """Do nothing: no draws follow the last item."""


class _Batching(NamedTuple):
    """A sampler of indices, and its batching."""

    sampler: Any
    batch_size: int | None
    drop_last: bool


def begin(loader: Settings, saved: Mapping[str, Any] | None, start: int, goes_on: bool) -> Any:
    """Return the order of a new epoch.

    Parameters
    ----------
    loader : Settings
        The loader of a map-style dataset.
    saved : mapping, optional
        The ``state`` of an earlier order to repeat.
    start : int
        Number of batches to skip.
    goes_on : bool
        Whether the epoch is resumed. Its initial draws from generators that were not restored are
        then not repeated.

    Returns
    -------
    KnownOrder or DrawnOrder
        The order. A DrawnOrder is positioned after the first `start` items.
    """
    samplers = _chain(loader)
    with loader._draws.used():
        for sampler, state in zip(samplers, (saved or {}).get("samplers", ()), strict=False):
            _restore(sampler, state)
        state = {"samplers": samplers_state(loader)}
        batching = _batching(loader)
        if batching is not None:
            known = _known(loader, batching, saved or {}, state, goes_on)
            if known is not None:
                return known
        return _drawn(loader, saved or {}, state, start, goes_on)


def begin_reading(loader: Settings, goes_on: bool) -> int | None:
    """Make the initial draws of an epoch of an iterable dataset; see `draw_base_seed`."""
    with loader._draws.used():
        drawn = draw_base_seed(loader, goes_on)
    loader._draws.passes += loader.persistent_workers
    loader._draws.keep(drawn, loader.persistent_workers)
    return drawn


def samplers_state(loader: Settings) -> list[dict[str, Any]]:
    """Return the state that determines the samplers' next epoch, where they expose it."""
    return [_captured(sampler) for sampler in _chain(loader)]


def shared_order(loader: Settings) -> dict[str, int] | None:
    """Return how a loader's order is divided among processes; None if it is not shared."""
    batching = None if loader._iterable else _batching(loader)
    return None if batching is None else shared_by(batching.sampler, batching.batch_size)


def rank_in(loader: Settings) -> int:
    """Return this process's rank among those that share the loader's order."""
    batching = _batching(loader)
    assert batching is not None
    return int(batching.sampler.rank)


def restore_epochs(loader: Settings, saved: Mapping[str, Any]) -> None:
    """Set the samplers' epochs immediately, so that a later call by the program has priority."""
    states = (saved.get("order") or {}).get("samplers", ())
    for sampler, state in zip(_chain(loader), states, strict=False):
        if "epoch" in state:
            sampler.set_epoch(state["epoch"])


def draw_base_seed(loader: Settings, goes_on: bool) -> int | None:
    """Make the draw that PyTorch's loader makes at the start of an epoch.

    It keeps later draws the same as in PyTorch. Returns None if PyTorch's loader would draw
    nothing, or already drew when the resumed epoch first began. Persistent workers keep the seed of
    their first epoch.
    """
    if not loader._follows_torch:
        return None
    if loader._draws.base_seed is not None:
        return loader._draws.base_seed
    given = loader.generator if torch_rules.is_generator(loader.generator) else None
    restored = given is not None and any(
        getattr(sampler, "generator", None) is given for sampler in _chain(loader)
    )
    return torch_rules.random_integer(given) if restored or not goes_on else None


def base_seed_of(
    drawn: int | None, saved: Mapping[str, Any], state: Mapping[str, Any] | None = None
) -> int:
    """Return the seed from which the seeds of worker processes derive.

    Parameters
    ----------
    drawn : int or None
        The result of `draw_base_seed`.
    saved : mapping
        State of the resumed epoch.
    state : mapping, optional
        State of the order. If it has a seed, the result derives from it, so that no more numbers
        are drawn than with threads.
    """
    if "base_seed" in saved:
        return int(saved["base_seed"])
    if drawn is not None:
        return drawn
    if state is not None and "seed" in state:
        pair = np.random.SeedSequence((state["seed"], _OF_WORKERS))
        return int(pair.generate_state(1, np.uint64)[0] >> 1)
    return int(random.uniform((), 0, 2**63 - 1, np.int64))


def _known(
    loader: Settings,
    batching: _Batching,
    saved: Mapping[str, Any],
    state: dict[str, Any],
    goes_on: bool,
) -> KnownOrder | None:
    sampler, batch_size, drop_last = batching
    indices: _Indices
    last = None
    if type(sampler) is SequentialSampler or torch_rules.is_exactly("SequentialSampler", sampler):
        base_seed = draw_base_seed(loader, goes_on)
        indices = range(len(sampler.data_source))
    elif type(sampler) is RandomSampler:
        base_seed = draw_base_seed(loader, goes_on)
        state["seed"] = sampler.draw(saved.get("seed"))
        indices = sampler.permutation(state["seed"])
    elif (
        torch_rules.is_exactly("RandomSampler", sampler)
        and not sampler.replacement
        and getattr(sampler, "_num_samples", 0) is None
    ):
        base_seed = draw_base_seed(loader, goes_on)
        torch = torch_rules.torch()
        last = generator = sampler.generator
        if generator is None:
            state["seed"] = saved["seed"] if "seed" in saved else torch_rules.random_integer()
            generator = torch.Generator()
            generator.manual_seed(state["seed"])
        indices = torch.randperm(len(sampler.data_source), generator=generator).numpy()
    elif saved.get("begin") is not None and shared_by(sampler, batch_size) is not None:
        base_seed = draw_base_seed(loader, goes_on)
        state["begin"] = saved["begin"]
        indices = indices_from(sampler, saved["begin"])
    else:
        return None
    _note_base_seed(loader, base_seed, saved, state)
    return KnownOrder(indices, batch_size, drop_last, state, last)


def _drawn(
    loader: Settings,
    saved: Mapping[str, Any],
    state: dict[str, Any],
    start: int,
    goes_on: bool,
) -> DrawnOrder:
    present = torch_rules.random_state()
    state["random"] = saved.get("random", present)
    # Samplers that use PyTorch's global generator repeat their original draws.
    repeats = state["random"] is not None and present is not None and "random" in saved
    if repeats:
        torch_rules.set_state_of(torch_rules.torch().default_generator, state["random"])
    try:
        batching = _batching(loader)
        batches = loader._index_sampler
        if batching is not None and batching.batch_size is not None:
            # PyTorch's DataLoader calls iter() on the sampler's iterator again.
            batches = BatchSampler(batching.sampler, batching.batch_size, batching.drop_last)
        items = items_of(iter(batches))
        # The global generator was reset to its earlier state, so the seed is drawn from it again.
        base_seed = draw_base_seed(loader, goes_on and torch_rules.is_generator(loader.generator))
        # Draw the first item here, in this thread, before anything else draws.
        ready = list(itertools.islice(items, start, start + 1))
    finally:
        if repeats:
            torch_rules.set_state_of(torch_rules.torch().default_generator, present or "")
    _note_base_seed(loader, base_seed, saved, state)
    return DrawnOrder(itertools.chain(ready, items), state)


def _note_base_seed(
    loader: Settings, drawn: int | None, saved: Mapping[str, Any], state: dict[str, Any]
) -> None:
    if loader._in_processes:
        state["base_seed"] = base_seed_of(drawn, saved, state)
    elif loader.num_workers and (drawn is not None or "base_seed" in saved):
        state["base_seed"] = saved.get("base_seed", drawn)
    loader._draws.keep(state.get("base_seed"), loader.persistent_workers)


def _batching(loader: Settings) -> _Batching | None:
    batches = loader.batch_sampler
    if batches is None:
        return _Batching(loader.sampler, None, False)
    if type(batches) is BatchSampler or torch_rules.is_exactly("BatchSampler", batches):
        return _Batching(batches.sampler, batches.batch_size, batches.drop_last)
    return None


def _chain(loader: Settings) -> list[Any]:
    """Return the samplers, starting with the outermost one."""
    chain: list[Any] = []
    sampler: Any = loader._index_sampler
    while isinstance(sampler, Iterable) and not any(sampler is other for other in chain):
        chain.append(sampler)
        sampler = getattr(sampler, "sampler", None)
    return chain


def _captured(sampler: Any) -> dict[str, Any]:
    state: dict[str, Any] = {}
    if hasattr(sampler, "state_dict") and hasattr(sampler, "load_state_dict"):
        # Copy it: some samplers return an object that they keep modifying.
        state["state"] = copy.deepcopy(sampler.state_dict())
    if hasattr(sampler, "set_epoch") and hasattr(sampler, "epoch"):
        state["epoch"] = sampler.epoch
    generator = getattr(sampler, "generator", None)
    if torch_rules.is_generator(generator):
        state["generator"] = torch_rules.state_of(generator)
    return state


def _restore(sampler: Any, state: Mapping[str, Any]) -> None:
    if "state" in state:
        epoch = getattr(sampler, "epoch", None)
        sampler.load_state_dict(copy.deepcopy(state["state"]))
        if "epoch" in state and sampler.epoch != epoch:
            sampler.set_epoch(epoch)  # see restore_epochs
    if "generator" in state:
        torch_rules.set_state_of(sampler.generator, state["generator"])
