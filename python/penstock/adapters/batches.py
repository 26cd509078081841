"""Iterate a dataset in the form that a trainer takes: common base of all forms."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from penstock import _core
from penstock.arguments.checked import checked
from penstock.closing import Closing
from penstock.dataset import Dataset
from penstock.iterator import Iterator
from penstock.stages.map import map_for

KEY = "penstock"
_NONE_SKIPPED = object()


class Batches:
    """The elements of a dataset, each converted by `form`; can be iterated repeatedly.

    Parameters
    ----------
    dataset : Dataset
        The dataset to iterate.
    form : callable
        Converts an element for the trainer, in the thread that iterates.
    source : Dataset
        The user's dataset, for messages.
    """

    def __init__(
        self, dataset: Dataset, form: Callable[[Any], Any], source: Dataset | None = None
    ) -> None:
        self._dataset = dataset
        self._form = form
        self._source = dataset if source is None else source

    def __iter__(self) -> BatchIterator:
        return BatchIterator(iter(self._dataset), self._form)

    def __len__(self) -> int:
        return len(self._dataset)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._source!r}>"


class BatchIterator(Closing):
    """An iteration over `Batches`: an `Iterator` with converted elements.

    Parameters
    ----------
    iterator : Iterator
        An iteration over the dataset.
    form : callable
        Converts an element for the trainer.
    skipped : object, optional
        The result of `form` for elements to skip.
    """

    def __init__(
        self, iterator: Iterator, form: Callable[[Any], Any], skipped: object = _NONE_SKIPPED
    ) -> None:
        self._iterator = iterator
        self._form = form
        self._skipped = skipped
        self._kept: list[Any] = []  # the element that was being converted at an interruption
        self.ended = False

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> Any:
        while True:
            # Only the main thread is interrupted. The next caller, on any thread, receives the
            # element that was kept. Python switches threads and handles signals at calls, never
            # between the two assignments of this line.
            pulled, self._kept = self._kept, []
            try:
                if not pulled:
                    pulled.extend(itertools.islice(self._iterator, 1))
                if not pulled:
                    self.ended = True
                    raise StopIteration
                batch = self._form(pulled[0])
            except Exception:
                raise
            except BaseException:
                self._kept = pulled
                raise
            if batch is not self._skipped:
                return batch

    @overload
    def get_state(self, text: Literal[False] = False) -> bytes: ...
    @overload
    def get_state(self, text: Literal[True]) -> str: ...
    @overload
    def get_state(self, text: bool) -> bytes | str: ...
    def get_state(self, text: bool = False) -> bytes | str:
        """Return the position after the last batch delivered, as `Iterator.get_state` does."""
        self._check_none_kept()
        return self._iterator.get_state(text)

    def _check_none_kept(self) -> None:
        if self._kept:
            raise RuntimeError(
                "get_state: a KeyboardInterrupt came before a batch was handed over; call next() "
                "once more first"
            )

    @checked
    def set_state(self, state: bytes | str | npt.NDArray[np.uint8], strict: bool = True) -> None:
        """Continue from a result of `get_state`, as `Iterator.set_state` does."""
        self._iterator.set_state(state, strict)
        self._kept = []

    def position(self) -> bytes:
        """Return a state for `rewind`, without the summary that identifies a pipeline."""
        self._check_none_kept()
        return _core.Iterator._save_state(self._iterator, b"")

    def rewind(self, state: bytes) -> None:
        """Return to a state of this same dataset, without checking its identity."""
        _core.Iterator.set_state(self._iterator, state)
        self._kept = []

    def state_dict(self) -> dict[str, bytes]:
        """Return the position as a dict, the form in which PyTorch checkpoints store states."""
        return {KEY: self.get_state()}

    @checked
    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Continue where `state_dict` was called.

        Raises
        ------
        StateError
            If the state comes from another pipeline or, with `strict`, from a pipeline over other
            data.
        ValueError
            If `state` is not the result of `state_dict`.
        """
        self.set_state(position_of(state), strict)

    def stats(self) -> list[dict[str, Any]]:
        """Return the counters of every stage, as `Iterator.stats` does."""
        return self._iterator.stats()

    @property
    def closed(self) -> bool:
        """Whether the iteration was closed."""
        return self._iterator._position()[2]

    def close(self) -> None:
        """Stop all threads of this run and wait for them; no more batches are returned."""
        self._kept = []
        self._iterator.close()


def position_of(state: Any) -> Any:
    """Return the position stored in a result of ``state_dict()``; raise ValueError for others."""
    if not isinstance(state, dict) or KEY not in state:
        raise ValueError(
            f"load_state_dict: state must be a dict of state_dict(), got {state!r:.200}"
        )
    return state[KEY]


class Held:
    """A container that passes an object through a pipeline without conversion."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def ahead(stage: str, dataset: Dataset, work: Callable[[Any], Any], buffer_size: int) -> Dataset:
    """Return the dataset of ``Held(work(element))``, computed in advance by the engine's thread.

    With a `buffer_size` of 0, the thread that requests an element does the work. `stage` is the
    public name of the work, for errors and statistics.
    """
    # map unpacks a tuple into arguments and cannot distinguish (x,) from x. Wrapping the element in
    # a tuple of one keeps it whole.
    whole = dataset.zip((dataset,))
    held = map_for(stage, whole, lambda element: Held(work(element)))
    return held.prefetch(buffer_size)
