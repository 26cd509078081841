"""Datasets as batches of jax.Arrays."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from penstock.adapters.batch_size import LEFT_OUT, VALID, OneSize, short_batches
from penstock.adapters.batches import Batches, BatchIterator, Held
from penstock.adapters.jax_arrays import Placement, check_sharding
from penstock.arguments.checked import checked_methods

if TYPE_CHECKING:
    from penstock.dataset import Dataset

_STAGE = "to_jax"


@checked_methods
class JaxForms:
    """Mixin: batches for JAX."""

    __slots__ = ()

    def to_jax(
        self,
        sharding: Any = None,
        *,
        prefetch: int | str = "auto",
        drop_remainder: bool = True,
        pad: bool | str | None = None,
        global_batch: int | None = None,
    ) -> JaxBatches:
        """Give the batches as jax.Arrays that lie on their devices before they are asked for.

        Parameters
        ----------
        sharding : jax.Device, jax.sharding.Sharding or a nesting of them, optional
            Where the arrays go: to one device, or spread over several, as
            ``NamedSharding(mesh, PartitionSpec("data"))`` tells. A nesting (dict, tuple,
            dataclass) has a place for each part of a batch; one that stands for a part holds for
            all leaves in it. None, also within a nesting: the default device of the thread that
            calls ``iter``.
        prefetch : int or "auto"
            Batches to have on the device ahead of use, put there by a thread of the run; 0 does all
            when a batch is asked for. "auto": 1 on a TPU and 2 on a GPU; on a CPU 2 are loaded
            ahead, and become jax.Arrays when they are asked for, since that copies nothing.
        drop_remainder : bool
            Leave out every batch with fewer rows than the first one, wherever it comes, so that a
            jitted step is compiled once and the rows can be spread evenly; two of them in a row,
            or one with more rows, are an error. False gives batches of all sizes as they are, which
            those of `bucket_by_sequence_length` need when its sizes differ.
        pad : bool or str, optional
            Fill such a batch up instead, with zeros (and empty strings), and add a mask to every
            batch: True for rows of the dataset, False for those filled up. In a dict it is the leaf
            of this key (True: "valid"), joined with a mask that is there already; behind a tuple or
            a single array it comes last, which for ``(x, y)`` is the place of weights.
        global_batch : int, optional
            Rows of a full batch in all processes together, for messages, `drop_remainder` and
            `pad` where a process may not have a full one to begin with. None: the first batch of
            each process is full.

        Returns
        -------
        JaxBatches
            Can be looped over again; has a length if it is known. With `drop_remainder` it is not
            behind `map`, which may change the number of rows, unless the ``output_signature`` there
            fixes it.

        Raises
        ------
        TypeError
            At once, if an argument is of a wrong type. While iterating, if JAX has no dtype for a
            leaf (times, long doubles), if `sharding` is not nested as the batches are, or if `pad`
            finds no place for the mask (in named tuples and dataclasses).
        ValueError
            At once, if a number is out of range. While iterating, if rows cannot be divided among
            the devices, or sizes of batches vary though `drop_remainder` or `pad` is given.

        Notes
        -----
        A batch is an element of this dataset: put `batch` before. Containers stay what they are;
        those that are no pytrees (dataclasses) need not be registered. Strings and opaque objects
        stay NumPy arrays.

        64-bit leaves become 32-bit ones, silently, unless ``jax_enable_x64`` is set: the rule of
        ``jnp.asarray``.

        On a CPU device no copy is made: the arrays lie where the pipeline wrote them, and that
        memory is not used again before JAX has let go of it. Leaves that somebody else can still
        change (arrays given to `from_tensors`) are copied.

        In a program of several processes (``jax.distributed``) a sharding over devices of all of
        them makes global arrays, of which each process gives the part for its own devices
        (``jax.make_array_from_process_local_data``). All must then give as many batches, of the
        same sizes.

        The position that `get_state` of an iterator returns is behind the last batch that was
        taken; those made ahead do not count.

        Examples
        --------
        >>> ds = ps.Dataset.from_tensor_slices({"x": np.arange(10.0), "y": np.arange(10)}).batch(4)
        >>> for batch in ds.to_jax():
        ...     print(batch["x"], batch["y"].dtype)
        [0. 1. 2. 3.] int32
        [4. 5. 6. 7.] int32
        >>> [batch["valid"].sum().item() for batch in ds.to_jax(pad=True)]
        [4, 4, 2]
        """
        check_sharding(sharding)
        if not (pad is None or isinstance(pad, (bool, str))):
            raise TypeError(f"to_jax: pad must be True, the key of the mask or None, got {pad!r}")
        mask = VALID if pad is True else pad if isinstance(pad, str) else None
        dataset: Any = self
        return JaxBatches(dataset, sharding, prefetch, bool(drop_remainder), mask, global_batch)


class JaxBatches(Batches):
    """The batches of a dataset as jax.Arrays; what `Dataset.to_jax` returns.

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
    ) -> None:
        super().__init__(dataset, _value)
        self._sharding = sharding
        self._prefetch = prefetch
        self._drop = drop and mask is None
        self._mask = mask
        self._global_batch = global_batch

    def __iter__(self) -> BatchIterator:
        # Here and not before: devices and settings are those of the thread that iterates, and a
        # program of several processes joins them before it asks for devices.
        placement = Placement(self._sharding)
        rows = self._global_batch
        full_of = None if rows is None else functools.partial(placement.rows_here, rows)
        one_size = OneSize(_STAGE, self._drop, self._mask, full_of)

        def step(state: Any, batch: Any) -> tuple[Any, Held]:
            state, batch = one_size(state, batch)
            return state, Held(batch if batch is LEFT_OUT else placement(batch))

        loaded, ahead = self._buffers(placement.platform)
        run = self._dataset.prefetch(loaded)._then(
            "scan", initial_state=OneSize.initial_state, scan_func=step, part_of=_STAGE
        )
        if self._drop:
            run = run.filter(_stays)
        return BatchIterator(iter(run.prefetch(ahead)), self._form)

    def _buffers(self, platform: str) -> tuple[int, Any]:
        """Return how many batches wait to be put on the device, and how many lie there."""
        if self._prefetch != "auto":
            return 0, self._prefetch
        if platform == "cpu":
            # Where nothing has to be copied, two threads that take turns with the GIL cost more
            # than what the other one does.
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
                "to_jax(drop_remainder=False) leaves out none, and there are none behind "
                "batch(drop_remainder=True) or a map with sizes in its output_signature"
            )
        return batches - short


def _value(held: Held) -> Any:
    return held.value


def _stays(held: Held) -> bool:
    return held.value is not LEFT_OUT
