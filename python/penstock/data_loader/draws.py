"""The PyTorch generator that a loader draws from, and its state in a resumed program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.data_loader import torch_rules


class Draws:
    """The PyTorch generator that a loader draws from, in the state set by `restore`.

    Parameters
    ----------
    generator : object
        The loader's generator.
    follows_torch : bool
        Whether the loader draws from a PyTorch generator.

    Notes
    -----
    The loader's own generator is restored to the saved state. The global generator belongs to the
    program and stays unchanged: epochs draw from a saved copy of its state until the program seeds
    or restores it.
    """

    def __init__(self, generator: Any, follows_torch: bool) -> None:
        self._own = generator if torch_rules.is_generator(generator) else None
        self._follows_torch = follows_torch
        self._saved: str | None = None
        self._seed = 0
        self._fresh = False
        # The base seed of persistent workers: PyTorch draws it in their first epoch only.
        self.base_seed: int | None = None
        self.passes = 0  # epochs that persistent workers have begun

    def keep(self, base_seed: int | None, persistent: bool) -> None:
        """Record the base seed of an epoch, which persistent workers reuse in later epochs."""
        self.base_seed = base_seed if persistent and self._follows_torch else None

    def state(self) -> str | None:
        """Return the state of the generator; None if the loader uses no PyTorch generator."""
        if not self._follows_torch:
            return None
        return self._saved or torch_rules.state_of(
            self._own or torch_rules.torch().default_generator
        )

    def restore(self, state: str | None) -> None:
        """Make the next epoch draw from a state returned by `state`."""
        self._saved = state if self._follows_torch else None
        if self._saved is not None:
            self._seed, self._fresh = _seeding()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Put the generator into its restored state while an epoch makes its initial draws."""
        saved = self._saved
        if saved is None:
            yield
            return
        if self._own is not None:
            torch_rules.set_state_of(self._own, saved)
            self._saved = None
            yield
            return
        generator = torch_rules.torch().default_generator
        present = torch_rules.state_of(generator)
        seed, fresh = _seeding()
        if present == saved or seed != self._seed or (fresh and not self._fresh):
            self._saved = None
            yield
            return
        self._fresh = fresh
        torch_rules.set_state_of(generator, saved)
        try:
            yield
        finally:
            self._saved = torch_rules.state_of(generator)
            torch_rules.set_state_of(generator, present)


def _seeding() -> tuple[int, bool]:
    """Return the seed of the global generator, and whether nothing has been drawn since."""
    torch = torch_rules.torch()
    seed = torch.initial_seed()
    fresh = torch.Generator().manual_seed(seed)
    same = torch_rules.state_of(fresh) == torch_rules.state_of(torch.default_generator)
    return seed, same
