"""Classes as often as asked for: rejection_resample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="RejectionResample")


@checked_methods
class RejectionResample(Plan):
    """Mixin: elements left out at random."""

    __slots__ = ()

    def rejection_resample(
        self: _D,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> _D:
        """Leave out elements at random, so that classes come as often as asked for.

        Parameters
        ----------
        class_func : callable
            Takes the element as `map` does; returns its class, an integer in
            ``[0, len(target_dist))``.
        target_dist : array of shape ``(classes,)``
            The share of each class in the result: float numbers >= 0, their sum counts as 1.
        initial_dist : array of shape ``(classes,)``, optional
            The share of each class in this dataset; None estimates it from the elements that have
            come.
        seed : int, optional
            Makes the draws repeatable; None draws others in each run, unless `set_seed` was called.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Of pairs ``(class, element)``; how many is unknown beforehand.

        Raises
        ------
        TypeError
            If `class_func` is not callable.
        ValueError
            If the shares are not as described, or a wanted class has the initial share 0; while
            iterating, instead of an element, if `class_func` returns anything else.

        Notes
        -----
        As in tf.data, two passes over the dataset run at a time: one gives elements as they come,
        the other is filtered, and each result is drawn from one of the two. So an element may come
        twice, and the dataset ends when one pass has ended. Few elements are left out when the
        distributions are equal.

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
