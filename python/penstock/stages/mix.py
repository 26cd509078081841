"""Combinations of several datasets: sample_from_datasets, choose_from_datasets."""

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
    """Mixin: mixing datasets."""

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
        """Draw each element from a randomly chosen dataset.

        Parameters
        ----------
        datasets : sequence of Dataset
            At least one; all with the same structure and dtypes.
        weights : array of shape ``(n,)`` or Dataset of them, optional
            The relative probability of each dataset: numbers >= 0, normalized to a sum of 1. A
            dataset of float arrays supplies the weights of each draw. None means equal weights.
        seed : int, optional
            Seed of the random draws; None draws differently in each run, unless `set_seed` was
            called.
        stop_on_empty_dataset : bool
            True ends the result when an exhausted dataset is drawn; False continues with the
            others.
        rerandomize_each_iteration : bool, optional
            True draws differently in each epoch (of `repeat`) and for each iterator, in a sequence
            determined by `seed`; None means False.

        Returns
        -------
        Dataset
            The elements of all datasets; those of each dataset stay in order.

        Raises
        ------
        ValueError
            If there is no dataset, `weights` has another length than `datasets`, or a weight is
            negative or not finite.
        TypeError
            If `datasets` are not Datasets, or structure or dtypes differ, where they are known
            without calling a function.

        Notes
        -----
        Without `stop_on_empty_dataset`, the proportions no longer match the weights once a dataset
        is exhausted. Repeat the datasets to avoid that. A dataset of weight 0 is never drawn; if
        the weights are a Dataset, the end of an input is noticed only when it is drawn.

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
        """Take each element from the dataset whose index another dataset supplies.

        Parameters
        ----------
        datasets : sequence of Dataset
            At least one; all with the same structure and dtypes.
        choice_dataset : Dataset of int
            The indices, in ``[0, len(datasets))``.
        stop_on_empty_dataset : bool
            True ends the result when an exhausted dataset is chosen; False skips such choices.

        Returns
        -------
        Dataset
            As many elements as there are choices, unless the result ends earlier.

        Raises
        ------
        ValueError
            If there is no dataset. While iterating, in place of an element, if an index is out of
            range.
        TypeError
            If an argument is not a Dataset, the structure or dtypes of `datasets` differ, or
            `choice_dataset` does not yield integers, where that is known without calling a
            function.

        Notes
        -----
        The result ends with `choice_dataset`, or when all datasets are exhausted. With
        ``stop_on_empty_dataset=False``, an infinite sequence of choices of an exhausted dataset
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
