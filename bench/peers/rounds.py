"""Run the measurement processes: peers alternate in rounds, each process with a time limit."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import machine
from bench.peers import environments, offers, workloads
from bench.peers.results import Cell, Measured

ROOT = Path(__file__).parents[2]
LIMIT = 90.0  # seconds per process
PREPARING = 900.0  # seconds for preparing the data and the native limit
TIMED_OUT = "took more than"

Say = Callable[[str], None]


class Place(NamedTuple):
    """The environment of the processes: interpreters, data, variables."""

    python: Callable[[str], Path]  # maps a peer to its interpreter
    missing: Callable[[str], str]  # maps a peer to the reason why it cannot run
    data: Path
    environ: dict[str, str]
    limit: float = LIMIT

    @staticmethod
    def environments() -> Place:
        """Return the `Place` of the virtual environments."""
        return Place(
            environments.interpreter,
            environments.missing,
            environments.folder() / "data",
            environments.clean_environ(),
        )


def measure(
    name: str, cases: Sequence[str], peers: Iterable[str], repeats: int, place: Place, say: Say
) -> Measured:
    """Measure cases of a workload on the peers that offer it, A B C A B C.

    Parameters
    ----------
    name : str
        The workload.
    cases : sequence of str
        Some or all of its cases.
    peers : iterable of str
        Peers that do not offer the workload are skipped; those that are not installed are noted.
    repeats : int
        The number of rounds; a deterministic workload runs only one.
    place : Place
        Interpreters, data, variables.
    say : callable
        Called with a line of text for each measurement.
    """
    workload = workloads.load(name)
    chosen = [peer for peer in offers.offering(name) if peer in set(peers)]
    found = Measured(
        name,
        datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        machine.describe(),
        {},
        {peer: offers.configurations(peer)[name] for peer in chosen},
        {case: {peer: Cell() for peer in chosen} for case in cases},
    )
    for peer in chosen:
        if reason := place.missing(peer):
            for cells in found.cases.values():
                cells[peer].missing = reason
    patient = place._replace(limit=PREPARING)
    prepared = child("prepare", "penstock", name, cases, patient)
    if reason := prepared.get("", {}).get("failed"):
        raise RuntimeError(f"the data of {name} could not be made: {reason}")
    processes = [cases] if workload.together else [[case] for case in cases]
    for number in range(1 if workload.once else repeats):
        for some in processes:
            for peer in chosen:
                _one(found, peer, some, place)
                for case in some:
                    say(f"{name}, {case}, round {number + 1}: {_line(workload, found, case, peer)}")
    return found


def _one(found: Measured, peer: str, cases: Sequence[str], place: Place) -> None:
    """Run a process and add its measurements; skip cells that can only fail again."""
    cells = [found.cases[case][peer] for case in cases]
    if all(c.missing or any(TIMED_OUT in f for f in c.failures) for c in cells):
        return
    noise = machine.Noise()
    measured = child(offers.module(peer, found.name), peer, found.name, cases, place)
    for case, cell in zip(cases, cells, strict=True):
        cell.add(measured.get(case) or measured[""], noise.cpus())


def _line(workload: Any, found: Measured, case: str, peer: str) -> str:
    cell = found.cases[case][peer]
    if cell.failed:
        return f"{peer} {cell.failed}"
    return f"{peer} {workload.shown(cell.seconds[-1]):,.4g} {workload.unit}"


def child(
    what: str, peer: str, name: str, cases: Sequence[str], place: Place
) -> dict[str, dict[str, Any]]:
    """Run `bench.peers.child`; return its results, or a failure under the name ""."""
    place.data.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=place.data))
    result = scratch / "result.json"
    python = str(place.python(peer))
    command = [python, "-m", "bench.peers.child", str(result), what, name, *cases]
    environ = place.environ | {"PENSTOCK_PEERS_DATA": str(place.data)}
    try:
        with (scratch / "said").open("w+b") as said:
            # No pipes: processes that a loader leaves running would keep them open.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=ROOT,
                env=environ,
                start_new_session=True,
            )
            status = _wait(process, place.limit)
            if result.exists():
                text = result.read_text().replace(str(scratch), "...")
                measured: dict[str, dict[str, Any]] = json.loads(text)
                return measured
            if status is None:
                return {"": {"failed": f"{TIMED_OUT} {place.limit:.0f} s"}}
            said.seek(0)
            return {"": {"failed": _reason(status, said.read().decode(errors="replace"))}}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], limit: float) -> int | None:
    """Wait for a process, then end all its descendants; return None after a timeout."""
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _reason(status: int, said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1][:200] if lines else "nothing was said"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}; {last}"
    return last if status else f"wrote no result; {last}"


def minutes(start: float) -> str:
    """Return the time since `start` as text."""
    return f"{(time.monotonic() - start) / 60:.1f} min"
