"""The sources of numbers: range, counter, random."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan

_D = TypeVar("_D", bound="Numbers")


@checked_methods
class Numbers(Plan):
    """Mixin: datasets of numbers."""

    __slots__ = ()

    @classmethod
    def range(
        cls: type[_D], *args: int, output_type: Any = np.int64, name: str | None = None
    ) -> _D:
        """Count from `start` (0) up to but excluding `stop`, in increments of `step` (1).

        Called as ``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``.

        Parameters
        ----------
        *args : int
            One to three integers, as for Python's ``range``.
        output_type : dtype-like
            Integer or float dtype of the elements.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Scalars of dtype `output_type`.

        Raises
        ------
        TypeError
            If there are not one to three integers, or `output_type` is neither integer nor float.
        ValueError
            If `step` is 0.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(10, 4, -2)]
        [10, 8, 6]
        """
        if not 1 <= len(args) <= 3:
            raise TypeError(f"range: 1 to 3 integers were expected, got {len(args)}")
        start, stop = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) == 3 else 1
        bounds = {"start": start, "stop": stop, "step": step}
        return cls._make("range", (), {**bounds, "output_type": output_type}, name)

    @classmethod
    def counter(
        cls: type[_D],
        start: float = 0,
        step: float = 1,
        dtype: Any = np.int64,
        name: str | None = None,
    ) -> _D:
        """Count from `start` in increments of `step`, without end.

        Parameters
        ----------
        start, step : int or float
            The first number and the increment, which may be negative or 0. Integers, unless `dtype`
            is a float dtype.
        dtype : dtype-like
            Integer or float dtype of the elements.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Scalars; the `cardinality` is ``INFINITE_CARDINALITY``.

        Raises
        ------
        TypeError
            If `dtype` is neither integer nor float, or `start` or `step` does not match it.

        Notes
        -----
        Integers wrap around at the end of their dtype. Element `i` of a float dtype is computed in
        float64 as ``start + i * step``, so rounding errors do not accumulate.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.counter(10, -3).take(3)]
        [10, 7, 4]
        """
        args = {"start": start, "step": step, "output_type": dtype}
        return cls._make("counter", (), args, name)

    @classmethod
    def random(
        cls: type[_D],
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> _D:
        """Draw random integers, without end.

        Parameters
        ----------
        seed : int, optional
            Seed of the random draws; None draws differently in each run, unless `set_seed` was
            called.
        rerandomize_each_iteration : bool, optional
            True draws differently in each epoch (of `repeat`) and for each iterator, in a sequence
            determined by `seed`; None means False.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            int64 scalars, uniform in [0, 2**32).

        Examples
        --------
        >>> numbers = ps.Dataset.random(seed=7).take(3)
        >>> list(numbers) == list(numbers)
        True
        >>> other = ps.Dataset.random(seed=7, rerandomize_each_iteration=True).take(3)
        >>> list(other) == list(other)
        False
        """
        args = {"seed": seed, "rerandomize_each_iteration": bool(rerandomize_each_iteration)}
        return cls._make("random_numbers", (), args, name)
