"""Transformations that carry a state between elements: scan, reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.stages.single import Single

_D = TypeVar("_D", bound="Scan")

_P = TypeVar("_P", bound=Plan)


@checked_methods
class Scan(Single):
    """Mixin: stateful functions."""

    __slots__ = ()

    def scan(
        self: _D,
        initial_state: Any,
        scan_func: Callable[[Any, Any], tuple[Any, Any]],
        name: str | None = None,
    ) -> _D:
        """Apply a function to each element and a state that is passed from call to call.

        Parameters
        ----------
        initial_state : nested arrays
            The state passed to the first call.
        scan_func : callable
            Takes the state and the element as two arguments, however they are nested; returns the
            new state and the resulting element.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The resulting elements, as many as there are inputs.

        Raises
        ------
        TypeError
            If `scan_func` is not callable; while iterating, if it does not return a pair, or the
            new state does not have the structure and dtypes of `initial_state` (shapes may differ).

        Notes
        -----
        An element that fails leaves the state unchanged. Arrays of the state are read-only: return
        new ones.

        `Iterator.get_state` stores the state by value: numbers, arrays and strings. If the state
        contains an opaque Python object, a restored iterator calls the function again for all
        elements from the first one on.

        Examples
        --------
        >>> sums = ps.Dataset.range(1, 5).scan(np.int64(0), lambda s, x: (s + x, s + x))
        >>> [int(x) for x in sums]
        [1, 3, 6, 10]
        """
        if not callable(scan_func):
            raise TypeError(f"scan: scan_func must be callable, got {scan_func!r}")
        return self._then("scan", initial_state=initial_state, scan_func=scan_func, name=name)

    def reduce(
        self,
        initial_state: Any,
        reduce_func: Callable[[Any, Any], Any],
        name: str | None = None,
    ) -> Any:
        """Combine all elements into one value.

        Parameters
        ----------
        initial_state : nested arrays
            The state passed to the first call.
        reduce_func : callable
            Takes the state and the element as two arguments, however they are nested; returns the
            new state.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        nested arrays
            The state after the last element; `initial_state` if the dataset is empty.

        Raises
        ------
        TypeError
            If `reduce_func` is not callable, or a new state does not have the structure and dtypes
            of `initial_state` (shapes may differ).

        Notes
        -----
        Runs the whole dataset immediately; Ctrl-C stops it. The first error of an element is
        raised; put `ignore_errors` before `reduce` to skip such elements. Arrays of the state are
        read-only.

        Examples
        --------
        >>> ps.Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x)
        np.int64(10)
        >>> ps.Dataset.range(5).reduce((0, 0.0), lambda s, x: (s[0] + 1, s[1] + x / 2))
        (np.int64(5), np.float64(5.0))
        """
        if not callable(reduce_func):
            raise TypeError(f"reduce: reduce_func must be callable, got {reduce_func!r}")
        reduced = self._then(
            "reduced", initial_state=initial_state, reduce_func=reduce_func, name=name
        )
        return reduced.get_single_element()


def scan_for(
    stage: str,
    plan: _P,
    initial_state: Any,
    function: Callable[[Any, Any], Any],
    carried_state: Any,
) -> _P:
    """Return a scan that is called `stage` in errors, statistics and saved states.

    If a state is restored with a different number of processes, the scan continues with
    `carried_state`.
    """
    return plan._then(
        "scan",
        initial_state=initial_state,
        scan_func=function,
        carried_state=carried_state,
        part_of=stage,
    )
