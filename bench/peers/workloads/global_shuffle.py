"""Records of a file in a random order, each exactly once, without a buffer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.data import write_once
from bench.peers.workload import Task, Undone, Workload, expect
from bench.peers.workloads import tfrecord as records


class GlobalShuffle(Workload):
    title = "Records, shuffled as a whole"
    summary = (
        "100,000 records of 1,024 bytes of one file in the page cache, each once, in an order "
        "drawn over all of them, in batches of 1,024: TFRecords with an index, or ArrayRecords, "
        "which Grain reads one by one. Bytes are handed out as they are."
    )
    unit = "million records/s"
    limit = "NumPy's gather of rows of the mapped file by a permutation drawn beforehand"
    bound = (
        "Each record comes from memory that no cache holds, its CRC is checked, and it becomes a "
        "Python object. The limit hands out arrays and checks nothing."
    )
    scale = 1e6
    cases = {"1 KB": {"n": 100_000, "size": 1024, "batch": 1024}}
    tiny = {"n": 4096, "size": 100}

    def prepare(self, task: Task) -> None:
        import penstock as ps

        write_once(path(task), lambda file: records.write(file, task.n, task.size))
        ps.index(path(task), progress=False)

    def check(self, elements: Iterator[Any], task: Task) -> None:
        order: list[int] = []
        for batch in elements:
            if not order:
                expect("records of a batch", len(batch), task.batch)
            for record in batch:
                contents = bytes(record.item() if isinstance(record, np.ndarray) else record)
                number = int.from_bytes(contents[:8], "little")
                expect(f"length of record {number}", len(contents), task.size)
                expect(f"last byte of record {number}", contents[-1], number % 251)
                order.append(number)
        places = np.array(order)
        expect("all records once", np.array_equal(np.sort(places), np.arange(task.n)), True)
        moved = float(np.mean(np.abs(places - np.arange(task.n))))
        if moved < task.n / 6:  # a permutation moves each by n / 3 on average
            raise Undone(f"hardly shuffled: records moved by {moved:.0f} on the average")


def path(task: Task) -> Path:
    """Return the path of the file of a case."""
    return records.path(task)


def rows(task: Task) -> Any:
    """Return the records of the file as a memory map."""
    framed = np.memmap(path(task), np.uint8, "r").reshape(task.n, task.size + records.FRAME)
    return framed[:, records.HEAD : records.HEAD + task.size]


WORKLOAD = GlobalShuffle()
