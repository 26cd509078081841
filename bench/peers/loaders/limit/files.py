"""The machine's limit, what is read from files."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np

from bench.aligned import aligned
from bench.native.build import built
from bench.peers.workload import Task
from bench.peers.workloads import csv as tables
from bench.peers.workloads import global_shuffle as shuffled
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import parse as examples
from bench.peers.workloads import stream as streaming
from bench.peers.workloads import text as lines
from bench.peers.workloads import tfrecord as records

BLOCK = 1 << 20
SECONDS = 0.6  # of the loop over records


def jpeg(task: Task) -> float:
    """bench/native's jpeg_loop: its reading and decoding passes on all processors."""
    folder = Path(photos.paths(task)[0]).parent
    command = [built("jpeg_loop"), folder, "--threads", str(task.workers), "--seconds", "1.5"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(run.stdout)
    rates, passes = found["images_per_second"], found["microseconds_per_image"]
    together = rates[str(task.workers)] / rates["1"]
    return 1e-6 * (passes["read"] + passes["decode"]) / together


def tfrecord(task: Task) -> float:
    """read(2) of 1 MB blocks into one buffer, google_crc32c.value of each; bytes of each 100 KB."""
    size = task.size

    def hand_out(block: Any) -> None:
        google_crc32c.value(block)
        for begin in range(0, len(block) - size + 1, size):
            bytes(block[begin : begin + size])

    use = google_crc32c.value if task.batch else hand_out
    return read(records.path(task), use) / (task.n * task.weight)


def parse(task: Task) -> float:
    """read(2) of 1 MB blocks into one buffer, google_crc32c.value of each."""
    return read(examples.path(task)) / task.n


def stream(task: Task) -> float:
    """read(2) of 1 MB blocks and google_crc32c.value of each; then rows[order[i : i + 256]]."""
    rows = np.zeros((task.n, task.size), np.uint8)
    order = np.random.default_rng(1).permutation(task.n)
    start = time.perf_counter()
    for begin in range(0, task.n, task.batch):
        rows[order[begin : begin + task.batch]]
    gathered = time.perf_counter() - start
    return (read(streaming.path(task)) + gathered) / task.n


def global_shuffle(task: Task) -> float:
    """rows[order[i : i + 1024]] of a memory map, with an order drawn beforehand."""
    rows = shuffled.rows(task)
    order = np.random.default_rng(1).permutation(task.n)
    passes = 0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS or not passes:
        for begin in range(0, task.n, task.batch):
            rows[order[begin : begin + task.batch]]
        passes += 1
    return passed / passes / task.n


def jpeg_records(task: Task) -> float:
    """bench/native's jpeg_loop on the photographs' files."""
    return jpeg(task)


def text(task: Task) -> float:
    """read(2) of 1 MB blocks into one buffer, np.count_nonzero(block == 32)."""
    return read(lines.path(task), lambda block: np.count_nonzero(block == ord(" "))) / task.n


def csv(task: Task) -> float:
    """read(2) of 1 MB blocks into one buffer, np.count_nonzero(block == 44)."""
    return read(tables.path(task), lambda block: np.count_nonzero(block == ord(","))) / task.n


def read(path: Path, use: Callable[[Any], Any] = google_crc32c.value) -> float:
    """Return the seconds of reading a file and of using each block."""
    buffer = aligned(BLOCK)
    passes = 0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS or not passes:
        with path.open("rb", buffering=0) as file:
            while got := file.readinto(buffer.data):
                use(buffer[:got])
        passes += 1
    return passed / passes
