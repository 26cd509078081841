"""Invented measurements, in the form in which the engine reports a watched run."""

from typing import Any

DOINGS = ("run", "python", "worker", "ongoing", "input", "room", "memory", "lock")


def times(**wall: float) -> dict[str, Any]:
    """Return times by activity; ``cpu_run`` and ``cpu_python`` are CPU times."""
    cpu = {each: wall.pop(f"cpu_{each}", 0.0) for each in DOINGS}
    ready, locked, asleep = (wall.pop(each, 0) for each in ("ready", "locked", "asleep"))
    return {
        "wall": {each: wall.pop(each, 0.0) for each in DOINGS},
        "cpu": cpu,
        "ready": ready,
        "locked": locked,
        "asleep": asleep,
    }


def stage(path: str, kind: str, function: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a stage that yielded a hundred elements."""
    own = {
        name: more.pop(name, value)
        for name, value in (
            ("elements", 100),
            ("buffer_limit", 0),
            ("parallelism", 0),
            ("workers_cpu", 0.0),
            ("in_progress", 0.0),
            ("calls", None),
            ("bytes_per_element", 8.0),
            ("waited", 0.0),
        )
    }
    named = {"path": path, "kind": kind, "name": None, "function": function}
    return {**named, **own, "busy": 0.0, **times(**more)}


def seen(
    *stages: dict[str, Any],
    waits: float = 0.0,
    step: dict[str, Any] | None = None,
    gil: float = 0.0,
    cpu: float = 1.0,
) -> dict[str, Any]:
    """Return a report of ten seconds; the consumer waited for the fraction `waits` of them."""
    spans = [(0.0, 10 * waits, "0", "input", 0), (10 * waits, 10.0, None, "step", -1)]
    return {
        "seconds": 10.0,
        "stages": list(stages),
        "step": step or times(run=10 * (1 - waits), asleep=10),
        "threads": [{"name": "", "consumer": True, "spans": spans}],
        "history": {
            "seconds": [5.0, 10.0],
            "elements": [50, 100],
            "waiting": [waits, waits],
            "buffers": [[0] * len(stages)] * 2,
        },
        "process_cpu": 10 * cpu,
        "ongoing_cpu": 0.0,
        "lock_looks": 500,
        "lock_held": round(500 * gil),
        "interval": 0.005,
    }
