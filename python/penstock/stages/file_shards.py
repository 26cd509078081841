"""Shards of whole files with equal numbers of elements."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from penstock.encode import Reader
from penstock.ops.native import native
from penstock.stages.count import counted
from penstock.traits import traits_of

Remainder = Literal["drop", "pad", "repeat"]


def shard_files(dataset: Any, num_shards: int, index: int, remainder: Remainder) -> Any:
    """Take every `num_shards`-th file, and give all shards the same number of elements.

    Counts the records in the files of all shards. With "drop", each shard is cut to the shortest;
    otherwise this shard is padded or repeated to the length of the longest.
    """
    # Validates the arguments, with the same errors as by="elements".
    dataset._then("shard_evenly", num_shards=num_shards, index=index, remainder=remainder, seed=0)
    stages, names = _stages_behind_names(dataset)
    counts = [_count(stages, names[i::num_shards]) for i in range(num_shards)]
    if remainder != "pad" and not all(counts):
        empty = counts.index(0)
        raise ValueError(
            f"shard_evenly: records for each of num_shards={num_shards} were expected with "
            f"by='files', shard {empty} has none of {len(names)} files; use fewer shards, more "
            "files, remainder='pad' or by='elements'"
        )
    own = _over(stages, names, num_shards=num_shards, index=index)
    number = min(counts) if remainder == "drop" else max(counts)
    if remainder == "drop":
        return _assured(own.take(number), number)
    if remainder == "repeat":
        return _assured(own.repeat().take(number), number)
    padding = dataset.from_tensors((b"", np.False_)).repeat(number - counts[index])
    return _assured(own.map(real_record).concatenate(padding), number)


def _stages_behind_names(dataset: Any) -> tuple[list[Any], list[str]]:
    """Return the list of file names, and the stages that read records from it, in order."""
    stages: list[Any] = []
    node = dataset
    while True:
        traits = traits_of(node._kind)
        if traits.format:
            return [*stages, node][::-1], [node._args[traits.reads]]
        if node._kind == "from_tensor_slices" and stages:
            return stages[::-1], [str(name) for name in node._args["tensors"]]
        above = not any(_opens_files(stage) for stage in stages)
        if not (_opens_files(node) if above else node._kind == "shuffle") and not (
            above and node._kind == "ignore_errors"
        ):
            raise ValueError(
                "shard_evenly: with by='files' the records of a list of files were expected "
                "(TFRecordDataset, TextLineDataset, FixedLengthRecordDataset), got "
                f"{node._kind}; put shard_evenly directly after the files, or leave out by='files'"
            )
        stages.append(node)
        node = node._inputs[0]


def _opens_files(stage: Any) -> bool:
    return isinstance(stage._args.get("map_func"), Reader)


def _over(stages: list[Any], names: list[str], **shard: int) -> Any:
    """Return the records of one shard of the files, or of all files, read by the same stages."""
    files: Any = stages[0].from_tensor_slices(np.array(names, dtype=object))
    if shard:
        # A shard stage instead of a shorter list: a record's random draws depend on its file's
        # position in the full list, and a state of another shard is translated from a state of this
        # one.
        files = files._then("shard", **shard)
    for stage in stages:
        traits = traits_of(stage._kind)
        if traits.format:
            args = {name: value for name, value in stage._args.items() if name != traits.reads}
            files = files._then("flat_map", map_func=Reader(stage._kind, args), name=stage._name)
        else:
            files = files._then(stage._kind, name=stage._name, **stage._args)
    return files


def _count(stages: list[Any], names: list[str]) -> int:
    return counted(_over(stages, names)) if names else 0


def _assured(dataset: Any, number: int) -> Any:
    """Return the dataset with a known length; it raises if the files have changed since."""
    return dataset._then("assert_cardinality", expected_cardinality=number)


@native
def real_record(record: Any) -> Any:
    """Return a record with its mask, which is True because it is not padding."""
    return record, True
