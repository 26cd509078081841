"""The source for Python objects with rows: from_indexable."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.columns import refuse_columns
from penstock.encode import Indexable
from penstock.stages.numbers import Numbers

_D = TypeVar("_D", bound="FromIndexable")


@checked_methods
class FromIndexable(Numbers):
    """Mixin: datasets from indexable objects."""

    __slots__ = ()

    @classmethod
    def from_indexable(
        cls: type[_D],
        obj: Any,
        name: str | None = None,
        *,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        output_signature: Any = None,
    ) -> _D:
        """Create a dataset of ``obj[0]``, ``obj[1]`` and so on, fetched on demand.

        Parameters
        ----------
        obj : object
            Any object with ``__len__`` and ``__getitem__``: a list, a PyTorch map-style dataset, a
            table. If it has ``__getitems__``, that is called with a list of ints when several rows
            are needed together, and returns a list of rows.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        num_parallel_calls : int, optional
            Maximum number of concurrent calls, each on its own thread; AUTOTUNE (-1) picks the
            number. None calls in the consumer's thread.
        deterministic : bool, optional
            Whether results are in order; None uses the setting in `Options` (True by default).
        output_signature : nested TensorSpec, optional
            Rows are converted to this and checked against it; `element_spec` is then known without
            fetching a row.

        Returns
        -------
        Dataset
            The ``len(obj)`` rows.

        Raises
        ------
        TypeError
            If `obj` has no ``__len__`` or no ``__getitem__``; while iterating, if a row does not
            match `output_signature`.
        ValueError
            If `num_parallel_calls` is neither AUTOTUNE nor >= 1.
        RuntimeError
            While iterating, if the length of `obj` has changed since the dataset was created.

        Notes
        -----
        Order: `shuffle`, `shard`, `shard_evenly`, `take`, `skip` and `repeat` directly after it
        operate on row numbers, before anything is fetched. So ``shuffle(len(obj))`` keeps no rows
        in memory, and a shard fetches only its own rows. (A row that is not selected cannot fail.)

        Errors: an exception of ``obj[i]`` is raised unchanged at the position of that row, with a
        note that names the row, and the next row follows. If ``__getitems__`` fails, its rows are
        fetched again individually.

        Values are converted as the results of `map` functions are, except that a list becomes one
        array. A saved state holds a position: restoring fetches nothing.

        Random penstock operations inside ``obj[i]`` draw from the element's own key. Do not use
        them inside ``__getitems__``: the number of rows it receives depends on timing.

        Examples
        --------
        >>> class Squares:
        ...     def __len__(self):
        ...         return 5
        ...     def __getitem__(self, i):
        ...         return {"i": i, "square": i * i}
        >>> ds = ps.Dataset.from_indexable(Squares())
        >>> len(ds)
        5
        >>> ds.shuffle(5, seed=3).batch(5).first()["square"].sum()
        np.int64(30)
        """
        for method in ("__len__", "__getitem__"):
            if not hasattr(type(obj), method) or isinstance(obj, type):
                raise TypeError(
                    "from_indexable: an object with __len__ and __getitem__ was expected, got "
                    f"{obj!r:.200}, which has no {method}; use from_generator for what can only "
                    "be iterated"
                )
        refuse_columns("from_indexable", obj)
        return cls._of_rows(
            obj,
            name,
            num_parallel_calls,
            deterministic=deterministic,
            output_signature=output_signature,
        )

    @classmethod
    def _of_rows(
        cls: type[_D],
        obj: Any,
        name: str | None,
        num_parallel_calls: int | None = None,
        **args: Any,
    ) -> _D:
        """Create the dataset; with `part_of`, errors and statistics show that name."""
        args["obj"] = Indexable(obj, len(obj))
        kind = "from_indexable"
        if num_parallel_calls is None:
            args.pop("deterministic", None)
        else:
            kind = "parallel_from_indexable"
            args["num_parallel_calls"] = num_parallel_calls
        return cls._make(kind, (cls.range(len(obj)),), args, name)
