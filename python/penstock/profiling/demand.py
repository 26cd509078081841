"""Resource demands of each stage, computed from an observation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_MUCH = 0.5  # share of samples holding the GIL: above it, waits inside functions are for the GIL


@dataclass
class StageProfile:
    """Measurements of one stage.

    Attributes
    ----------
    path, kind, name, function : str
        The stage, named as in `Iterator.stats`; `name` and `function` may be None.
    inputs : list of str
        The paths of its input stages.
    section : int
        Index of the threads that run it; 0 is the consumer's. Stages of the same section run
        sequentially.
    elements : int
        Number of elements produced.
    bytes : float
        Size of these elements in bytes; NaN if not measured.
    rate : float
        Elements per second.
    busy_seconds : float
        Time inside this stage alone, summed over its threads: on a CPU, ready to run, asleep, or
        waiting for a worker process. For a coroutine function, it includes the calls in progress.
    cpu_seconds, blocked_seconds, ready_seconds, worker_seconds : float
        Parts of `busy_seconds`: on a CPU (including worker processes); asleep or waiting for files;
        ready to run without a CPU; waiting for results of worker processes.
    ongoing_seconds : float
        For a coroutine function, the total duration of its calls.
    gil_seconds, gil_wait_seconds : float
        Time holding the GIL, and time waiting for it.
    lock_seconds : float
        Time waiting for another thread inside its function, except for the GIL.
    wait_input_seconds, wait_room_seconds, wait_memory_seconds : float
        Time that its threads waited for elements, for room in its buffer, and for the memory
        budget.
    waited_seconds : float
        Time that its consumer waited for it; 0 for a stage without separate threads.
    call_p50, call_p90, call_p99, call_max : float or None
        Durations of a call of its function in seconds. If it calls no function in separate threads,
        durations of producing an element.
    buffer_size : float
        Average number of elements in its buffer.
    buffer_limit, parallelism : int
        Capacity of its buffer in elements, and number of concurrent calls; 0 if not applicable.
    """

    path: str
    kind: str
    name: str | None
    function: str | None
    inputs: list[str] = field(default_factory=list)
    section: int = 0
    elements: int = 0
    bytes: float = 0.0
    rate: float = 0.0
    busy_seconds: float = 0.0
    cpu_seconds: float = 0.0
    blocked_seconds: float = 0.0
    ready_seconds: float = 0.0
    worker_seconds: float = 0.0
    ongoing_seconds: float = 0.0
    gil_seconds: float = 0.0
    gil_wait_seconds: float = 0.0
    lock_seconds: float = 0.0
    wait_input_seconds: float = 0.0
    wait_room_seconds: float = 0.0
    wait_memory_seconds: float = 0.0
    waited_seconds: float = 0.0
    call_p50: float | None = None
    call_p90: float | None = None
    call_p99: float | None = None
    call_max: float | None = None
    buffer_size: float = 0.0
    buffer_limit: int = 0
    parallelism: int = 0

    def __str__(self) -> str:
        inside = [self.function] if self.function else []
        if self.name:
            inside.append(f"name={self.name!r}")
        return f"{self.main_kind}({', '.join(inside)})" if inside else self.main_kind

    @property
    def main_kind(self) -> str:
        """Kind of the stage without the prefix "parallel_"."""
        return self.kind.removeprefix("parallel_")

    @property
    def in_processes(self) -> bool:
        """Whether worker processes make its calls."""
        return self.worker_seconds > 0

    @property
    def work_seconds(self) -> float:
        """Time that its work would take on an otherwise idle machine."""
        return self.cpu_seconds + self.blocked_seconds


def is_scarce(gil_share: float) -> bool:
    """Return whether waits for another thread are waits for the GIL."""
    return gil_share > _MUCH


def locked_share(raw: dict[str, Any], off_cpu: float) -> float:
    """Return the share of the sleeping time in which a thread waited for another one.

    A sample that finds a thread neither on a CPU nor waiting for another thread may have found it
    ready to run.
    """
    ready = (raw["locked"] + raw["asleep"]) * raw["ready"] / off_cpu if off_cpu > 0 else 0.0
    looks = raw["locked"] + max(raw["asleep"] - ready, 0.0)
    return raw["locked"] / looks if looks else 0.0


def stages_of(seen: dict[str, Any], gil_share: float) -> list[StageProfile]:
    """Return the stages of an observation, the last one first."""
    order = sorted(range(len(seen["stages"])), key=lambda i: _key(seen["stages"][i]["path"]))
    held = _held_when_in_python(seen, gil_share)
    loop = _loop_of_each(seen)
    stages = [_stage(seen, i, gil_share, held, loop) for i in order]
    paths = {stage.path for stage in stages}
    for stage in stages:
        above = stage.path.rpartition(".")[0]
        while above and above not in paths:
            above = above.rpartition(".")[0]
        if above:
            next(each for each in stages if each.path == above).inputs.append(stage.path)
    return stages


def step_of(seen: dict[str, Any], gil_share: float) -> StageProfile:
    """Return the consumer's time outside of the pipeline."""
    raw = seen["step"]
    wall, cpu = sum(raw["wall"].values()), sum(raw["cpu"].values())
    lock = raw["wall"]["lock"]
    idle = max(wall - cpu - raw["ready"] - lock, 0.0)
    if is_scarce(gil_share):
        lock += idle * locked_share(raw, wall - cpu - lock)
    return StageProfile(
        *("", "consumer", None, None),
        cpu_seconds=cpu,
        blocked_seconds=max(wall - cpu - raw["ready"] - lock, 0.0),
        gil_wait_seconds=lock,
    )


def _key(path: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else -1, part) for part in path.split(".")]


def _held_when_in_python(seen: dict[str, Any], gil_share: float) -> float:
    """Return the share of CPU time in Python functions in which they held the GIL.

    Functions of NumPy and other libraries release it. Only threads that try to acquire the GIL
    meanwhile can detect that.
    """
    inside = sum(stage["cpu"]["python"] for stage in seen["stages"]) + seen["step"]["cpu"]["run"]
    return min(1.0, gil_share * seen["seconds"] / inside) if inside > 0 else 0.0


def _ongoing(raw: dict[str, Any]) -> float:
    """Return the coroutines' time in seconds: concurrent calls, or one that a thread awaited."""
    return float(raw["in_progress"] or raw["wall"]["ongoing"])


def _loop_of_each(seen: dict[str, Any]) -> float:
    """Return the CPU seconds that the event loop used per call of a coroutine."""
    calls = sum(stage["elements"] for stage in seen["stages"] if _ongoing(stage) > 0)
    return float(seen["ongoing_cpu"] / calls) if calls else 0.0


def _stage(
    seen: dict[str, Any], index: int, gil_share: float, held: float, loop: float
) -> StageProfile:
    raw = seen["stages"][index]
    wall, cpu, seconds = raw["wall"], raw["cpu"], seen["seconds"]
    computes = cpu["run"] + cpu["python"]
    off_cpu = wall["run"] + wall["python"] - computes
    idle = max(off_cpu - raw["ready"], 0.0)
    waits = idle * locked_share(raw, off_cpu)
    for_gil = waits if is_scarce(gil_share) else 0.0
    in_workers = min(raw["workers_cpu"], wall["worker"])
    workers_ready = min(raw.get("workers_ready", 0.0), wall["worker"] - in_workers)
    asleep = idle - waits + wall["worker"] - in_workers - workers_ready
    ongoing = _ongoing(raw)
    in_loop = min(loop * raw["elements"], ongoing)
    calls = raw["calls"] or (None, None, None, None)
    buffers = [each[index] for each in seen["history"]["buffers"] if len(each) > index]
    each_bytes = raw["bytes_per_element"]
    return StageProfile(
        path=raw["path"],
        kind=raw["kind"],
        name=raw["name"],
        function=raw["function"],
        elements=raw["elements"],
        bytes=float("nan") if each_bytes is None else each_bytes * raw["elements"],
        rate=raw["elements"] / seconds,
        busy_seconds=wall["run"] + wall["python"] + wall["worker"] + ongoing - waits,
        cpu_seconds=computes + in_workers + in_loop,
        blocked_seconds=max(asleep + ongoing - in_loop, 0.0),
        ready_seconds=raw["ready"] + workers_ready,
        worker_seconds=wall["worker"],
        ongoing_seconds=ongoing,
        gil_seconds=cpu["python"] * held + in_loop,
        gil_wait_seconds=wall["lock"] + for_gil,
        lock_seconds=waits - for_gil,
        wait_input_seconds=wall["input"],
        wait_room_seconds=wall["room"] + wall["memory"],
        wait_memory_seconds=wall["memory"],
        waited_seconds=raw["waited"],
        call_p50=calls[0],
        call_p90=calls[1],
        call_p99=calls[2],
        call_max=calls[3],
        buffer_size=sum(buffers) / len(buffers) if buffers else 0.0,
        buffer_limit=raw["buffer_limit"],
        parallelism=raw["parallelism"],
    )
