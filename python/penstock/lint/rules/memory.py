"""Rules about the memory of buffers."""

from __future__ import annotations

import math

from penstock.lint.rule import Said, rule
from penstock.lint.view import StageView, available_memory, stages_of

_MUCH = 0.5  # share of the available memory
_LARGE = 4096  # bytes: for smaller elements, another order of stages is not worth it


@rule("PS011")
def large_elements_in_a_shuffle(stage: StageView) -> Said:
    """The buffer of a `shuffle` takes most of the memory.

    **Why is this bad?** The process runs out of memory, or the machine swaps. Also, the first
    element is not returned before the buffer is full.

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
    """A `shuffle` holds the results of an expensive function.

    **Why is this bad?** The buffer holds arrays, although file names, records or encoded images
    would take about a tenth of the memory. Also, the first element is not returned before all
    elements of the buffer have been computed.

    **Instead of**::

        files.map(load_and_decode).shuffle(1000)

    **write**::

        files.shuffle(1000).map(load_and_decode)

    **When to ignore it.** The function drops or splits elements, and its results should be shuffled
    individually.
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


@rule("PS032")
def global_shuffle_of_tables_larger_than_memory(stage: StageView) -> Said:
    """A `global_shuffle` reads Parquet or Arrow files whose decoded rows do not fit into memory.

    **Why is this bad?** The rows of a window are scattered over all files, so each row group is
    decoded once per window. If a window has a tenth of the rows, an epoch decodes the files ten
    times.

    **Instead of**::

        ds = ps.ParquetDataset(files).global_shuffle()

    **write**::

        ds = ps.ParquetDataset(files, columns=["image", "label"]).global_shuffle()

    with only the required columns, and a higher `Options.memory_limit`: a window takes half of it.
    Or mix only the rows of a few files::

        ds = ps.Dataset.from_list(files).shuffle(len(files))
        ds = ds.interleave(ps.ParquetDataset, cycle_length=8).shuffle(100_000)

    **When to ignore it.** The order must be uniformly random, and decoding takes less time than the
    training steps.
    """
    if stage.kind != "select" or stage.inputs[0].kind != "permutation":
        return
    tables = [
        each
        for each in stages_of(stage.inputs[1])
        if each.kind == "table_rows" and "sizes" in each.args
    ]
    if not tables:
        return
    size = sum(each.count * each.element_bytes for each in tables)
    room = stage.memory_limit / 2  # as the engine divides it (lookahead.cc)
    if not size > room:
        return
    rows = sum(each.count for each in tables)
    window = rows * room / size
    yield (
        f"its {rows:.0f} rows take {size / 2**30:.2g} GiB decoded, and half of memory_limit holds "
        f"{window:.0f} of them: an epoch decodes each row group about {math.ceil(rows / window)} "
        f"times (rows / window = {rows / window:.1f})",
        "read fewer columns, raise memory_limit, or interleave shuffled files and use shuffle",
    )
