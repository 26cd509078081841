"""Division of the elements among processes: shard, shard_evenly."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.ops.native import native
from penstock.plan import Plan
from penstock.random import is_seeded
from penstock.stages.batch import short_batches
from penstock.stages.file_shards import Remainder, real_record, shard_files
from penstock.traits import main_form, traits_of

_D = TypeVar("_D", bound="Shard")

_INFINITE = -1
_MOST = 2**63 - 1  # more elements than any dataset has


@checked_methods
class Shard(Plan):
    """Mixin: sharding."""

    __slots__ = ()

    def shard(self: _D, num_shards: int, index: int, name: str | None = None) -> _D:
        """Take every `num_shards`-th element, starting at `index`.

        Parameters
        ----------
        num_shards : int
            Number of shards, >= 1.
        index : int
            Index of this shard, in ``[0, num_shards)``.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The elements at positions ``index``, ``index + num_shards``, and so on.

        Raises
        ------
        ValueError
            If `num_shards` < 1 or `index` is not in ``[0, num_shards)``.

        Notes
        -----
        Put it before anything random, so that the shards match, and early (after file names, for
        example), so that elements of other shards are not computed. After a shuffle without a seed,
        which has a different order in each process, it emits a RuntimeWarning.

        Examples
        --------
        >>> [int(x) for x in ps.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        sharded = self._then("shard", num_shards=num_shards, index=index, name=name)
        if num_shards > 1 and not is_seeded() and _unseeded_shuffle(self):
            warnings.warn(
                "shard: a shuffle before it has no seed, so every process has another order, and "
                "shards lose and double elements; give that shuffle (or list_files) a seed, put "
                "shard before it, or use shard_evenly",
                RuntimeWarning,
                stacklevel=3,
            )
        return sharded

    def shard_evenly(
        self: _D,
        num_shards: int,
        index: int,
        remainder: Remainder | None = None,
        *,
        seed: int = 0,
        mask_key: str = "valid",
        by: Literal["elements", "files"] = "elements",
        evaluation: bool = False,
        name: str | None = None,
    ) -> _D:
        """Take every `num_shards`-th element, with equal numbers of elements for all indices.

        Parameters
        ----------
        num_shards : int
            Number of shards, >= 1: one for each process, for example.
        index : int
            Index of this shard, in ``[0, num_shards)``.
        remainder : "drop", "pad" or "repeat", optional
            Treatment of the last elements if they do not suffice for all shards. None means "pad"
            with `evaluation`, otherwise "drop".

            "drop" drops them in all shards.

            "pad" adds zero-valued elements ("" for strings), and a mask that marks the real
            elements: a dict gets it under `mask_key`, a tuple as an additional last leaf, and
            anything else becomes ``(element, mask)``. No element is lost or repeated.

            "repeat" fills the gap with elements from the beginning, repeatedly if necessary.
        seed : int
            The seed of all earlier random stages that have no seed.
        mask_key : str
            The key of the mask, for dicts.
        by : "elements" or "files"
            The unit of division. "files" takes every `num_shards`-th file of the list passed to
            `TFRecordDataset`, `TextLineDataset` or `FixedLengthRecordDataset`, which must be the
            dataset itself. All shards still have the same number of elements: "drop" cuts them to
            the shortest shard; "pad" extends them to the longest one with b""; "repeat" extends
            them with the shard's own first elements.
        evaluation : bool
            Count each element exactly once over all shards: implies "pad", and raises an error if
            batches would be uneven. `gather_exact` collects the results that the processes computed
            for their batches, without the padding and in the order of this dataset.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.

        Returns
        -------
        Dataset
            The elements at positions ``index``, ``index + num_shards``, and so on. All shards have
            the same number of elements: ``n // num_shards`` of `n`, rounded up unless the remainder
            is dropped.

        Raises
        ------
        ValueError
            If `num_shards`, `index` or `remainder` is invalid; if an earlier `shuffle` would have a
            different order in each process (see the notes); with "pad", if the elements already
            have the key `mask_key`; with ``by="files"``, if the dataset is anything other than
            records of files, or if a shard has no records. With `evaluation`, if `remainder` is not
            "pad", the dataset is infinite, or its last batch has fewer rows than the others.
        TypeError
            With "pad", for opaque Python objects.
        RuntimeError
            While iterating: with "repeat", if the source cannot be read again; with "pad", if all
            elements of the last, incomplete round failed.

        Notes
        -----
        Length: it need not be known. If it is not, a shard reads the elements of other shards far
        enough to know that they exist; "repeat" restarts the input for its last element. The
        padding has the shape of one of the last elements of the input.

        Order: every shard must be built from the same pipeline and be iterated the same number of
        times. All shards then see the same order, although each is in its own process: a `shuffle`
        before this stage draws from `seed`, not from `set_seed` or the operating system, and
        ``deterministic=False`` is ignored. Each epoch and each new iterator still has a different
        order. Two kinds of shuffle would differ between processes and raise an error: one without a
        seed and with ``reshuffle_each_iteration=False``, and one that reshuffles before a `cache`
        or `snapshot`. (Randomness in your own generator is not visible here, nor in datasets that a
        function opens and shuffles with ``reshuffle_each_iteration=False``: use the same seed in
        all processes.) Later stages are local to their process.

        Cost: put it early. Where rows can be selected by position (`range`, `from_tensor_slices`,
        `from_indexable`, also after `shuffle`), rows of other shards are never touched; an earlier
        plain `map` is not called for them. In uncompressed files that are read sequentially,
        fixed-length records of other shards are not read. Of their TFRecords, only the 12-byte
        length header is read, if records are larger than about 64 KB. Everything else (lines,
        compressed files, `num_parallel_reads`, an earlier `filter` or `shuffle`) is read and
        computed in every shard; shard such data ``by="files"``, or give each shard its own files.
        ``by="files"`` counts the records of all files at the call, in each process, which costs as
        much as skipping records of other shards; after that, a process reads only its own files.
        After `batch`, whole batches are divided: drop the remainder there too, or the last batch
        has fewer rows in one shard.

        Errors: an element that fails counts, and is raised only in its own shard. A later stage
        that drops elements (`filter`, ``on_error="skip"``) makes the lengths unequal again.

        States: a saved state holds the progress of all shards, so the state of one shard can
        restore any other, even with a different number of shards or batch size. This requires that
        no later stage changes the number of elements or mixes elements of several steps
        (docs/guides/checkpoints.md). `merge_states` combines the states of shards that are not at
        the same step. With ``by="files"`` each process has its own state, because each reads a
        different file: restoring the state of another shard raises `StateError`.

        Examples
        --------
        >>> ds = ps.Dataset.range(7)
        >>> [[int(x) for x in ds.shard_evenly(3, i)] for i in range(3)]
        [[0, 3], [1, 4], [2, 5]]
        >>> [[int(x) for x in ds.shard_evenly(3, i, "repeat")] for i in range(3)]
        [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
        >>> [(int(x), bool(real)) for x, real in ds.shard_evenly(3, 1, "pad")]
        [(1, True), (4, True), (0, False)]
        """
        if evaluation:
            _check_evaluation(self, remainder)
            remainder = "pad"
        remainder = "drop" if remainder is None else remainder
        if by == "files":
            of_files: _D = shard_files(self, num_shards, index, remainder)
            return of_files
        if by != "elements":
            raise ValueError(f"shard_evenly: by must be 'elements' or 'files', got {by!r}")
        _check_order(self)
        args: dict[str, Any] = {"num_shards": num_shards, "index": index, "seed": seed}
        if remainder != "pad":
            return self._then("shard_evenly", remainder=remainder, name=name, **args)
        inner = self._then("shard_evenly", remainder="repeat", name=name, **args)
        if inner._kind == "shard_evenly":
            inner = self
        else:  # `_then` sharded the row positions, whose number is known
            length = self._node.cardinality
            args["dealt"] = _MOST if length == _INFINITE else length
        pairs: Any = self._make("shard_evenly", (inner,), {"remainder": "pad", **args}, name)
        masked = functools.partial(_with_mask, mask_key)
        # A native function needs the element types, but computing an element to get them is too
        # costly.
        known = pairs._node.first_unknown() is None
        padded: _D = pairs.map(native(masked) if known else masked)
        return padded


def is_filled_up(dataset: Any) -> bool:
    """Return whether elements of a dataset may be padding, marked by a mask."""
    return _has_stage(
        dataset,
        lambda stage: (
            (stage._kind == "shard_evenly" and stage._args["remainder"] == "pad")
            or stage._args.get("map_func") is real_record
        ),
    )


def is_divided(dataset: Any) -> bool:
    """Return whether a dataset is sharded among several processes."""
    return _has_stage(
        dataset,
        lambda stage: stage._kind in ("shard", "shard_evenly") and stage._args["num_shards"] > 1,
    )


def _has_stage(dataset: Any, fits: Callable[[Any], bool]) -> bool:
    """Return whether `fits` is true for a dataset or one of its inputs."""
    waiting = [dataset]
    seen: set[int] = set()
    while waiting:
        stage = waiting.pop()
        if id(stage) in seen:
            continue
        seen.add(id(stage))
        if fits(stage):
            return True
        waiting += stage._inputs
    return False


def _check_evaluation(dataset: Any, remainder: str | None) -> None:
    if remainder not in (None, "pad"):
        raise ValueError(
            "shard_evenly: evaluation=True keeps every element and fills up: remainder must be "
            f"'pad', got {remainder!r}"
        )
    if dataset._node.cardinality == _INFINITE:
        raise ValueError(
            "shard_evenly: evaluation=True: a dataset that ends was expected, this one is "
            "infinite; put take before it, or leave out repeat"
        )
    if short_batches(dataset):
        raise ValueError(
            "shard_evenly: evaluation=True: batches of one size were expected, the last one has "
            "fewer rows and would be in one shard alone; put batch after the sharding"
        )


def _unseeded_shuffle(dataset: Any) -> bool:
    """Return whether a shuffle without a seed is among a dataset and its inputs."""
    return _has_stage(
        dataset, lambda stage: stage._kind == "shuffle" and stage._args["seed"] is None
    )


def _check_order(dataset: Any) -> None:
    """Raise ValueError if the order of elements would differ between processes."""
    open_ = [(dataset, "")]  # an explicit stack: chains are longer than the recursion limit
    seen: set[tuple[int, str]] = set()
    while open_:
        node, kept_by = open_.pop()
        if (id(node), kept_by) in seen:
            continue
        seen.add((id(node), kept_by))
        if node._kind == "shuffle":
            _check_shuffle(node._args, kept_by)
        kept_by = main_form(node._kind) if traits_of(node._kind).replays else kept_by
        open_ += [(before, kept_by) for before in node._inputs]


def _check_shuffle(args: dict[str, Any], kept_by: str) -> None:
    if args["seed"] is None and not args["reshuffle_each_iteration"]:
        raise ValueError(
            "shard_evenly: a shuffle before it that has one order for all epochs has it for this "
            "process alone, shards would lose and double elements; give that shuffle a seed"
        )
    if kept_by and args["reshuffle_each_iteration"]:
        raise ValueError(
            f"shard_evenly: {kept_by} before it keeps the order of one pass of a shuffle, which "
            f"may be that of this process alone; put {kept_by} before the shuffle"
        )


def _with_mask(mask_key: str, element: Any, mask: Any) -> Any:
    if isinstance(element, dict):
        if mask_key in element:
            raise ValueError(
                f"shard_evenly: the elements have a key {mask_key!r} already; choose another "
                "mask_key"
            )
        return {**element, mask_key: mask}
    return (*element, mask) if type(element) is tuple else (element, mask)
