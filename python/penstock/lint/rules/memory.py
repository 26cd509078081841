"""Rules about the memory that buffers take."""

from __future__ import annotations

import math

from penstock.lint.rule import Said, rule
from penstock.lint.view import StageView, available_memory

_MUCH = 0.5  # of the memory that is free
_LARGE = 4096  # bytes of an element that is worth another order of stages


@rule("PS011")
def large_elements_in_a_shuffle(stage: StageView) -> Said:
    """The buffer of a `shuffle` takes most of the memory.

    **Why is this bad?** The process ends for lack of memory, or the machine swaps; the first
    element comes when the buffer is full.

    **Instead of**::

        files.map(decode).shuffle(100_000)

    **write**::

        files.shuffle(100_000).map(decode)

    or a smaller buffer.

    **When to ignore it.** Nothing else needs the memory.
    """
    size = stage.args.get("buffer_size")
    if stage.kind != "shuffle" or not isinstance(size, int) or not stage.holds_elements:
        return
    held = min(size, stage.count) if not math.isnan(stage.count) else size
    taken = held * stage.inputs[0].element_bytes
    if math.isfinite(taken) and taken > _MUCH * available_memory():
        yield (
            f"its buffer takes {taken / 2**30:.0f} GiB of {available_memory() / 2**30:.0f} GiB",
            "shuffle before what makes elements large, or use a smaller buffer",
        )


@rule("PS012")
def shuffle_after_expensive_map(stage: StageView) -> Said:
    """A `shuffle` holds what an expensive function has made.

    **Why is this bad?** The buffer holds arrays where it could hold names, records or encoded
    images, which take a tenth of the memory; the first element waits for all of them to be made.

    **Instead of**::

        files.map(load_and_decode).shuffle(1000)

    **write**::

        files.shuffle(1000).map(load_and_decode)

    **When to ignore it.** The function leaves out or splits elements, and each result is to be
    shuffled by itself.
    """
    if stage.kind != "shuffle" or not stage.holds_elements:
        return
    for before in stage.same_elements_before():
        if before.kind in ("filter", "flat_map", "interleave", "cache", "repeat"):
            return
        function = before.function
        if before.kind == "map" and function is not None and not before.args.get("part_of"):
            large = before.element_bytes
            if function.decodes or function.reads_files:
                yield f"it holds what {before} has made", f"put shuffle before {before}"
                return
            if large >= _LARGE and before.inputs[0].element_bytes * 4 <= large:
                yield (
                    f"it holds elements of {large / 1024:.0f} KiB that {before} has made of small "
                    "ones",
                    f"put shuffle before {before}",
                )
                return
