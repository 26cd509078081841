"""Rules about caching."""

from __future__ import annotations

import math

from penstock.lint.rule import Said, rule
from penstock.lint.view import StageView, available_memory


@rule("PS008")
def cache_of_random_elements(stage: StageView) -> Said:
    """A `cache` follows a function that draws random numbers.

    **Why is this bad?** The random numbers of the first epoch are cached: each image is cropped or
    flipped the same way in all epochs.

    **Instead of**::

        ds.map(decode).map(augment).cache()

    **write**::

        ds.map(decode).cache().map(augment)

    **When to ignore it.** The random numbers should be the same in each epoch.
    """
    if stage.kind != "cache":
        return
    shuffled_later = any(after.kind == "shuffle" for after in stage.after)
    for before in stage.before:
        function = before.function
        if before.kind == "shuffle" and not shuffled_later:
            yield "the order of the first epoch is kept for all", "put shuffle after cache"
            return
        if before.kind == "map" and function is not None and function.draws:
            yield (
                f"what {before} draws in the first epoch is kept for all",
                f"put {before} after cache",
            )
            return


@rule("PS026")
def cache_of_repeated_elements(stage: StageView) -> Said:
    """A `cache` or `snapshot` follows a finite `repeat`.

    **Why is this bad?** It stores each element once for every repetition, so it takes several times
    the memory or disk space. It is complete only after all repetitions.

    **Instead of**::

        ds.map(decode).repeat(3).cache()

    **write**::

        ds.map(decode).cache().repeat(3)

    **When to ignore it.** The copies are meant to differ, because a function between the two draws
    random numbers (this is not reported).
    """
    if stage.kind not in ("cache", "snapshot") or stage.inputs[0].count == math.inf:
        return  # see cache_of_endless_data
    cut = regrouped = False
    for before in stage.before:
        count = before.args.get("count")
        if before.function is not None and before.function.draws:
            return
        if before.kind == "repeat" and count not in (0, 1):
            infinite = count is None or count < 0
            more = not regrouped and stage.inputs[0].count > before.inputs[0].count
            if not cut or (more and not infinite):
                copies = f"{count} times" if not infinite and not cut else "several times"
                yield f"it holds each element {copies}", f"put {stage.kind} before repeat"
            return
        cut = cut or before.kind in ("take", "take_while")
        regrouped = regrouped or before.batches


@rule("PS009")
def cache_larger_than_memory(stage: StageView) -> Said:
    """A `cache` in memory is larger than the available memory.

    **Why is this bad?** The process runs out of memory, or the machine swaps.

    **Instead of**::

        ds.map(decode).cache()

    **write**::

        ds.map(decode).cache("decoded.cache")

    or cache smaller elements, such as the encoded files before decoding.

    **When to ignore it.** The sizes are overestimated, for example if elements are views of one
    array.
    """
    if stage.kind != "cache" or stage.args.get("filename"):
        return
    size = stage.inputs[0].count * stage.inputs[0].element_bytes
    if math.isfinite(size) and size > available_memory():
        yield (
            f"it holds {size / 2**30:.0f} GiB, and {available_memory() / 2**30:.0f} GiB of memory "
            "are free",
            "give it a file name, or put it before what makes elements large",
        )


@rule("PS010")
def repeated_work_without_cache(stage: StageView) -> Said:
    """An expensive function is called in each epoch, although its results would fit into memory.

    **Why is this bad?** The same elements are decoded or parsed again in each epoch.

    **Instead of**::

        ds.map(decode).map(augment).repeat(90)

    **write**::

        ds.map(decode).cache().map(augment).repeat(90)

    **When to ignore it.** The memory is needed for other purposes, or the training step takes
    longer than the function.
    """
    if stage.kind != "repeat" or stage.args.get("count") in (0, 1):
        return
    expensive = None
    for before in stage.before:
        function = before.function
        if before.kind in ("cache", "snapshot", "repeat"):
            break
        if before.kind == "map" and function is not None:
            if function.draws:
                expensive = None
            elif function.decodes and expensive is None:
                expensive = before
    if expensive is None:
        return
    size = expensive.count * expensive.element_bytes
    if math.isfinite(size) and size < available_memory() / 4:
        yield (
            f"{expensive} decodes the same elements in each epoch, and all of them take "
            f"{size / 2**20:.0f} MiB",
            f"put cache() after {expensive}",
        )
