"""Fetch the samples of a batch and collate them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from penstock import _core
from penstock.data_loader import torch_collate, torch_rules
from penstock.data_loader.collate import default_collate
from penstock.data_loader.in_memory import gather_of
from penstock.data_loader.orders import END, Failed, Inputs
from penstock.data_loader.position import kept
from penstock.data_loader.samplers import items_of
from penstock.data_loader.settings import Settings
from penstock.data_loader.worker_info import get_worker_info
from penstock.errors import StateError
from penstock.stream_states import keeps_state, restore, state_of

Fetch = Callable[[Any], Any]

_MOST_SHOWN = 16  # indices in a note
_MOST_TEXTS = 4  # samples in it


def fetch_of(loader: Settings) -> Fetch:
    """Return the function that makes a batch from indices, or from samples if iterable."""
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
    """Fetch a single sample, for ``batch_size=None``."""

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
    """Fetch the samples of a batch individually or in one call, and collate them."""

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
    """Collate the samples of an iterable dataset, or convert an unbatched one."""

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


class Reading:
    """Read an iterable dataset from start to end; `open` calls `iter` once.

    Parameters
    ----------
    loader : Settings
        The loader of an iterable dataset.
    start : int
        Number of the first batch to read.
    without : collection of int
        Numbers of later batches to skip.
    failed : collection of int
        Numbers of skipped batches that were errors.
    state : mapping, optional
        The result of `state` after batch ``start - 1``, or after the end of the previous epoch.
    goes_on : bool
        Whether the state is from the middle of an epoch.
    """

    def __init__(
        self,
        loader: Settings,
        start: int = 0,
        without: Collection[int] = (),
        failed: Collection[int] = (),
        state: Mapping[str, Any] | None = None,
        goes_on: bool = True,
    ) -> None:
        if "workers" in (state or {}):
            raise of_processes(len(state["workers"]))  # type: ignore[index]
        self._dataset = loader.dataset
        self._size = loader.batch_size
        self._drop_last = loader.drop_last
        self._start = start
        self._without = without
        self._failed = failed
        self._saved = state or {}
        self._goes_on = goes_on
        self._restored = False
        self.iterator: Any = None
        self._ended = False

    def restore_ended(self) -> None:
        """Restore the dataset's state after the end of the previous epoch; `open` does so, too.

        A caller that draws from a global generator before `open` calls this first, because the
        state may include that generator.
        """
        if self._goes_on:
            return
        saved, self._saved = self._saved, {}
        own = saved.get("dataset_state")
        if own is None:
            # If the dataset was its own iterator, the iterator's state is the dataset's after the
            # end.
            own = (saved.get("fetcher_state") or {}).get("dataset_iter_state")
        if own is not None:
            self._restored = restore(self._dataset, own)

    def open(self, passes: int = 0) -> Reading:
        """Restore the states, in torchdata's order: the dataset, `iter`, the iterator.

        Parameters
        ----------
        passes : int
            Number of epochs that this worker began earlier; it changes the order of data pipes.
        """
        self.restore_ended()
        dataset = self._dataset
        info = get_worker_info()
        if info is None:
            torch_rules.divide_pipe(dataset, 0, 1, None)
        else:
            torch_rules.divide_pipe(
                dataset, info.id, info.num_workers, info.seed - info.id + passes
            )
        own = self._saved.get("dataset_state")
        of_iterator = (self._saved.get("fetcher_state") or {}).get("dataset_iter_state")
        if own is not None and restore(dataset, own):
            self._restored = True
        self.iterator = iter(dataset)
        if self._goes_on and keeps_state(self.iterator):
            self._restored = of_iterator is not None and restore(self.iterator, of_iterator)
        return self

    def state(self) -> dict[str, Any]:
        """Return the states of the dataset and of its iterator, if they have one."""
        iterator = self.iterator
        own = None if iterator is self._dataset else state_of(self._dataset)
        found = kept(own, state_of(iterator), iterates=True)
        found["fetcher_state"]["fetcher_ended"] = self._ended
        return found

    def inputs(self) -> Inputs:
        """Yield the samples of each batch.

        Yields
        ------
        tuple
            The batch's number, its samples or the error raised by reading them, and the state after
            them; END after the last batch.
        """
        size = self._size
        samples = items_of(self.iterator)
        # If the iterator is exhausted right after an error, the error ended it.
        last: Exception | None = None
        for number in () if self._restored else range(self._start):
            last = None
            try:
                if not self._ended:
                    self._note(sum(1 for _ in itertools.islice(samples, size or 1)))
            except Exception as error:
                if number not in self._failed:
                    raise
                last = error
        for number in itertools.count(self._start):
            what: Any
            try:
                # Never call next() on an exhausted iterator again: some restart from the beginning.
                what = [] if self._ended else list(itertools.islice(samples, size or 1))
                if not what and number == 0 and self._restored and not self._goes_on:
                    # The restored state was saved at the end of an iterator, so no samples remain.
                    # The uninterrupted program would begin the next epoch here.
                    self._restored = False
                    self.iterator = iter(self._dataset)
                    samples = items_of(self.iterator)
                    what = list(itertools.islice(samples, size or 1))
            except Exception as error:
                what = Failed(error)
            else:
                self._note(len(what))
                if not what and last is not None:
                    raise last
                if not what or (size is not None and self._drop_last and len(what) < size):
                    yield END
                    return
                what = what if size is not None else what[0]
            last = None
            if number not in self._without:
                yield number, what, self.state()

    def _note(self, count: int) -> None:
        self._ended = self._ended or count < (self._size or 1)
        # A Hugging Face stream keeps the loaded state and would start each later epoch there. It
        # has read that state when the first sample arrives.
        if self._restored and getattr(self._dataset, "_starting_state_dict", None) is not None:
            self._dataset._starting_state_dict = None


def of_processes(count: int) -> StateError:
    """Return the error for a state of worker processes that a single reader cannot restore."""
    return StateError(
        "DataLoader: a state of a single copy of the dataset was expected, got a state of "
        f"{count} worker processes; pass worker_method='process' and num_workers={count}",
        [f"DataLoader: threads, the state has {count} worker processes"],
    )


def shown(indices: Any) -> str:
    """Return the first indices of a batch as text, for an error message."""
    first = [*itertools.islice(indices, _MOST_SHOWN + 1)]
    more = ", ..." if len(first) > _MOST_SHOWN else ""
    return f"[{', '.join(map(repr, first[:_MOST_SHOWN]))}{more}]"


def _texts(samples: Any) -> str:
    """Return the strings in the first samples, shortened for an error message."""
    try:
        texts = [_core.element_text(sample) for sample in samples[:_MOST_TEXTS]]
        more = ", ..." if len(samples) > _MOST_TEXTS else ""
    except Exception:  # not a list, or not convertible to an element
        return ""
    return f": {', '.join(texts)}{more}" if all(texts) and texts else ""


def _name(error: Exception, where: str) -> None:
    if isinstance(error, StopIteration):
        # Unchanged, it would silently end the epoch.
        raise RuntimeError(f"DataLoader: {where} raised StopIteration") from error
    _note(error, f"DataLoader: raised by {where}")


def _note(error: Exception, text: str) -> None:
    if text not in getattr(error, "__notes__", ()):  # a dataset may raise the same object again
        error.add_note(text)
