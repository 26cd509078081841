"""Several datasets side by side: zip."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.arguments.checks import datasets as check_datasets
from penstock.plan import Plan

_D = TypeVar("_D", bound="Zip")


@checked_methods
class Zip(Plan):
    """Mixin: elements of several datasets at a time."""

    __slots__ = ()

    @classmethod
    def zip(cls: type[_D], *args: Any, datasets: Any = None, name: str | None = None) -> _D:
        """Take one element of each dataset at a time; ends with the shortest.

        Parameters
        ----------
        *args : Dataset, or one nested structure of them
            ``zip(a, b)``, ``zip((a, b))`` or ``zip({"x": a, "y": b})``; a list counts as a tuple.
        datasets : nested Dataset, optional
            The older name of the one structure.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Of the elements, nested as the datasets were.

        Raises
        ------
        TypeError
            If a leaf is not a Dataset, or nothing was given.
        ValueError
            If the structure holds no dataset at all.

        Notes
        -----
        When an element of one dataset fails, all move on, so that their elements stay paired.

        Examples
        --------
        >>> a, b = ps.Dataset.range(3), ps.Dataset.range(10, 20)
        >>> [(int(x), int(y)) for x, y in ps.Dataset.zip(a, b)]
        [(0, 10), (1, 11), (2, 12)]
        """
        if bool(args) == (datasets is not None):
            raise TypeError("zip: datasets were expected as arguments, or as `datasets`")
        nested = datasets if datasets is not None else args[0] if len(args) == 1 else args
        inputs: list[Plan] = []
        check_datasets("zip: datasets", nested)
        nesting = _collect(nested, inputs)
        return cls._make("zip", tuple(inputs), {"nesting": nesting}, name)


def _collect(nested: Any, found: list[Plan]) -> Any:
    """Gather the datasets in `nested`, in order; returns the same nesting of numbers."""
    if isinstance(nested, Plan):
        found.append(nested)
        return 0
    if isinstance(nested, dict):
        return {key: _collect(value, found) for key, value in nested.items()}
    if isinstance(nested, tuple) and hasattr(nested, "_fields"):
        return type(nested)(*(_collect(value, found) for value in nested))
    if isinstance(nested, (tuple, list)):
        return tuple(_collect(value, found) for value in nested)
    raise TypeError(f"zip: a Dataset was expected at each leaf, got {nested!r}")
