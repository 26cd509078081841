"""From a batch of indices to a batch of data."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from penstock import _core
from penstock.data_loader import torch_collate, torch_rules
from penstock.data_loader.collate import default_collate
from penstock.data_loader.in_memory import gather_of
from penstock.data_loader.orders import END, Failed, Inputs
from penstock.data_loader.settings import Settings
from penstock.errors import StateError

Fetch = Callable[[Any], Any]

_MOST_SHOWN = 16  # indices in a note
_MOST_TEXTS = 4  # samples in it


def fetch_of(loader: Settings) -> Fetch:
    """Return what makes a batch of indices of a map-style dataset, or of samples of an iterable."""
    if loader._iterable:
        default = loader.collate_fn is getattr(torch_rules.data(), "default_collate", None)
        collate = torch_collate.collate if default else loader.collate_fn
        return _Samples(collate, single=loader.batch_size is None)
    if loader.batch_sampler is None:
        return _Single(loader.dataset, loader.collate_fn)
    collate = loader.collate_fn
    of_torch = collate is getattr(torch_rules.data(), "default_collate", None)
    if of_torch or collate is default_collate:
        gather = gather_of(loader.dataset, tensors=of_torch)
        if gather is not None:
            return gather
    return _Rows(loader.dataset, torch_collate.collate if of_torch else collate)


class _Single:
    """One sample, as batch_size=None has it."""

    def __init__(self, dataset: Any, convert: Fetch) -> None:
        self._dataset = dataset
        self._convert = convert

    def __call__(self, index: Any) -> Any:
        try:
            sample = self._dataset[index]
        except Exception as error:
            _name(error, f"dataset[{index!r}]")
            raise
        try:
            return self._convert(sample)
        except Exception as error:
            _note(error, f"DataLoader: in what is made of dataset[{index!r}]{_texts([sample])}")
            raise


class _Rows:
    """The samples of a batch, fetched one by one or all at once, and collated."""

    def __init__(self, dataset: Any, collate: Fetch) -> None:
        self._dataset = dataset
        self._collate = collate
        self._many: Any = getattr(dataset, "__getitems__", None)

    def __call__(self, indices: Any) -> Any:
        if isinstance(indices, np.ndarray):
            indices = indices.tolist()
        elif type(indices) is range:
            indices = list(indices)
        samples = self._together(indices) if self._many else self._in_turn(indices)
        try:
            return self._collate(samples)
        except Exception as error:
            place = f"dataset[i] for i in {shown(indices)}"
            _note(error, f"DataLoader: in the batch of {place}{_texts(samples)}")
            raise

    def _in_turn(self, indices: Any) -> list[Any]:
        dataset = self._dataset
        samples: list[Any] = []
        add = samples.append
        index = None
        try:
            for index in indices:
                add(dataset[index])
        except Exception as error:
            _name(error, f"dataset[{index!r}]")
            raise
        return samples

    def _together(self, indices: Any) -> Any:
        try:
            return self._many(indices)
        except Exception as error:
            _name(error, f"dataset.__getitems__({shown(indices)})")
            raise


class _Samples:
    """The samples of an iterable dataset, collated; a `single` one, converted."""

    def __init__(self, collate: Fetch, single: bool) -> None:
        self._collate = collate
        self._single = single

    def __call__(self, samples: Any) -> Any:
        try:
            return self._collate(samples)
        except Exception as error:
            batch = [samples] if self._single else samples
            place = (
                "what is made of a sample" if self._single else f"a batch of {len(batch)} samples"
            )
            _note(error, f"DataLoader: in {place}{_texts(batch)}")
            raise


def samples_of(
    loader: Settings, start: int, without: Collection[int], failed: Collection[int], state: Any
) -> Inputs:
    """Yield the samples of each batch of an iterable dataset.

    Parameters
    ----------
    loader : Settings
        Over an iterable dataset.
    start : int
        The number of the first batch that is wanted.
    without : collection of int
        Numbers of batches after it that are not.
    failed : collection of int
        Numbers of those not wanted that were errors.
    state : dict
        What was yielded with batch ``start - 1``, or None.

    Yields
    ------
    tuple
        The batch's number, its samples or the error of reading them, and the dataset's state
        after them (None if it has none); END after the last batch.
    """
    size = loader.batch_size
    samples, restored = _opened(loader.dataset, state)
    # An iterator that is at its end after an error has been ended by it.
    last: Exception | None = None
    for number in () if restored else range(start):
        last = None
        try:
            for _ in itertools.islice(samples, size or 1):
                pass
        except Exception as error:
            if number not in failed:
                raise
            last = error
    for number in itertools.count(start):
        what: Any
        try:
            what = list(itertools.islice(samples, size or 1))
        except Exception as error:
            what = Failed(error)
        else:
            if not what and last is not None:
                raise last
            if not what or (size is not None and loader.drop_last and len(what) < size):
                yield END
                return
            what = what if size is not None else what[0]
        last = None
        if number not in without:
            yield number, what, _kept(loader.dataset, samples)


def _opened(dataset: Any, state: Any) -> tuple[Iterator[Any], bool]:
    """Return the iterator of a dataset, and whether it stands where `_kept` gave the state."""
    if "workers" in (state or {}):
        count = len(state["workers"])
        raise StateError(
            "DataLoader: a state of one reader of the dataset was expected, got one of "
            f"{count} worker processes; give worker_method='process' and num_workers={count}",
            [f"DataLoader: threads, the state has {count} worker processes"],
        )
    keeper = (state or {}).get("of")
    if keeper == "dataset" and _keeps_state(dataset):
        return _resumed(dataset, copy.deepcopy(state["state"])), True
    samples = iter(dataset)
    if keeper == "iterator" and _keeps_state(samples):
        samples.load_state_dict(copy.deepcopy(state["state"]))
        return samples, True
    return samples, False


def _resumed(dataset: Any, state: Any) -> Iterator[Any]:
    """Yield the samples after a state; the passes after this one are whole again.

    A stream of Hugging Face keeps the state that it was given, and begins every pass of the same
    epoch there. It reads that state when the first sample is asked for.
    """
    dataset.load_state_dict(state)
    samples = iter(dataset)
    while True:
        sample = next(samples, END)
        if getattr(dataset, "_starting_state_dict", None) is state:
            dataset._starting_state_dict = None
        if sample is END:
            return
        yield sample


def _kept(dataset: Any, samples: Iterator[Any]) -> dict[str, Any] | None:
    # A copy: some give what they go on changing.
    if _keeps_state(samples):
        return {"of": "iterator", "state": copy.deepcopy(samples.state_dict())}  # type: ignore[attr-defined]
    if _keeps_state(dataset):
        return {"of": "dataset", "state": copy.deepcopy(dataset.state_dict())}
    return None


def _keeps_state(thing: Any) -> bool:
    return hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")


def shown(indices: Any) -> str:
    """Return the first indices of a batch, for an error."""
    first = [*itertools.islice(indices, _MOST_SHOWN + 1)]
    more = ", ..." if len(first) > _MOST_SHOWN else ""
    return f"[{', '.join(map(repr, first[:_MOST_SHOWN]))}{more}]"


def _texts(samples: Any) -> str:
    """Return the first samples shortly: the strings in them, where there are any."""
    try:
        texts = [_core.element_text(sample) for sample in samples[:_MOST_TEXTS]]
        more = ", ..." if len(samples) > _MOST_TEXTS else ""
    except Exception:  # it is no list, or of what no element can be made
        return ""
    return f": {', '.join(texts)}{more}" if all(texts) and texts else ""


def _name(error: Exception, where: str) -> None:
    if isinstance(error, StopIteration):
        # As itself it would end the pass without a word.
        raise RuntimeError(f"DataLoader: {where} raised StopIteration") from error
    _note(error, f"DataLoader: raised by {where}")


def _note(error: Exception, text: str) -> None:
    if text not in getattr(error, "__notes__", ()):  # a dataset may raise one object again
        error.add_note(text)
