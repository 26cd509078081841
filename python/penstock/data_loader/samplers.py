"""Default samplers of the DataLoader."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import random


def items_of(iterator: Iterator[Any]) -> Iterator[Any]:
    """Yield the items of an iterator without calling `iter`, which resets some iterators."""
    return itertools.starmap(iterator.__next__, itertools.repeat(()))


class SequentialSampler:
    """Yield the indices of a dataset in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler:
    """Yield the indices of a dataset in random order, reshuffled in each epoch.

    Parameters
    ----------
    data_source : sized
        The dataset.
    generator : numpy.random.Generator or int, optional
        Source of randomness for the order of each epoch. None: the seed of `penstock.set_seed` if
        it was called, else the operating system.
    """

    def __init__(
        self, data_source: Sized, generator: np.random.Generator | int | None = None
    ) -> None:
        if generator is not None and not isinstance(generator, np.random.Generator):
            try:
                generator = operator.index(generator)
            except TypeError:
                raise TypeError(
                    "DataLoader: generator must be an int, a numpy.random.Generator, a "
                    f"torch.Generator or None, got {generator!r:.200}"
                ) from None
            if generator < 0:
                raise ValueError(f"DataLoader: a seed must be >= 0, got generator={generator}")
        if len(data_source) == 0:
            raise ValueError(
                "DataLoader: shuffle=True needs a dataset of at least one sample, got an empty one"
            )
        self.data_source = data_source
        self.generator = generator
        self._passes = 0

    def __iter__(self) -> Iterator[int]:
        return iter(self.permutation(self.draw()).tolist())

    def __len__(self) -> int:
        return len(self.data_source)

    def draw(self, saved: int | None = None) -> int:
        """Return the seed of the next epoch.

        Parameters
        ----------
        saved : int, optional
            Seed of a restored epoch. It is returned, and the generator advances as it did
            originally. The seed sequence of `penstock.set_seed` does not advance, because loading a
            state restores it.
        """
        self._passes += 1
        if isinstance(self.generator, np.random.Generator):
            drawn = int(self.generator.integers(2**63 - 1))
        elif saved is not None:
            return saved
        elif self.generator is None:
            drawn = int(random.uniform((), 0, 2**63 - 1, np.int64))
        else:
            drawn = _seed_of(self.generator, self._passes)
        return drawn if saved is None else saved

    def permutation(self, seed: int) -> npt.NDArray[np.int64]:
        """Return the order of the epoch with this seed."""
        return np.random.default_rng(seed).permutation(len(self.data_source))

    def state_dict(self) -> dict[str, Any]:
        """Return the state that determines the order of later epochs."""
        state: dict[str, Any] = {"passes": self._passes}
        if isinstance(self.generator, np.random.Generator):
            state["bit_generator"] = _plain(self.generator.bit_generator.state)
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue after the epoch in which `state_dict` was called."""
        self._passes = state["passes"]
        if isinstance(self.generator, np.random.Generator) and "bit_generator" in state:
            self.generator.bit_generator.state = state["bit_generator"]


class BatchSampler:
    """Yield lists of consecutive indices of a sampler.

    Parameters
    ----------
    sampler : iterable
        Indices.
    batch_size : int
        Number of indices in a list, >= 1.
    drop_last : bool
        Whether to drop an incomplete last list.
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"DataLoader: batch_size must be an int >= 1, got {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"DataLoader: drop_last must be a bool, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        indices = items_of(iter(self.sampler))
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size:
                yield batch
                continue
            # Never call next() on an exhausted iterator again: some restart from the beginning.
            if not self.drop_last:
                yield batch
            return

    def __len__(self) -> int:
        samples = len(self.sampler)  # type: ignore[arg-type]
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)


def _seed_of(seed: int, number: int) -> int:
    pair = np.random.SeedSequence((seed, number))
    return int(pair.generate_state(1, np.uint64)[0])


def _plain(state: Any) -> Any:
    """Return the state of a bit generator with arrays converted to lists, for JSON."""
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, (np.ndarray, np.generic)) else state
