"""The workloads, one file each, defined as the module's WORKLOAD."""

from __future__ import annotations

from importlib import import_module

from bench.peers.workload import Workload

NAMES = (
    "jpeg",
    "jpeg_records",
    "overhead",
    "compiled",
    "elements",
    "tfrecord",
    "parse",
    "text",
    "csv",
    "slices",
    "shuffle",
    "stream",
    "global_shuffle",
    "padded",
    "generator",
    "gil",
    "same_class",
    "worker_start",
    "cache",
    "latency",
    "interleave",
    "checkpoint",
    "start",
    "imports",
    "install",
)


def load(name: str) -> Workload:
    """Return the workload with this name."""
    workload: Workload = import_module(f"bench.peers.workloads.{name}").WORKLOAD
    return workload
