"""Records streamed from a file and shuffled with a buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.peers.data import write_once
from bench.peers.workload import Task, Undone, Workload, expect
from bench.peers.workloads.tfrecord import path, write

__all__ = ["WORKLOAD", "path"]


class Stream(Workload):
    title = "Streaming shuffle"
    summary = (
        "150,000 records of 1,024 bytes from one TFRecord file in the page cache, shuffled with a "
        "buffer of 100,000, in batches of 256. A pass includes filling the buffer."
    )
    unit = "thousand records/s"
    limit = "read(2) of the file and its CRC-32C, then NumPy's gather by a known permutation"
    bound = (
        "Memory. Each record is copied into the buffer, which is larger than the caches, from "
        "there into its batch, and then into a Python object. The last copy takes most of the "
        "time of the program's thread; reading and the checksum come on top. The limit copies "
        "once and makes no objects."
    )
    scale = 1e3
    cases = {"1 KB records": {"n": 150_000, "size": 1024, "buffer": 100_000, "batch": 256}}
    tiny = {"n": 4096, "buffer": 1024}
    seconds = 0.5

    def prepare(self, task: Task) -> None:
        write_once(path(task), lambda file: write(file, task.n, task.size))

    def check(self, elements: Iterator[Any], task: Task) -> None:
        found: list[int] = []
        for batch in elements:
            if not found:
                expect("length of a batch", len(batch), task.batch)
            for record in batch:
                contents = bytes(record.item() if isinstance(record, np.ndarray) else record)
                expect("length of a record", len(contents), task.size)
                found.append(int.from_bytes(contents[:8], "little"))
                expect("last byte of a record", contents[-1], found[-1] % 251)
        expect("all records once", sorted(found) == list(range(task.n)), True)
        moved = float(np.mean(np.abs(np.array(found) - np.arange(task.n))))
        if moved < task.buffer / 8:
            raise Undone(f"hardly shuffled: records moved by {moved:.0f} places on the average")


WORKLOAD = Stream()
