"""The sources for arrays in memory: from_tensors, from_tensor_slices."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.arrays import as_tensors, ragged_list
from penstock.plan import Plan

_D = TypeVar("_D", bound="Tensors")


@checked_methods
class Tensors(Plan):
    """Mixin: datasets from values in memory."""

    __slots__ = ()

    @classmethod
    def from_tensors(cls: type[_D], tensors: Any, name: str | None = None) -> _D:
        """Create a dataset of one element.

        Parameters
        ----------
        tensors : nested arrays
            The element. Its arrays share memory with the dataset: do not change them afterwards. A
            mapping (``np.load("x.npz")``) becomes a dict of its arrays; a pandas, polars or Arrow
            table a dict of its columns, without the index; a structured array a dict of its fields.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            This one element; its arrays are read-only.

        Raises
        ------
        ValueError
            If a list has no regular shape, or a column has values that cannot be stored in an
            array.
        TypeError
            If an object has rows but is not an array: use `from_indexable`.

        Examples
        --------
        >>> ps.Dataset.from_tensors(([1, 2], "a")).first()
        (array([1, 2]), 'a')
        """
        return cls._of_tensors("from_tensors", name, tensors)

    @classmethod
    def from_tensor_slices(cls: type[_D], tensors: Any, name: str | None = None) -> _D:
        """Create a dataset of the rows of arrays.

        Parameters
        ----------
        tensors : nested arrays
            Each of shape ``(n, ...)`` with the same `n`. A list is one array, a tuple is several.
            Arrays share memory with the dataset: do not change them afterwards. Mappings, tables
            and structured arrays become dicts, as in `from_tensors`.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            `n` elements, nested as `tensors`.

        Raises
        ------
        ValueError
            If there is no array, an array is a scalar, or the first axes differ; if a list has no
            regular shape; or if a column has values that cannot be stored in an array: missing
            values other than floats (NaN) and times (NaT), lists of different lengths, times with a
            time zone.
        TypeError
            If an object has rows but is not an array: use `from_indexable`.

        Notes
        -----
        ``shuffle`` and ``batch`` directly after it gather rows natively, without creating
        individual elements. Rows that are yielded without batching are read-only views.

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
        """Create the dataset; errors show `stage` as its name."""
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
