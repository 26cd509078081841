"""Access by position: select, global_shuffle, and single elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.iterator import Iterator
from penstock.plan import Plan
from penstock.stages.map import map_for
from penstock.stages.numbers import Numbers
from penstock.stages.tensors import Tensors

_D = TypeVar("_D", bound="Select")


def only_element(plan: Any) -> Any:
    """Return the element of a plan that has exactly one."""
    # A fixed limit, as nothing is buffered: measuring free memory would take longer than the rest.
    how = {**plan._options._for_engine(counted=False), "threads": 1, "memory_limit": 2**30}
    with Iterator(plan, how) as it:
        return next(it)


@checked_methods
class Select(Plan):
    """Mixin: access by position."""

    __slots__ = ()

    def select(
        self: _D,
        indices: Sequence[int] | np.ndarray | Callable[..., Any] | Plan,
        count: int | None = None,
        name: str | None = None,
    ) -> _D:
        """Select elements by position, in the given order.

        Parameters
        ----------
        indices : sequence of int, callable, or Dataset of int
            Positions: a list, range or array of integers, or one bool per element, which selects
            the elements that are True. A function takes the numbers from 0 to ``count - 1`` and
            returns the position for each. Negative positions count from the end, and positions may
            repeat.
        count : int, optional
            For a function: the number of elements. None means the length of the dataset.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The selected elements; others are not computed.

        Raises
        ------
        TypeError
            If an earlier stage lacks random access, or `indices` are not integers.
        ValueError
            If `count` is given without a function, or the number of bools is not the number of
            elements. While iterating, if a position is out of range; the next element follows.

        Notes
        -----
        `experimental.at` lists the stages with random access. A saved state holds the state of the
        positions: a counter, for a sequence. Rows of files (``indexed=True``) are read together: up
        to 1024 rows or 8 MiB, sorted by file and offset.

        `ParquetDataset` and `ArrowDataset` decode whole row groups. Decoded rows take at most half
        of ``Options.memory_limit``. If all of them fit, each iterator decodes each row group once.
        Otherwise the stage looks ahead through a window of positions, as large as memory permits,
        and decodes each row group at most once per window. Windows grow from 64 positions, so that
        the first elements arrive early. Lint rule PS032 reports how often each row group is
        decoded.

        Errors and random numbers: as in `experimental.at`. In later stages, an element that is
        selected several times draws different numbers each time.

        Order: `shuffle`, `shard`, `shard_evenly`, `take` and `skip` directly after it operate on
        positions, before anything is read or computed. For parallel work, add `map` after it.

        Samplers are arrays of positions: see :doc:`/guides/random_access`.

        Examples
        --------
        >>> ds = ps.Dataset.range(10, 20)
        >>> [int(x) for x in ds.select([3, 1, -1])]
        [13, 11, 19]
        >>> [int(x) for x in ds.select(lambda i: i * i, count=4)]
        [10, 11, 14, 19]
        """
        if count is not None and not callable(indices):
            raise ValueError(
                f"select: count is for indices that are a function, got {count} with "
                f"{indices!r:.200}"
            )
        return self._make("select", (self._positions(indices, count), self), {}, name)

    def _size(self) -> int:
        own: Any = self  # a Dataset, which has __len__
        return len(own)

    def _positions(self, indices: Any, count: int | None) -> Plan:
        if isinstance(indices, Plan):
            return indices
        if callable(indices):
            numbers = Numbers.range(self._size() if count is None else count)
            return map_for("select", numbers, indices)
        if isinstance(indices, range):
            return Numbers.range(indices.start, indices.stop, indices.step)
        try:
            wanted = np.asarray(indices)
        except ValueError as error:
            raise TypeError(f"select: indices: {error}") from None
        if wanted.dtype == bool and wanted.ndim == 1:
            if len(wanted) != self._size():
                raise ValueError(
                    f"select: indices that are bools must be as many as there are elements, "
                    f"{self._size()}, got {len(wanted)}"
                )
            wanted = np.flatnonzero(wanted)
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise TypeError(
                "select: indices must be a sequence of integers, of a bool for each element, a "
                f"function or a Dataset of integers, got {indices!r:.200}"
            )
        if wanted.dtype == np.uint64 and wanted.size and wanted.max() >= 2**63:
            raise IndexError(f"select: indices has position {wanted.max()}, beyond the dataset")
        return Tensors.from_tensor_slices(wanted.astype(np.int64))

    def global_shuffle(
        self: _D,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,
        name: str | None = None,
    ) -> _D:
        """Shuffle all elements without a shuffle buffer.

        Parameters
        ----------
        seed, reshuffle_each_iteration
            As in `shuffle`.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Each element once, in random order.

        Raises
        ------
        TypeError
            If an earlier stage lacks random access (the error names it), or the dataset is
            infinite.

        Notes
        -----
        Order: each element's position is a keyed function of its index. Up to 4096 elements are in
        a uniformly random permutation. Above that, indices are encrypted by a Feistel network (Luby
        and Rackoff, SIAM J. Comput. 17, 1988), which is applied again to results outside the range
        (cycle walking: Black and Rogaway, CT-RSA 2002). Each element then occurs once, and the
        order passes statistical tests of randomness, but not all orders are possible. A saved state
        holds a key and a position; starting at any position costs the same.

        Random access, errors, memory and reading are as in `select`: put it directly after the
        source, and `map` after it. `take`, `skip`, `shard` and `shard_evenly` directly after it
        operate on positions, before anything is read. `shuffle`, by contrast, needs a buffer and
        works with any dataset.

        Examples
        --------
        >>> ds = ps.Dataset.range(10**9).global_shuffle(seed=1)
        >>> len({int(x) for x in ds.take(1000)})
        1000
        """
        try:
            self.select(())  # raises first if a stage lacks random access
            size = self._size()
        except TypeError as error:
            text = str(error).removeprefix("select: ")
            raise TypeError(f"global_shuffle: {text}") from None
        args = {
            "size": size,
            "seed": seed,
            "reshuffle_each_iteration": reshuffle_each_iteration,
        }
        return self._make("select", (self._make("permutation", (), args), self), {}, name)
