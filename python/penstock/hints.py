"""Hints: changes that could make a pipeline faster, found while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from penstock.ops.native import NativeFunction
from penstock.probing import traceable
from penstock.traits import main_form

_FUNCTIONS = {"map": "map_func", "filter": "predicate"}  # those that are traced for a hint
_LEAST_SECONDS = 0.1  # of a function that is worth a hint
_LEAST_SHARE = 0.1  # of the time of the run
# The ratios are those of docs/guides/native.md.
_CAN_BE_NATIVE = (
    "{stage}: this function can be @ps.native: what it does are operations that run without "
    "Python; the functions of penstock's benchmarks became 1.1 times (images) to 10 times "
    "(arithmetic) as fast"
)


class Hints:
    """Hints for one run, each computed once.

    Parameters
    ----------
    dataset : Dataset
        The dataset of the run.
    """

    def __init__(self, dataset: Any) -> None:
        self._candidates = list(_plain_functions(dataset))
        self._given: list[dict[str, Any]] = []

    def of(self, stats: Callable[[], Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """Return the hints so far; new ones are found from the counters of the stages."""
        if self._candidates:
            rows = {row["path"]: row for row in stats()}
            whole = max((row["busy_seconds"] for row in rows.values()), default=0.0)
            waiting = []
            for path, stage, function in self._candidates:
                seconds = _own_seconds(path, stage, rows)
                if seconds < max(_LEAST_SECONDS, _LEAST_SHARE * whole):
                    waiting.append((path, stage, function))
                elif _can_be_native(stage):
                    self._given.append(_hint(rows[path], seconds))
            self._candidates = waiting
        return [dict(hint) for hint in self._given]


def _plain_functions(dataset: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, stage and function of stages with plain functions; each function once."""
    seen: set[int] = set()
    waiting = [("0", dataset)]
    while waiting:
        path, stage = waiting.pop()
        waiting += [(f"{path}.{i}", each) for i, each in enumerate(stage._inputs)]
        function = stage._args.get(_FUNCTIONS.get(main_form(stage._kind), ""))
        if function is None or isinstance(function, NativeFunction) or id(function) in seen:
            continue
        seen.add(id(function))
        if stage._args.get("output_signature") is None:  # native functions cannot have one
            yield path, stage, function


def _own_seconds(path: str, stage: Any, rows: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the busy seconds of a stage without its inputs."""
    if path not in rows:
        return 0.0
    inputs = [rows.get(f"{path}.{i}") for i in range(len(stage._inputs))]
    below = sum(float(row["busy_seconds"]) for row in inputs if row is not None)
    return max(0.0, float(rows[path]["busy_seconds"]) - below)  # both are estimates


def _can_be_native(stage: Any) -> bool:
    # Only if the element spec is known without computing an element.
    return stage._inputs[0]._node.first_unknown() is None and traceable(stage) is not None


def _hint(row: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "stage": row["kind"],
        "name": row["name"],
        "function": row["function"],
        "knob": "native",
        "from": False,
        "to": True,
        "reason": _CAN_BE_NATIVE.format(stage=f"{main_form(row['kind'])}({row['function'] or ''})"),
    }
