"""Rules about sharding between processes."""

from __future__ import annotations

import math

from penstock.lint.rule import Said, rule
from penstock.lint.view import StageView

_SHARDS = ("shard", "shard_evenly")
# The number of their outputs depends on the contents of their inputs.
_BY_CONTENT = frozenset(
    (
        *("bucket_by_sequence_length", "filter", "flat_map", "group_by_reducer"),
        *("group_by_window", "ignore_errors", "interleave", "pack", "rejection_resample"),
        *("take_while", "unbatch", "unique"),
    )
)


@rule("PS013")
def shard_after_shuffle_without_seed(stage: StageView) -> Said:
    """A `shard` follows a `shuffle` without a seed.

    **Why is this bad?** Each process shuffles differently and takes its shard of a different order.
    Some elements go to several processes, and others to none.

    **Instead of**::

        ds.shuffle(1000).shard(8, rank)

    **write**::

        ds.shard(8, rank).shuffle(1000)

    or give the shuffle a `seed`, the same in all processes.

    **When to ignore it.** All processes call `set_seed` with the same number.
    """
    if stage.kind not in _SHARDS or stage.args.get("num_shards") == 1:
        return
    for before in stage.before:
        if before.kind in ("shuffle", "permutation") and before.args.get("seed") is None:
            yield (
                "each process takes its share of another order",
                "put shard before shuffle, or give shuffle a seed",
            )
            return


@rule("PS014")
def shard_after_work(stage: StageView) -> Said:
    """A `shard` follows a function or a `batch`.

    **Why is this bad?** Each process does the work for all shards, and discards most of it. After
    `batch`, shards consist of whole batches.

    **Instead of**::

        files.map(decode).batch(32).shard(8, rank)

    **write**::

        files.shard(8, rank).map(decode).batch(32)

    **When to ignore it.** The function determines the number of elements. (`shard_evenly` after a
    `pack` or `filter` is correct, and not reported.)
    """
    if stage.kind not in _SHARDS or stage.args.get("num_shards") == 1:
        return
    for before in stage.before:
        if stage.kind == "shard_evenly" and before.kind in _BY_CONTENT:
            return  # see uneven_after_even_shards
        if before.batches or (before.kind == "map" and not before.args.get("part_of")):
            yield (
                f"every process runs {before} for all shards",
                f"put {stage.kind} before {before}",
            )
            return


@rule("PS025")
def uneven_after_even_shards(stage: StageView) -> Said:
    """The number of elements that a stage after `shard_evenly` produces depends on their contents.

    **Why is this bad?** `shard_evenly` gives every process the same number of elements. A later
    stage that packs, filters, splits or groups them produces more in one process than in another.
    One process then finishes its epoch first, and the others wait for it in their next collective
    operation.

    **Instead of**::

        ds.shard_evenly(8, rank).map(tokenize).pack(2048).batch(8)

    **write**::

        ds.map(tokenize).pack(2048).shard_evenly(8, rank).batch(8)

    or repeat the shard and end it after a number of steps: ``.repeat().take(steps)``.

    **When to ignore it.** The stage produces the same number of elements in every process, or the
    training loop stops all processes at the same step.
    """
    if stage.kind != "shard_evenly" or stage.args.get("num_shards") == 1:
        return
    after = list(stage.after)
    if not after or not math.isnan(after[-1].count):  # the final number is equal in all
        return
    for each in after:
        if each.kind in _BY_CONTENT:
            yield (
                f"{each} after it produces a different number in each process",
                f"put {each} before shard_evenly, or end with repeat().take(steps)",
            )
            return
