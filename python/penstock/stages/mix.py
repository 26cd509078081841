"""Mixes of datasets: sample_from_datasets, choose_from_datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stages.rows import Rows

_D = TypeVar("_D", bound="Mix")

_P = TypeVar("_P", bound=Plan)


@checked_methods
class Mix(Rows):
    """Mixin: elements drawn from several datasets."""

    __slots__ = ()

    @classmethod
    def sample_from_datasets(
        cls: type[_D],
        datasets: Sequence[_D],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> _D:
        """Take each element from a dataset that is drawn at random.

        Parameters
        ----------
        datasets : sequence of Dataset
            At least one; all of the same structure and dtypes.
        weights : array of shape ``(n,)`` or Dataset of them, optional
            How often each dataset is drawn: any numbers >= 0, their sum counts as 1. A dataset of
            float arrays gives those of each draw. None means equal weights.
        seed : int, optional
            Makes the draws repeatable; None draws others in each run, unless `set_seed` was called.
        stop_on_empty_dataset : bool
            True ends when a dataset is drawn that has ended; False continues with the others.
        rerandomize_each_iteration : bool, optional
            True draws other numbers in each epoch (of `repeat`) and for each iterator, in a
            sequence that follows from `seed`; None means False.

        Returns
        -------
        Dataset
            The elements of all of them, each dataset's in its order.

        Raises
        ------
        ValueError
            If there is no dataset, or `weights` are not as many as datasets, finite and >= 0.
        TypeError
            If `datasets` are not Datasets, or structure or dtypes differ, as far as they are known
            without calling a function.

        Notes
        -----
        Without `stop_on_empty_dataset` the shares of the datasets are no longer those of the
        weights when one has ended. Repeat the datasets to avoid that. A dataset of weight 0 is left
        out; with a Dataset of weights its end is noticed only when it is drawn.

        Examples
        --------
        >>> a, b = ps.Dataset.range(3), ps.Dataset.range(10, 13)
        >>> mixed = ps.Dataset.sample_from_datasets([a, b], weights=[0.9, 0.1], seed=3)
        >>> sorted(int(x) for x in mixed)
        [0, 1, 2, 10, 11, 12]
        """
        inputs = _checked("sample_from_datasets", datasets)
        args = {
            "seed": seed,
            "stop_on_empty_dataset": stop_on_empty_dataset,
            "rerandomize_each_iteration": bool(rerandomize_each_iteration),
        }
        if isinstance(weights, Plan):
            return cls._make("sample_from_datasets", (*inputs, weights), args)
        shares = np.ones(len(inputs)) if weights is None else np.asarray(weights, np.float64)
        if shares.shape == (len(inputs),):  # others are an error
            drawn = np.flatnonzero(shares)
            if len(drawn) == 0:
                return inputs[0].take(0)
            inputs, shares = tuple(inputs[i] for i in drawn), shares[drawn]
            if len(inputs) == 1 and 0 < shares[0] < np.inf:
                return inputs[0]
        return cls._make("sample_from_datasets", inputs, {"weights": shares, **args})

    @classmethod
    def choose_from_datasets(
        cls: type[_D],
        datasets: Sequence[_D],
        choice_dataset: _D,
        stop_on_empty_dataset: bool = True,
    ) -> _D:
        """Take each element from the dataset whose number another dataset gives.

        Parameters
        ----------
        datasets : sequence of Dataset
            At least one; all of the same structure and dtypes.
        choice_dataset : Dataset of int
            Gives the numbers, in ``[0, len(datasets))``.
        stop_on_empty_dataset : bool
            True ends when a dataset is chosen that has ended; False passes over such choices.

        Returns
        -------
        Dataset
            As many elements as there are choices, unless it ends earlier.

        Raises
        ------
        ValueError
            If there is no dataset; while iterating, instead of an element, if a number is not
            that of a dataset.
        TypeError
            If one of them is not a Dataset, structure or dtypes of `datasets` differ, or
            `choice_dataset` does not give integers, as far as that is known without calling a
            function.

        Notes
        -----
        It ends with `choice_dataset`, and when all datasets have ended. With
        ``stop_on_empty_dataset=False``, an endless sequence of choices of a dataset that has ended
        never ends.

        Examples
        --------
        >>> letters = [ps.Dataset.from_tensors(c).repeat() for c in "ab"]
        >>> choices = ps.Dataset.from_tensor_slices([0, 1, 1])
        >>> list(ps.Dataset.choose_from_datasets(letters, choices))
        ['a', 'b', 'b']
        """
        inputs = _checked("choose_from_datasets", datasets)
        if not isinstance(choice_dataset, Plan):
            raise TypeError(
                f"choose_from_datasets: choice_dataset must be a Dataset, got {choice_dataset!r}"
            )
        args = {"stop_on_empty_dataset": stop_on_empty_dataset}
        return cls._make("choose_from_datasets", (*inputs, choice_dataset), args)


def _checked(stage: str, datasets: Sequence[_P]) -> tuple[_P, ...]:
    if isinstance(datasets, Plan):
        raise TypeError(f"{stage}: datasets must be a sequence of Datasets, got {datasets!r}")
    inputs = tuple(datasets)
    if not inputs:
        raise ValueError(f"{stage}: at least one dataset was expected, got none")
    for each in inputs:
        if not isinstance(each, Plan):
            raise TypeError(f"{stage}: a Dataset was expected, got {each!r}")
    return inputs
