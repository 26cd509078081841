"""Rules about the shares of several processes."""

from __future__ import annotations

from penstock.lint.rule import Said, rule
from penstock.lint.view import StageView

_SHARDS = ("shard", "shard_evenly")


@rule("PS013")
def shard_after_shuffle_without_seed(stage: StageView) -> Said:
    """A `shard` stands after a `shuffle` that has no seed.

    **Why is this bad?** Each process shuffles in its own way, and takes its share of another
    order: some elements go to several processes, and others to none.

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
    """A `shard` stands after a function, or after a `batch`.

    **Why is this bad?** Each process does the work of all, and throws most of it away. After
    `batch`, shares are of whole batches.

    **Instead of**::

        files.map(decode).batch(32).shard(8, rank)

    **write**::

        files.shard(8, rank).map(decode).batch(32)

    **When to ignore it.** The function decides how many elements there are.
    """
    if stage.kind not in _SHARDS or stage.args.get("num_shards") == 1:
        return
    for before in stage.before:
        if before.batches or (before.kind == "map" and not before.args.get("part_of")):
            yield (
                f"every process runs {before} for all shards",
                f"put {stage.kind} before {before}",
            )
            return
