"""Several datasets in parallel: zip."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.arguments.checks import datasets as check_datasets
from penstock.plan import Plan

_D = TypeVar("_D", bound="Zip")


@checked_methods
class Zip(Plan):
    """Mixin: zipping datasets."""

    __slots__ = ()

    @classmethod
    def zip(cls: type[_D], *args: Any, datasets: Any = None, name: str | None = None) -> _D:
        """Combine the elements of several datasets; ends with the shortest.

        Parameters
        ----------
        *args : Dataset, or one nested structure of them
            ``zip(a, b)``, ``zip((a, b))`` or ``zip({"x": a, "y": b})``; a list counts as a tuple.
        datasets : nested Dataset, optional
            The older form of the argument: one nested structure.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The combined elements, nested as the datasets are.

        Raises
        ------
        TypeError
            If a leaf is not a Dataset, or no argument is given.
        ValueError
            If the structure contains no dataset.

        Notes
        -----
        If an element of one dataset fails, all datasets advance, so that their elements stay
        paired.

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
    """Append the datasets in `nested` to `found`, in order; return the nesting with 0 for each."""
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
