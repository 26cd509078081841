"""Sources that are in memory: range, from_tensors, from_tensor_slices."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.plan import Plan
from penstock.sources.tensors import as_tensors, ragged_list


@checked_methods
class MemorySources(Plan):
    """Mixin: datasets of values in memory."""

    __slots__ = ()

    @classmethod
    def range(cls, *args: int, output_type: Any = np.int64, name: str | None = None) -> Self:
        """Count from `start` (0) to `stop`, which is left out, by `step` (1).

        Called as ``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``.

        Parameters
        ----------
        *args : int
            One to three integers, as for Python's ``range``.
        output_type : dtype-like
            Integer or float dtype of the elements.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            Of scalars, int64 unless `output_type` says otherwise.

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
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Self:
        """Make a dataset of one element.

        Parameters
        ----------
        tensors : nested arrays
            The element. Arrays are shared with the dataset: do not change them afterwards.
            A mapping (``np.load("x.npz")``) is a dict of its arrays; a table of pandas, polars or
            Arrow is a dict of its columns, without the index; a structured array is a dict of its
            fields.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            Of this one element; its arrays are read-only.

        Raises
        ------
        ValueError
            If a list has no regular shape, or a column values that no array holds.
        TypeError
            If an object has rows and is no array: `from_indexable` takes those.

        Examples
        --------
        >>> ps.Dataset.from_tensors(([1, 2], "a")).first()
        (array([1, 2]), 'a')
        """
        return cls._of_tensors("from_tensors", name, tensors)

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Self:
        """Make a dataset of the rows of arrays.

        Parameters
        ----------
        tensors : nested arrays
            Each of shape ``(n, ...)`` with the same `n`. A list is one array, a tuple is several.
            The memory is shared with the dataset: do not change it afterwards.
            A mapping (``np.load("x.npz")``) is a dict of its arrays; a table of pandas, polars or
            Arrow is a dict of its columns, without the index; a structured array is a dict of its
            fields.
        name : str, optional
            What errors, `Iterator.stats` and traces call the stage, beside its kind.

        Returns
        -------
        Dataset
            Of `n` elements, nested as `tensors`.

        Raises
        ------
        ValueError
            If there is no array, one is a scalar, or the first axes differ; a list has no regular
            shape; or a column has values that no array holds: missing ones, but for floats (NaN)
            and times (NaT), lists of different lengths, times of a zone.
        TypeError
            If an object has rows and is no array: `from_indexable` takes those.

        Notes
        -----
        ``shuffle`` and ``batch`` right behind it gather rows natively, without touching elements
        one by one. Rows that are handed out unbatched are views, and read-only.

        Examples
        --------
        >>> ds = ps.Dataset.from_tensor_slices({"x": [1, 2], "name": ["a", "b"]})
        >>> [(int(e["x"]), e["name"]) for e in ds]
        [(1, 'a'), (2, 'b')]
        """
        return cls._of_tensors("from_tensor_slices", name, tensors)

    @classmethod
    def _of_tensors(cls, kind: str, name: str | None, tensors: Any) -> Self:
        tensors = as_tensors(kind, tensors)
        try:
            return cls._make(kind, (), {"tensors": tensors}, name)
        except ValueError:
            leaf = ragged_list(tensors)
            if leaf is None:
                raise
            raise ValueError(
                f"{kind}: a list is one array, and the rows of {'tensors' + leaf} differ in shape; "
                "use experimental.from_list for elements of different shapes, and then "
                "padded_batch or ragged_batch (for ragged rows) to batch them"
            ) from None
