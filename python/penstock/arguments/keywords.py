"""Errors for wrong keyword arguments, which suggest the right or the nearest name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

# Names in PyTorch, Grain, Hugging Face, Keras and other loaders, with the equivalent arguments
# here; the first one that a function has is suggested.
_SAME = {
    **dict.fromkeys(
        ("num_workers", "num_proc", "worker_count", "workers", "max_workers", "num_threads"),
        ("num_parallel_reads", "num_parallel_calls"),
    ),
    **dict.fromkeys(("concurrency", "parallelism"), ("num_parallel_reads", "num_parallel_calls")),
    **dict.fromkeys(("drop_last", "drop_last_batch"), ("drop_remainder",)),
    **dict.fromkeys(
        ("function", "fn", "func", "transform", "transforms", "f"),
        ("map_func", "predicate", "transformation_func", "generator"),
    ),
    **dict.fromkeys(
        ("prefetch_factor", "prefetch_size", "prefetch", "shuffle_buffer_size", "bufsize"),
        ("buffer_size", "buffer_output_elements"),
    ),
    **dict.fromkeys(("world_size", "shard_count", "num_replicas"), ("num_shards",)),
    **dict.fromkeys(("rank", "shard_index", "process_index"), ("index",)),
    **dict.fromkeys(("ordered", "in_order"), ("deterministic",)),
    **dict.fromkeys(("num_epochs", "epochs", "times"), ("count",)),
    **dict.fromkeys(("n", "num", "size"), ("count", "batch_size", "buffer_size")),
    **dict.fromkeys(("files", "paths", "path", "file_names", "data_files"), ("filenames",)),
    "compression": ("compression_type",),
    "random_state": ("seed",),
    **dict.fromkeys(("worker_init_fn", "initializer"), ("worker_init",)),
}
# Arguments elsewhere that are separate stages here.
_STAGES = {
    "batch_size": "batch(batch_size) is a stage of its own",
    "batched": "put batch(n) before it, and the function gets whole batches",
    "with_indices": "put enumerate() before it, and the function gets the index too",
    "shuffle": "shuffle(buffer_size) is a stage of its own",
    "prefetch": "prefetch(n) is a stage of its own",
    "prefetch_factor": "prefetch(n) is a stage of its own",
    "drop_remainder": "batch(n, drop_remainder=True) is a stage of its own",
    "drop_last": "batch(n, drop_remainder=True) is a stage of its own",
    "repeat": "repeat(count) is a stage of its own",
    "num_epochs": "repeat(count) is a stage of its own",
    "remove_columns": "the function returns what is to stay",
    "input_columns": "the function gets the whole element",
    "collate_fn": "give it to map after batch, or to ps.DataLoader",
    "pin_memory": "give it to to_torch",
    "executor": "put the work into a map, which has it, in the datasets that the function returns",
}


def explain(
    stage: str, parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> None:
    """Raise TypeError for an unknown keyword argument, and suggest the right one."""
    if all(name in parameters for name in given):
        return
    kinds = {parameter.kind for parameter in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    names = [
        name
        for name, parameter in parameters.items()
        if name not in ("self", "cls")
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    for wrong in given:
        if wrong not in names:
            raise TypeError(
                f"{stage}: there is no argument {wrong!r}; {_advice(wrong, names)}"
            ) from None


def _advice(wrong: str, names: list[str]) -> str:
    for same in _SAME.get(wrong, ()):
        if same in names:
            return f"it is {same} here"
    if wrong in _STAGES:
        return _STAGES[wrong]
    import difflib  # imported here because only a mistake needs it

    near = difflib.get_close_matches(wrong, names, 1)
    if near:
        return f"perhaps {near[0]} is meant"
    return f"there are {', '.join(names)}" if names else "it takes none"
