"""Rules about prefetching and parallel reads."""

from __future__ import annotations

from penstock.lint.rule import Said, rule
from penstock.lint.view import StageView, stages_of

_FEW_FILES = 4
_QUICK = frozenset(("repeat", "take", "skip", "ignore_errors", "assert_cardinality"))


@rule("PS015")
def no_prefetch_at_the_end(stage: StageView) -> Said:
    """A pipeline that calls functions or reads files does not end with `prefetch`.

    **Why is this bad?** No data is prepared while the training step runs, and the step waits while
    data is prepared. The two times add up.

    **Instead of**::

        ds.map(decode).batch(32)

    **write**::

        ds.map(decode).batch(32).prefetch(ps.AUTOTUNE)

    **When to ignore it.** A later stage prefetches: `to_torch` and `to_jax` do so for devices.
    """
    if stage.consumer is not None:
        return
    for each in (stage, *stage.before):
        if each.kind in ("prefetch", "distribute") or each.parallel:
            return  # its threads or workers prefetch
        if each.kind not in _QUICK and not each.batches:
            break
    if any(each.works for each in stages_of(stage)):
        yield "nothing is prepared while the consumer works", "end with prefetch(ps.AUTOTUNE)"


@rule("PS016")
def prefetch_that_helps_no_stage(stage: StageView) -> Said:
    """A `prefetch` precedes a stage that prefetches itself.

    **Why is this bad?** Each element is passed between threads once more, which costs time, and is
    buffered twice.

    **Instead of**::

        ds.prefetch(8).prefetch(2)
        ds.prefetch(8).map(f, num_parallel_calls=4)

    **write**::

        ds.prefetch(8)
        ds.map(f, num_parallel_calls=4)

    **When to ignore it.** The stages before it wait for I/O, such as a slow disk, while the calls
    compute.
    """
    after = stage.consumer
    if stage.kind != "prefetch" or after is None:
        return
    if after.kind == "prefetch":
        yield "another prefetch follows it", "leave one of them out"
    elif after.parallel and not any(each.works for each in stages_of(stage)):
        yield f"{after} works ahead itself, and what is before it is quick", "leave it out"


@rule("PS027")
def prefetch_before_shuffle(stage: StageView) -> Said:
    """A `prefetch` precedes a `shuffle`.

    **Why is this bad?** The shuffle buffer already holds elements, so the second buffer only adds
    memory. The stages after `prefetch` run in the thread that requests the next element.

    **Instead of**::

        ds.map(load).prefetch(4).shuffle(1000).batch(32)

    **write**::

        ds.map(load).shuffle(1000).batch(32).prefetch(4)

    **When to ignore it.** Slow stages before and after it are meant to run concurrently, and the
    pipeline also ends with a `prefetch`.
    """
    if stage.kind != "shuffle":
        return
    for before in stage.before:
        if before.kind == "prefetch":
            ends = any(after.kind == "prefetch" for after in stage.after)
            fix = "remove it: a prefetch follows" if ends else "put prefetch at the end"
            yield f"{before} fills a buffer before the one of shuffle", fix
            return
        if before.kind not in _QUICK:
            return


@rule("PS017")
def files_one_after_the_other(stage: StageView) -> Said:
    """Many files are read sequentially.

    **Why is this bad?** Opening each file takes the latency of the disk or network, and nothing
    else happens meanwhile.

    **Instead of**::

        ps.TFRecordDataset(files)
        names.interleave(ps.TFRecordDataset)

    **write**::

        ps.TFRecordDataset(files, num_parallel_reads=8)
        names.interleave(ps.TFRecordDataset, cycle_length=8, num_parallel_calls=8)

    **When to ignore it.** The records must be in the order of the files.
    """
    if stage.kind not in ("flat_map", "interleave") or stage.parallel or not stage.opens_files:
        return
    if stage.inputs[0].count >= _FEW_FILES:
        yield (
            f"{stage.inputs[0].count:.0f} files are opened one after the other",
            "give num_parallel_reads, or interleave with num_parallel_calls",
        )
