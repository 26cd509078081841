"""Rules about the order and selection of elements."""

from __future__ import annotations

import math

from penstock.lint.rule import Said, rule
from penstock.lint.view import StageView


@rule("PS001")
def repeat_before_shuffle(stage: StageView) -> Said:
    """A `repeat` precedes a `shuffle`.

    **Why is this bad?** The buffer mixes elements of adjacent epochs. Some elements are returned
    twice before others are returned once, and epochs have no clear boundary.

    **Instead of**::

        ds.repeat().shuffle(1000)

    **write**::

        ds.shuffle(1000).repeat()

    which reshuffles in each epoch, and keeps its buffer full across epochs.

    **When to ignore it.** The data is an infinite stream without epochs.
    """
    if stage.kind != "shuffle":
        return
    for before in stage.before:
        if before.kind == "repeat" and before.args.get("count") not in (0, 1):
            yield "its buffer mixes elements of several epochs", "put shuffle before repeat"
            return


@rule("PS002")
def shuffle_after_batch(stage: StageView) -> Said:
    """A `shuffle` follows a `batch`.

    **Why is this bad?** Only the order of batches changes; the elements of a batch stay together in
    every epoch. A buffer of n batches also takes the memory of n batches.

    **Instead of**::

        ds.batch(32).shuffle(1000)

    **write**::

        ds.shuffle(1000).batch(32)

    **When to ignore it.** The elements of a batch belong together, for example because they have
    the same length.
    """
    if stage.kind != "shuffle":
        return
    for before in stage.before:
        if before.kind in ("unbatch", "window", "flat_map", "interleave"):
            return
        if before.batches:
            yield "whole batches are shuffled", f"put shuffle before {before.kind}"
            return


@rule("PS003")
def shuffle_smaller_than_batch(stage: StageView) -> Said:
    """The buffer of a `shuffle` is smaller than the batches after it.

    **Why is this bad?** A batch has nearly the same elements in every epoch, because most elements
    move by only a few buffer sizes.

    **Instead of**::

        ds.shuffle(16).batch(256)

    **write**::

        ds.shuffle(10_000).batch(256)

    or, for a source with random access, `global_shuffle`.

    **When to ignore it.** The data is already in random order.
    """
    size = stage.args.get("buffer_size")
    if stage.kind != "shuffle" or not isinstance(size, int) or size >= stage.count:
        return
    for after in stage.after:
        batch = after.args.get("batch_size")
        if after.batches and isinstance(batch, int) and 1 < size < batch:
            yield (
                f"its buffer of {size} elements is smaller than the batch of {batch}",
                f"use a buffer of many batches, shuffle({max(10_000, 10 * batch)})",
            )
            return


@rule("PS004")
def split_after_shuffle(stage: StageView) -> Said:
    """A `take` or `skip` splits elements that are reshuffled in each epoch.

    **Why is this bad?** If the two parts are the validation set and the training set, elements move
    between them in each epoch. The model is then evaluated on elements that it was trained on.

    **Instead of**::

        ds = ds.shuffle(1000)
        validation, training = ds.take(100), ds.skip(100)

    **write**::

        validation, training = ds.take(100), ds.skip(100).shuffle(1000)

    or give the shuffle a `seed` and ``reshuffle_each_iteration=False``.

    **When to ignore it.** Only one of the two parts is used, as a random sample.
    """
    if stage.kind not in ("take", "skip") or stage.args.get("count") in (0, -1):
        return
    for before in stage.before:
        if before.kind == "repeat":
            return  # take then counts steps
        if before.kind == "shuffle" and before.args.get("reshuffle_each_iteration") is not False:
            yield (
                "it divides elements that come in another order in each epoch",
                f"put {stage.kind} before shuffle, or give shuffle a seed and "
                "reshuffle_each_iteration=False",
            )
            return


@rule("PS005")
def filter_after_batch(stage: StageView) -> Said:
    """A `filter` follows a `batch`.

    **Why is this bad?** It keeps or drops whole batches, not single elements.

    **Instead of**::

        ds.batch(32).filter(lambda x: x > 0)

    **write**::

        ds.filter(lambda x: x > 0).batch(32)

    **When to ignore it.** The predicate applies to the batch as a whole.
    """
    if stage.kind != "filter":
        return
    for before in stage.before:
        if before.kind in ("unbatch", "window", "flat_map", "interleave"):
            return
        if before.batches:
            yield "whole batches are kept or dropped", f"put filter before {before.kind}"
            return


@rule("PS006")
def batch_of_different_sizes(stage: StageView) -> Said:
    """A `batch` combines elements of different sizes.

    **Why is this bad?** The first element of another size raises an error, perhaps after hours.

    **Instead of**::

        ds.map(tokenize).batch(32)

    **write**::

        ds.map(tokenize).padded_batch(32)

    or `ragged_batch`. The rule compares the first 16 elements, or as many as can be computed in a
    second. It also reports an ``output_signature`` that leaves a size open, and batches of batches
    if the last inner batch may be smaller.

    **When to ignore it.** All elements have the same size, although their signature leaves it open.
    """
    if stage.kind != "batch" or not stage.inputs[0].has_open_sizes:
        return
    sized_by = stage.inputs[0].sized_by
    if sized_by.args.get("output_signature") is not None:
        yield (
            f"the output_signature of {sized_by} leaves sizes open",
            "use padded_batch or ragged_batch, or declare the sizes",
        )
    elif sized_by.kind == "batch" and sized_by.may_end_with_a_smaller_batch:
        yield f"the last batch of {sized_by} may be smaller", "pass drop_remainder=True to it"
    elif (shapes := stage.inputs[0].different_shapes) is not None:
        one, other = shapes
        yield (
            f"its first elements have different sizes: {one} and {other}",
            "use padded_batch or ragged_batch, or make the sizes equal before the batch",
        )


@rule("PS024")
def list_of_endless_data(stage: StageView) -> Said:
    """A program collects all elements of an infinite dataset.

    **Why is this bad?** The call never returns, and memory use grows until none is left.

    **Instead of**::

        everything = list(ds.repeat())

    **write**::

        some = list(ds.repeat().take(1000))

    **When to ignore it.** The dataset is known to end with an error. Only ``python -m penstock
    lint`` detects such calls.
    """
    if stage.collector and stage.count == math.inf:
        yield f"{stage.collector} never returns", "take(n) first"


@rule("PS007")
def cache_of_endless_data(stage: StageView) -> Said:
    """A `cache` or `snapshot` follows an infinite `repeat` or source.

    **Why is this bad?** It is never complete: nothing is ever read from it, and it grows until
    memory or the disk is full.

    **Instead of**::

        ds.repeat().cache()

    **write**::

        ds.cache().repeat()

    **When to ignore it.** Never.
    """
    if stage.kind in ("cache", "snapshot") and stage.inputs[0].count == math.inf:
        yield "it never has all elements of infinite data", f"put {stage.kind} before repeat"
