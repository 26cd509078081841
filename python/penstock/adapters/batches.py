"""A dataset in the form that a trainer takes: what all forms share."""

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
    """The elements of a dataset, each in the form that `form` gives; can be looped over again.

    Parameters
    ----------
    dataset : Dataset
        What comes out of it is given to `form` in the thread that iterates.
    form : callable
        From an element to what the trainer takes.
    source : Dataset
        The dataset of the user, for messages.
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
    """One pass over `Batches`; it is an `Iterator` whose elements have another form.

    Parameters
    ----------
    iterator : Iterator
        One pass over the dataset.
    form : callable
        Convert an element for the trainer.
    skipped : object, optional
        The result of `form` for elements to skip.
    """

    def __init__(
        self, iterator: Iterator, form: Callable[[Any], Any], skipped: object = _NONE_SKIPPED
    ) -> None:
        self._iterator = iterator
        self._form = form
        self._skipped = skipped
        self._kept: list[Any] = []  # what an interruption has met before it had its form
        self.ended = False

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> Any:
        while True:
            # Only the main thread is interrupted. The next caller, on any thread, receives the
            # element that it kept. Python switches threads and handles signals at calls, never
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
        """Continue after the last batch before `get_state` was called, as `Iterator.set_state`."""
        self._iterator.set_state(state, strict)
        self._kept = []

    def position(self) -> bytes:
        """Return a state for `rewind`, without the summary that identifies a pipeline."""
        self._check_none_kept()
        return _core.Iterator._save_state(self._iterator, b"")

    def rewind(self, state: bytes) -> None:
        """Go back to a state of this very dataset: nothing is compared."""
        _core.Iterator.set_state(self._iterator, state)
        self._kept = []

    def state_dict(self) -> dict[str, bytes]:
        """Return the position as a dict, the form in which PyTorch's checkpoints keep states."""
        return {KEY: self.get_state()}

    @checked
    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Continue where `state_dict` was called.

        Raises
        ------
        StateError
            If the dict comes from that of another pipeline, or, if `strict`, of other data.
        ValueError
            If it does not come from `state_dict`.
        """
        self.set_state(position_of(state), strict)

    def stats(self) -> list[dict[str, Any]]:
        """Return the counters of every stage, as `Iterator.stats` does."""
        return self._iterator.stats()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._iterator._position()[2]

    def close(self) -> None:
        """Stop all threads of this run and wait for them; no more batches come."""
        self._kept = []
        self._iterator.close()


def position_of(state: Any) -> Any:
    """Return the state in a result of ``state_dict()``; raise ValueError for another object."""
    if not isinstance(state, dict) or KEY not in state:
        raise ValueError(
            f"load_state_dict: state must be a dict of state_dict(), got {state!r:.200}"
        )
    return state[KEY]


class Held:
    """An object that goes through a pipeline as it is, whatever it could be converted to."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def ahead(stage: str, dataset: Dataset, work: Callable[[Any], Any], buffer_size: int) -> Dataset:
    """Return the dataset of ``Held(work(element))``, made ahead of use in the engine's thread.

    With a `buffer_size` of 0 nothing is ahead: the thread that asks does the work. `stage` is the
    name by which users know what does it, for errors and statistics.
    """
    # map spreads a tuple into arguments, for which (x,) and x are the same; a tuple of one
    # around the element leaves it whole.
    whole = dataset.zip((dataset,))
    held = map_for(stage, whole, lambda element: Held(work(element)))
    return held.prefetch(buffer_size)
