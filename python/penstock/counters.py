"""Counters of runs: their names, and the totals of each dataset over all of its epochs."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Iterable
from typing import Any, Protocol

# The counters of a stage: the kind of each, and its description.
METRICS = {
    "elements_total": ("counter", "Elements that the stage has yielded."),
    "errors_total": ("counter", "Elements that were errors."),
    "retries_total": ("counter", "Calls that were retried."),
    "busy_seconds_total": ("counter", "Seconds inside the stage and its inputs."),
    "wait_seconds_total": ("counter", "Seconds that its consumer has waited for it."),
    "buffer_elements": ("gauge", "Elements in its buffer now."),
    "buffer_limit_elements": ("gauge", "Maximum number of elements in its buffer."),
    "parallel_calls": ("gauge", "Maximum number of concurrent calls."),
}
LABELS = ("dataset", "path", "kind", "name", "function")
_OF_STATS = {
    **{"elements_total": "elements", "errors_total": "errors", "retries_total": "retries"},
    **{"busy_seconds_total": "busy_seconds", "wait_seconds_total": "wait_seconds"},
    **{"buffer_elements": "buffer_size", "buffer_limit_elements": "buffer_limit"},
    **{"parallel_calls": "parallelism"},
}
_COUNTERS = tuple(name for name, (kind, _) in METRICS.items() if kind == "counter")

_Key = tuple[str | None, ...]  # the labels of a stage


class Source(Protocol):
    """A run or a loader with counters."""

    def metrics(self) -> list[dict[str, Any]]:
        """Return the counters of each stage."""


class _Run:
    """A run, and the counters as of the last reading."""

    def __init__(self, source: weakref.ref[Source], owner: weakref.ref[Any]) -> None:
        self.source = source
        self.owner = owner
        self.last: list[dict[str, Any]] = []


class Totals:
    """The counters of all runs of this process, live and ended.

    Counters of runs of one dataset, such as its epochs, are summed. Datasets with the same
    `Options.dataset_name` count as one. Other datasets are numbered, and their totals are dropped
    with them.
    """

    def __init__(self) -> None:
        self.in_use = False  # whether to keep the counters of ended runs, because they are read
        # Reentrant: garbage collection may end a run while the lock is held.
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._live: dict[int, _Run] = {}
        self._labels: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._named: dict[_Key, dict[str, float]] = {}
        self._unnamed: weakref.WeakKeyDictionary[Any, dict[_Key, dict[str, float]]] = (
            weakref.WeakKeyDictionary()
        )

    def add(self, source: Source, owner: Any) -> None:
        """Add a run without keeping it alive.

        Parameters
        ----------
        source : Source
            The run.
        owner : object
            The dataset or loader whose runs are summed.
        """
        number = id(source)
        self._live[number] = _Run(
            weakref.ref(source, lambda _: self._end(number)), weakref.ref(owner)
        )

    def see(self, source: Source | None) -> None:
        """Read the counters of a run; it may end at any time."""
        run = self._live.get(id(source))
        if run is not None and source is not None:
            run.last = source.metrics() or run.last  # empty while the run is being destroyed

    def close(self, source: Source) -> None:
        """Keep the counters of a run that is being closed; unknown runs are ignored."""
        if self.in_use:
            self.see(source)
        self._end(id(source))

    def drop(self, source: Source) -> None:
        """Remove a run whose elements are counted by another source."""
        self._live.pop(id(source), None)

    def _end(self, number: int) -> None:
        with self._lock:
            run = self._live.pop(number, None)
            owner = run.owner() if run is not None else None
            for stage in run.last if run is not None else ():
                values = {name: stage[name] for name in _COUNTERS}
                if stage["dataset"] is not None:
                    _add(self._named, _key(stage), values)
                elif owner is not None:
                    _add(self._unnamed.setdefault(owner, {}), _key(stage), values)

    def stages(self) -> Iterable[dict[str, Any]]:
        """Return the stages of all datasets, with their labels and counters."""
        found: dict[_Key, dict[str, float]] = {}
        with self._lock:
            sources = [(run.source(), run.owner()) for run in list(self._live.values())]
            for key, values in list(self._named.items()):
                _add(found, key, values)
            for owner, kept in list(self._unnamed.items()):
                for key, values in list(kept.items()):
                    _add(found, self._labelled(key, owner), values)
            for source, owner in sources:
                if source is None or owner is None:
                    continue
                self.see(source)
                for stage in self._live[id(source)].last if id(source) in self._live else ():
                    values = {name: stage[name] for name in METRICS}
                    _add(found, self._labelled(_key(stage), owner), values)
        order = sorted(found, key=lambda key: [label or "" for label in key])
        return [dict(zip(LABELS, key, strict=True)) | found[key] for key in order]

    def _labelled(self, key: _Key, owner: Any) -> _Key:
        """Return labels in which an unnamed dataset is replaced by a number."""
        if key[0] is not None:
            return key
        if owner not in self._labels:
            self._labels[owner] = str(next(self._numbers))
        return (self._labels[owner], *key[1:])


def metrics_of(stats: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of `stats` under the names in METRICS."""
    return [
        {label: stage[label] for label in LABELS}
        | {name: stage[of] for name, of in _OF_STATS.items()}
        for stage in stats
    ]


def _key(stage: dict[str, Any]) -> _Key:
    return tuple(stage[label] for label in LABELS)


def _add(found: dict[_Key, dict[str, float]], key: _Key, values: dict[str, float]) -> None:
    sums = found.setdefault(key, dict.fromkeys(METRICS, 0.0))
    for name, value in values.items():
        sums[name] += value


totals = Totals()
if hasattr(os, "register_at_fork"):  # the parent's runs do not run in a forked child
    os.register_at_fork(after_in_child=totals.__init__)  # type: ignore[misc]
