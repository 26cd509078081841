"""The sources of arrays in memory: from_tensors, from_tensor_slices."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.arrays import as_tensors, ragged_list
from penstock.plan import Plan

_D = TypeVar("_D", bound="Tensors")


@checked_methods
class Tensors(Plan):
    """Mixin: datasets of values in memory."""

    __slots__ = ()

    @classmethod
    def from_tensors(cls: type[_D], tensors: Any, name: str | None = None) -> _D:
        """Make a dataset of one element.

        Parameters
        ----------
        tensors : nested arrays
            The element. Arrays are shared with the dataset: do not change them afterwards.
            A mapping (``np.load("x.npz")``) is a dict of its arrays; a table of pandas, polars or
            Arrow is a dict of its columns, without the index; a structured array is a dict of its
            fields.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Of this one element; its arrays are read-only.

        Raises
        ------
        ValueError
            If a list has no regular shape, or a column has values that no array holds.
        TypeError
            If an object has rows and is no array: `from_indexable` takes those.

        Examples
        --------
        >>> ps.Dataset.from_tensors(([1, 2], "a")).first()
        (array([1, 2]), 'a')
        """
        return cls._of_tensors("from_tensors", name, tensors)

    @classmethod
    def from_tensor_slices(cls: type[_D], tensors: Any, name: str | None = None) -> _D:
        """Make a dataset of the rows of arrays.

        Parameters
        ----------
        tensors : nested arrays
            Each of shape ``(n, ...)`` with the same `n`. A list is one array, a tuple is several.
            The memory is shared with the dataset: do not change it afterwards. Mappings, tables and
            structured arrays are dicts, as in `from_tensors`.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

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
        ``shuffle`` and ``batch`` directly after it gather rows natively, without touching elements
        one by one. Rows that are handed out unbatched are views, and read-only.

        Examples
        --------
        >>> ds = ps.Dataset.from_tensor_slices({"x": [1, 2], "name": ["a", "b"]})
        >>> [(int(e["x"]), e["name"]) for e in ds]
        [(1, 'a'), (2, 'b')]
        """
        return cls._of_tensors("from_tensor_slices", name, tensors)

    @classmethod
    def _of_tensors(
        cls: type[_D], kind: str, name: str | None, tensors: Any, stage: str | None = None
    ) -> _D:
        """Make one of these datasets, which errors know by the name of `stage`."""
        tensors = as_tensors(stage or kind, tensors)
        args = {"tensors": tensors}
        if stage is not None:
            args["part_of"] = stage
        try:
            return cls._make(kind, (), args, name)
        except ValueError:
            leaf = ragged_list(tensors)
            if leaf is None:
                raise
            raise ValueError(
                f"{stage or kind}: a list is one array, and the rows of {'tensors' + leaf} differ "
                "in shape; use experimental.from_list for elements of different shapes, and then "
                "padded_batch or ragged_batch (for ragged rows) to batch them"
            ) from None
