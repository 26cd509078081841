"""Resampling to a given class distribution: rejection_resample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="RejectionResample")


@checked_methods
class RejectionResample(Plan):
    """Mixin: resampling."""

    __slots__ = ()

    def rejection_resample(
        self: _D,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> _D:
        """Skip elements at random, so that classes occur with given frequencies.

        Parameters
        ----------
        class_func : callable
            Takes the element as a `map` function does; returns its class, an integer from 0 to
            ``len(target_dist) - 1``.
        target_dist : array of shape ``(classes,)``
            The proportion of each class in the result: floats >= 0, normalized to a sum of 1.
        initial_dist : array of shape ``(classes,)``, optional
            The proportion of each class in this dataset; None estimates it from the elements read
            so far.
        seed : int, optional
            Seed of the random draws; None draws differently in each run, unless `set_seed` was
            called.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Pairs ``(class, element)``; their number is not known in advance.

        Raises
        ------
        TypeError
            If `class_func` is not callable.
        ValueError
            If the distributions are not as described, or a class with a positive target has the
            initial proportion 0; while iterating, in place of an element, if `class_func` returns
            anything other than a class.

        Notes
        -----
        As in tf.data, two passes over the dataset run concurrently: one yields every element, the
        other is filtered, and each result is drawn from one of the two. An element may therefore
        occur twice, and the result ends when one of the passes ends. Few elements are skipped if
        the two distributions are similar.

        Examples
        --------
        >>> ds = ps.Dataset.range(1000)  # one in ten is of class 1
        >>> even = ds.rejection_resample(lambda x: int(x % 10 == 0), [0.5, 0.5], [0.9, 0.1], seed=7)
        >>> share = np.mean([c for c, x in even])
        >>> bool(0.4 < share < 0.6)
        True
        """
        if not callable(class_func):
            raise TypeError(f"rejection_resample: class_func must be callable, got {class_func!r}")
        twice: Any = (self, self)
        return self._make(
            "rejection_resample",
            twice,
            {
                "class_func": class_func,
                "target_dist": np.asarray(target_dist, np.float64),
                "initial_dist": None
                if initial_dist is None
                else np.asarray(initial_dist, np.float64),
                "seed": seed,
            },
            name,
        )
