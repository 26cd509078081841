"""Elements by their positions: select, global_shuffle, and one of them."""

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
    """Return the element of a plan that has one."""
    # Nothing is buffered: finding out how much could be would take longer than the rest.
    how = {**plan._options._for_engine(counted=False), "threads": 1, "memory_limit": 2**30}
    with Iterator(plan, how) as it:
        return next(it)


@checked_methods
class Select(Plan):
    """Mixin: elements by their positions."""

    __slots__ = ()

    def select(
        self: _D,
        indices: Sequence[int] | np.ndarray | Callable[..., Any] | Plan,
        count: int | None = None,
        name: str | None = None,
    ) -> _D:
        """Give the elements at positions, in this order.

        Parameters
        ----------
        indices : sequence of int, callable, or Dataset of int
            Positions: a list, a range, an array of integers, or of a bool for each element (those
            that are True are given). A function takes the numbers from 0 to ``count - 1`` and
            returns the position of each. Negative positions count from the end, and a position may
            come several times.
        count : int, optional
            For a function: how many elements. None means as many as there are.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The elements, of which only those that are asked for are computed.

        Raises
        ------
        TypeError
            If a stage before it has no random access, or `indices` are no integers.
        ValueError
            If `count` is given without a function, or bools are not as many as there are elements;
            while iterating, at a position that there is not: the next one follows.

        Notes
        -----
        Stages with random access are listed at `experimental.at`. A saved state holds what that of
        the positions does: a counter, for a sequence. Rows of files (``indexed=True``) are read
        together: up to 1024, or 8 MiB, sorted by file and offset.

        `ParquetDataset` and `ArrowDataset` decode whole row groups. Decoded rows take at most half
        of ``Options.memory_limit``. If all of them fit, each row group is decoded once by each
        iterator. Otherwise the stage looks ahead through a window of positions, as many as there is
        room for, and decodes each row group at most once for each window. Windows grow from 64
        positions, so that the first elements arrive early. Lint rule PS032 reports how often each
        row group is decoded.

        Errors, random numbers: as of `experimental.at`. In stages after it, an element that comes
        several times draws other numbers each time.

        Order: `shuffle`, `shard`, `shard_evenly`, `take` and `skip` directly after it choose among
        positions, before anything is read or computed. For parallel work, `map` after it.

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
        own: Any = self  # a Dataset, which has a length
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
            As of `shuffle`.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            Each element once, in a random order.

        Raises
        ------
        TypeError
            If a stage before it has no random access (the error names it), or the dataset has no
            end.

        Notes
        -----
        Order: the position of each element is a keyed function of its number. Up to 4096 elements
        come in a uniform permutation. More are enciphered by a Feistel network (Luby and Rackoff,
        SIAM J. Comput. 17, 1988), applied again to what falls outside their number (cycle walking:
        Black and Rogaway, CT-RSA 2002): each comes once, and the order looks random to statistical
        tests, but not all orders are possible. A saved state holds a key and a position; starting
        anywhere costs the same.

        Random access, errors, memory and reading as of `select`: put it directly after the source,
        and `map` after it. `take`, `skip`, `shard` and `shard_evenly` directly after it choose
        before anything is read. `shuffle` has to be given a buffer, and works over any dataset.

        Examples
        --------
        >>> ds = ps.Dataset.range(10**9).global_shuffle(seed=1)
        >>> len({int(x) for x in ds.take(1000)})
        1000
        """
        try:
            self.select(())  # a stage without random access is named first
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
