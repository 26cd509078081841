"""Descriptions of iterator states, and merging states of several processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock import _core
from penstock.account import differences, stages_of, versions_of
from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.errors import StateError
from penstock.iterator import bytes_of
from penstock.loader_states import merged_loaders

_MOST_SHOWN = 8  # processes in a message


@checked
def merge_states(states: Iterable[Any]) -> Any:
    """Merge the states of processes that each had a share of one order.

    Parameters
    ----------
    states : iterable of bytes, of str, of arrays of uint8, or of dicts
        Results of `Iterator.get_state` from all processes, in any order. Their pipelines may differ
        only in the `index` of `Dataset.shard_evenly`, or the process of `Dataset.shard_for_torch`
        and `Dataset.shard_for_jax`. Alternatively, results of `DataLoader.state_dict` from all
        processes, of loaders whose sampler is PyTorch's DistributedSampler.

    Returns
    -------
    bytes or dict
        The common position, for `Iterator.set_state` with any number of processes. For dicts, a
        dict for `DataLoader.load_state_dict`.

    Raises
    ------
    StateError
        If there is no common position: the elements of all processes together are not a prefix of
        the order, because one process is ahead of another. The error names the position of each
        process. Also if the states belong to different pipelines, runs or numbers of processes, if
        two are of the same process, or if one is missing. It is a subclass of ValueError.

    Notes
    -----
    If all processes take their steps together, merging is not necessary: the state of any process
    can be restored in all. Otherwise, the first processes may be one element ahead of the others.
    For loaders they may be one batch ahead, but only if batches have one element, because otherwise
    the elements are not a prefix of the order.

    Examples
    --------
    >>> ds = ps.Dataset.range(100)
    >>> its = [iter(ds.shard_evenly(4, i)) for i in range(4)]
    >>> for it in (*its, its[0], its[1]):  # the first two have two elements, the others one
    ...     element = next(it)
    >>> state = ps.merge_states([it.get_state() for it in its])
    >>> it = iter(ds.shard_evenly(3, 0))
    >>> it.set_state(state)
    >>> next(it)
    np.int64(6)
    """
    if isinstance(states, (bytes, str, Mapping)) or not isinstance(states, Iterable):
        raise TypeError(
            f"merge_states: states must be several states, as a list of bytes, got {states!r:.200}"
        )
    states = list(states)
    if states and all(isinstance(state, Mapping) for state in states):
        return merged_loaders(states)
    saved = [bytes_of(state, "merge_states") for state in states]
    if not saved:
        raise ValueError("merge_states: at least one state was expected, got none")
    opened = [_open(state, "merge_states") for state in saved]
    first = opened[0]
    if len(saved) > 1 or first["shards"] > 0:
        _check_alike(opened)
    if len(saved) == 1:
        return saved[0]
    by_index = dict(
        zip((each["index"] for each in opened), zip(saved, opened, strict=True), strict=True)
    )
    low = min(each["position"] for each in opened)
    shards = first["shards"]
    ahead = [index for index in range(shards) if by_index[index][1]["position"] > low]
    one_more = all(by_index[index][1]["position"] == low + shards for index in ahead)
    same_epoch = all(each["epoch"] == first["epoch"] for each in opened)
    if low < 0 or not same_epoch or not one_more or ahead != list(range(len(ahead))):
        raise StateError(
            f"merge_states: {_positions(by_index)}; what they had together is not the beginning of "
            "the order, so it has no position: let those that are behind go on to the same step",
            _places(by_index),
        )
    if not ahead:
        return saved[0]
    behind, _ = by_index[shards - 1]
    return _core.state_with_more(behind, len(ahead))


@checked
def describe_state(state: Any, dataset: Dataset | None = None) -> str:
    r"""Describe the contents of an iterator's state.

    Parameters
    ----------
    state : bytes, str, or array of uint8 of shape (N,)
        A result of `Iterator.get_state` or `merge_states`.
    dataset : Dataset, optional
        A pipeline to compare with. The text then lists differences, and shows whether `set_state`
        of its iterators accepts the state.

    Returns
    -------
    str
        Lines with the versions that saved it, the position, the seed and number of the run, and the
        stages with their arguments, starting at the source.

    Raises
    ------
    ValueError
        If the bytes are damaged, or of another version.

    Notes
    -----
    ``position`` counts the elements (or batches) that the iterator has delivered. After
    `Dataset.shard_evenly`, ``order`` is the number of elements delivered by all processes together.

    Examples
    --------
    >>> it = iter(ps.Dataset.range(100).shuffle(10, seed=3).shard_evenly(2, 0).batch(4))
    >>> batch = next(it)
    >>> text = ps.describe_state(it.get_state(), ps.Dataset.range(100))
    >>> print("\n".join(line for line in text.splitlines() if not line.startswith("saved by")))
    position: after 1 element of the iterator, run 0
    order: after 8 elements of all, saved by process 0 of 2; any number of processes goes on there
    seed of the run: ...
    stages:
      range: start 0, stop 100, step 1, output_type int64
      shuffle: buffer_size 10, seed 3, reshuffle_each_iteration True
      shard_evenly: remainder 'drop', num_shards 2, seed 0
      batch: batch_size 4, drop_remainder False
    differs from the dataset:
      the state was saved by another pipeline: stage 2 of it is shuffle, of this one ...
    """
    saved = bytes_of(state, "describe_state")
    opened = _open(saved, "describe_state")
    versions = versions_of(opened["account"])
    words = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines = [f"saved by {words} ({len(saved)} bytes)"] if words else [f"{len(saved)} bytes"]
    delivered = opened["delivered"]
    lines.append(
        f"position: after {delivered} element{'' if delivered == 1 else 's'} of the iterator, "
        f"run {opened['run']}"
    )
    if opened["shards"] > 0:
        lines.append(f"order: {_order(opened)}")
    lines.append(f"seed of the run: {opened['seed']}")
    lines.append("stages:")
    known = stages_of(opened["account"])
    lines += [f"  {stage}" for stage in known or opened["plan"].splitlines()]
    if dataset is not None:
        lines += _compared(saved, dataset)
    return "\n".join(lines)


def _order(opened: dict[str, Any]) -> str:
    if opened["position"] < 0:
        return "elements were delivered out of order, so only as many processes go on there"
    had = opened["position"] + opened["more"]
    epoch = f" in epoch {opened['epoch']}" if opened["epoch"] >= 0 else ""
    of = f"process {opened['index']} of {opened['shards']}"
    by = f"merged from {opened['shards']} processes" if opened["more"] else f"saved by {of}"
    return f"after {had} elements of all{epoch}, {by}; any number of processes goes on there"


def _compared(saved: bytes, dataset: Dataset) -> list[str]:
    with dataset._uncounted() as it:
        stages, account, sized = it._compare_state(saved)
    if stages:
        return ["differs from the dataset:", f"  {stages.removeprefix('set_state: ')}"]
    found = differences(account, dataset._account(), sized)
    lines = ["differs from the dataset:", *(f"  {text}" for text in found)] if found else []
    if sized:
        lines.append("set_state continues with the dataset's own number of shards or batch size")
    return lines or ["does not differ from the dataset"]


def _open(state: bytes, owner: str) -> dict[str, Any]:
    try:
        return _core.open_state(state)
    except ValueError as error:
        raise ValueError(str(error).replace("set_state", owner, 1)) from None


def _check_alike(opened: list[dict[str, Any]]) -> None:
    first = opened[0]
    if first["shards"] == 0:
        raise StateError(
            "merge_states: states of processes that share one order were expected, got one of a "
            "pipeline without shard_evenly, or with a stage after it that has its own order"
        )
    for number, each in enumerate(opened):
        found = differences(each["account"], first["account"])
        if each["plan"] != first["plan"] or each["shards"] != first["shards"]:
            found = ["another pipeline, or another number of processes"]
        elif not found and each["run"] != first["run"]:
            found = [f"run {each['run']}, not {first['run']}"]
        if found:
            text = f"merge_states: state {number} is not of the same pipeline as state 0"
            raise StateError(f"{text}: {'; '.join(found)}", found)
    if any(each["more"] for each in opened):
        raise StateError("merge_states: a state was merged already, and is that of all processes")
    indices = sorted(each["index"] for each in opened)
    twice = [i for i in indices if indices.count(i) > 1]
    if twice:
        raise StateError(f"merge_states: two states are of process {twice[0]}")
    if missing := sorted(set(range(first["shards"])) - set(indices)):
        shown = ", ".join(map(str, missing[:_MOST_SHOWN])) + (
            ", ..." * (len(missing) > _MOST_SHOWN)
        )
        raise StateError(
            f"merge_states: the states of all {first['shards']} processes were expected, missing "
            f"{'is that of process' if len(missing) == 1 else 'are those of processes'} {shown}"
        )


def _places(by_index: dict[int, tuple[bytes, dict[str, Any]]]) -> list[str]:
    places = []
    for index in sorted(by_index):
        _, each = by_index[index]
        at = f"at element {each['position']} of the order" if each["position"] >= 0 else "anywhere"
        epoch = f" in epoch {each['epoch']}" if each["epoch"] >= 0 else ""
        places.append(f"process {index} is {at}{epoch}")
    return places


def _positions(by_index: dict[int, tuple[bytes, dict[str, Any]]]) -> str:
    places = _places(by_index)
    more = f", and {len(places) - _MOST_SHOWN} more" if len(places) > _MOST_SHOWN else ""
    return ", ".join(places[:_MOST_SHOWN]) + more
