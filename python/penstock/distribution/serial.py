"""The sequential form of a pipeline for a worker: the same elements, without lookahead."""

from __future__ import annotations

from typing import Any

from penstock.arity import is_coroutine_function
from penstock.dataset import Dataset
from penstock.options import Options
from penstock.pickling import ordered
from penstock.traits import main_form, traits_of

_IN_PARALLEL = ("parallel_map", "parallel_filter", "parallel_from_indexable")
_OF_CALLS = ("num_parallel_calls", "deterministic")
_AHEAD = ("buffer_output_elements", "prefetch_input_elements")


def serial(dataset: Dataset) -> Dataset:
    """Return the dataset without stages that run ahead.

    A worker makes exactly the elements of its leases. Stages that run ahead would also make the
    first elements of another worker's lease. Calls of coroutine functions stay parallel, because
    they can only wait concurrently that way.

    Parameters
    ----------
    dataset : Dataset
        The pipeline.

    Returns
    -------
    Dataset
        New stages, whose states are interchangeable with those of `dataset`.
    """
    order, numbers = ordered(dataset)
    made: list[Any] = []
    for stage in order:
        kind, args = stage._kind, stage._args
        inputs = tuple(made[numbers[id(each)]] for each in stage._inputs)
        if traits_of(kind).timing:
            made.append(inputs[0])
            continue
        if kind in _IN_PARALLEL and not is_coroutine_function(args[_function_of(kind)]):
            args = {key: value for key, value in args.items() if key not in _OF_CALLS}
            kind = main_form(kind)
        elif kind == "interleave" and "num_parallel_calls" in args:
            args = {key: value for key, value in args.items() if key not in _AHEAD}
            args |= {"num_parallel_calls": None}
        made.append(Dataset._make(kind, inputs, args, stage._name, stage))
    last: Dataset = made[-1]
    in_order = Options()
    in_order.deterministic = True  # a lease is a range of a deterministic order
    return last.with_options(dataset._options).with_options(in_order)


def _function_of(kind: str) -> str:
    return "predicate" if kind == "parallel_filter" else "map_func"
