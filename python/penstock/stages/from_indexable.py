"""Sources over Python objects with rows: from_indexable."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.columns import refuse_columns
from penstock.encode import Indexable
from penstock.stages.numbers import Numbers

_D = TypeVar("_D", bound="FromIndexable")


@checked_methods
class FromIndexable(Numbers):
    """Mixin: datasets of the rows of an object."""

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
        """Make a dataset of ``obj[0]``, ``obj[1]`` and so on, fetched when they are needed.

        Parameters
        ----------
        obj : object
            Any object with ``__len__`` and ``__getitem__``: a list, a map-style dataset of PyTorch,
            a table. Its ``__getitems__``, if it has one, is called with a list of ints where
            several rows are wanted at once, and returns a list of rows.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        num_parallel_calls : int, optional
            Calls at a time, each on its own thread; AUTOTUNE (-1) chooses. None calls in the thread
            that asks.
        deterministic : bool, optional
            Whether results come in order; None takes it from `Options` (True by default).
        output_signature : nested TensorSpec, optional
            What rows are converted to and checked against; makes `element_spec` known without a
            fetch.

        Returns
        -------
        Dataset
            Of ``len(obj)`` elements.

        Raises
        ------
        TypeError
            If `obj` has no ``__len__`` or no ``__getitem__``; while iterating, if a row does not
            match `output_signature`.
        ValueError
            If `num_parallel_calls` is neither AUTOTUNE nor >= 1.
        RuntimeError
            While iterating, if `obj` has another length than when the dataset was made.

        Notes
        -----
        Order: `shuffle`, `shard`, `shard_evenly`, `take`, `skip` and `repeat` directly after it
        choose among row numbers, before anything is fetched. So ``shuffle(len(obj))`` keeps no rows
        in memory, and a shard fetches its own rows only. (A row that is passed over cannot fail.)

        Errors: an exception of ``obj[i]`` is raised as itself at the position of that row, with a
        note that names it, and the next row follows. When ``__getitems__`` fails, its rows are
        fetched again one by one.

        Values are taken as those that a function of `map` returns, except that a list is one array.
        A saved state holds a position: restoring fetches nothing.

        Random operations of penstock inside ``obj[i]`` draw from the element's own key. Inside
        ``__getitems__`` they should not be used: how many rows it is asked for depends on timing.

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
        """Make one of these datasets; with `part_of`, errors and statistics know it by that."""
        args["obj"] = Indexable(obj, len(obj))
        kind = "from_indexable"
        if num_parallel_calls is None:
            args.pop("deterministic", None)
        else:
            kind = "parallel_from_indexable"
            args["num_parallel_calls"] = num_parallel_calls
        return cls._make(kind, (cls.range(len(obj)),), args, name)
