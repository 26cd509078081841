"""Conversion of datasets to batches of jax.Arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.adapters.batch_size import LEFT_OUT, VALID, OneSize, rows_of
from penstock.adapters.batches import Batches, BatchIterator, Held
from penstock.adapters.jax_arrays import Placement, check_sharding, processes_of_rows
from penstock.adapters.processes import warn_undivided
from penstock.dataset import Dataset
from penstock.exclusions import Ignored
from penstock.probing import first_ones
from penstock.stages.batch import first_batch, full_batch, short_batches
from penstock.stages.scan import scan_for
from penstock.stages.shard import is_filled_up

_STAGE = "to_jax"


def jax_batches(
    dataset: Any,
    sharding: Any,
    prefetch: int | str,
    drop_remainder: bool | None,
    pad: bool | str | None,
    global_batch: int | None,
    sharded: bool | None,
) -> JaxBatches:
    """Implement `Dataset.to_jax`."""
    check_sharding(sharding)
    warn_undivided(_STAGE, dataset, sharded, processes_of_rows(sharding), "shard_for_jax()")
    if not (pad is None or isinstance(pad, (bool, str))):
        raise TypeError(f"to_jax: pad must be True, the key of the mask or None, got {pad!r}")
    mask = VALID if pad is True else pad if isinstance(pad, str) else None
    fill = drop_remainder is None and mask is None and is_filled_up(dataset)
    drop = not fill and drop_remainder in (None, True)
    return JaxBatches(dataset, sharding, prefetch, drop, mask, global_batch, fill)


class JaxBatches(Batches):
    """Batches of a dataset as jax.Arrays: the result of `Dataset.to_jax`.

    Examples
    --------
    >>> batches = ps.Dataset.range(10).batch(5).to_jax()
    >>> len(batches)
    2
    >>> with iter(batches) as it:
    ...     print(next(it) + 1)
    [1 2 3 4 5]
    """

    def __init__(
        self,
        dataset: Dataset,
        sharding: Any,
        prefetch: int | str,
        drop: bool,
        mask: str | None,
        global_batch: int | None,
        fill: bool = False,
    ) -> None:
        super().__init__(dataset, _value)
        self._sharding = sharding
        self._prefetch = prefetch
        self._drop = drop and mask is None
        self._mask = mask
        self._global_batch = global_batch
        self._fill = fill  # whether batches already contain a mask

    def __iter__(self) -> BatchIterator:
        # Look up devices here, not in the constructor. Devices and settings are those of the
        # iterating thread, and a multi-process program must initialise JAX before it queries
        # devices.
        #
        # Row counts and devices depend on the number of processes, but states must not.
        placement = Ignored(Placement(self._sharding))
        one_size = OneSize(
            _STAGE,
            self._drop,
            self._mask,
            self._full_of(placement.value),
            self._fill,
            Ignored(self._first_rows),
        )

        def step(state: Any, batch: Any) -> tuple[Any, Held]:
            state, batch = one_size(state, batch)
            return state, Held(batch if batch is LEFT_OUT else placement(batch))

        loaded, ahead = self._buffers(placement.value.platform)
        run = scan_for(
            _STAGE,
            self._dataset.prefetch(loaded),
            OneSize.initial_state,
            step,
            OneSize.carried_state,
        )
        # The iterator, not a filter stage, drops short batches: the state of a filter would be tied
        # to the process count.
        return BatchIterator(iter(run.prefetch(ahead)), self._form, LEFT_OUT)

    def _full_of(self, placement: Placement) -> Ignored[Callable[[Any], int]] | None:
        """Return a function for the row count of a full batch; None: that of the first batch."""
        if self._global_batch is not None:
            return Ignored(functools.partial(placement.rows_here, self._global_batch))
        # With few elements, even the first batch is not full.
        rows = full_batch(self._dataset) if self._fill else None
        # A function may have increased the number of rows.
        return None if rows is None else Ignored(lambda batch: max(rows, rows_of(batch) or 0))

    def _first_rows(self, batch: Any) -> int:
        """Return the row count of an epoch's first batch; `batch` may be its last one."""
        rows = rows_of(batch) or 0
        if rows == first_batch(self._dataset):
            return rows
        # Unknown, or a function has changed it.
        first = first_ones(self._dataset.take(1))
        return max((rows_of(other) or 0 for other in first), default=rows)

    def _buffers(self, platform: str) -> tuple[int, Any]:
        """Return how many batches to buffer before the transfer, and how many on the device."""
        if self._prefetch != "auto":
            return 0, self._prefetch
        if platform == "cpu":
            # Without a transfer, a second thread costs more in switching the GIL than it saves.
            return 2, 0
        return 0, 1 if platform == "tpu" else 2

    def __len__(self) -> int:
        batches = len(self._dataset)
        if not self._drop:
            return batches
        short = short_batches(self._dataset, self._global_batch is not None)
        if short is None:
            raise TypeError(
                "len: it is not known how many batches have fewer rows and are left out; "
                "to_jax(drop_remainder=False) leaves out none, and there are none after "
                "batch(drop_remainder=True) or a map with sizes in its output_signature"
            )
        return batches - short


def _value(held: Held) -> Any:
    return held.value
