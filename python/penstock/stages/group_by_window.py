"""Groups of elements with equal keys: group_by_window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stages.arguments import check_callable

_D = TypeVar("_D", bound="GroupByWindow")


@checked_methods
class GroupByWindow(Plan):
    """Mixin: grouping by key."""

    __slots__ = ()

    def group_by_window(
        self: _D,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, _D], _D],
        window_size: int | None = None,
        window_size_func: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> _D:
        """Group elements with equal keys into windows, and reduce each window to a dataset.

        Parameters
        ----------
        key_func : callable
            Takes the element as a `map` function does; returns one int, its key.
        reduce_func : callable
            Takes a key (int64) and a window, a dataset of consecutive elements with that key;
            returns a Dataset of any length, whose elements are yielded.
        window_size : int, optional
            Elements of a window, >= 1.
        window_size_func : callable, optional
            Takes a key, returns the size of its windows. Pass either this or `window_size`.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The elements of all datasets that `reduce_func` returns; their number is not known in
            advance.

        Raises
        ------
        TypeError
            If a function is not callable; while iterating, if `key_func` or `window_size_func` does
            not return one int, or `reduce_func` does not return a Dataset.
        ValueError
            If both or neither of `window_size` and `window_size_func` are given, or a size is < 1.

        Notes
        -----
        A window is reduced when it is full. At the end of the input, incomplete windows follow in
        the order of their keys. `window_size_func` is called once per key and run (and again after
        `Iterator.set_state`).

        Errors of `key_func` and `window_size_func` are raised at the position of the element, which
        is skipped. An error of `reduce_func` is raised at the position of the window, which is
        lost. Errors of the dataset it returns are raised at their own positions.

        A saved state holds the positions of elements in unfinished windows, not the elements. After
        `Iterator.set_state` the input is read again from the oldest of them, which takes long if a
        key never fills a window.

        Examples
        --------
        >>> ds = ps.Dataset.range(10).group_by_window(
        ...     key_func=lambda x: x % 2, reduce_func=lambda key, w: w.batch(3), window_size=3)
        >>> [batch.tolist() for batch in ds]
        [[0, 2, 4], [1, 3, 5], [6, 8], [7, 9]]
        """
        functions: dict[str, Any] = {"key_func": key_func, "reduce_func": reduce_func}
        if (window_size is None) == (window_size_func is None):
            came = "none" if window_size is None else "both"
            raise ValueError(
                "group_by_window: either window_size or window_size_func must be given, got "
                f"{came} of them"
            )
        if window_size_func is not None:
            functions["window_size_func"] = window_size_func
        for argument, function in functions.items():
            check_callable("group_by_window", argument, function)
        sizes = {} if window_size is None else {"window_size": window_size}
        return self._then("group_by_window", name=name, **functions, **sizes)
