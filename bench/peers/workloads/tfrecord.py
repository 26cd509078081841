"""TFRecord files without parsing: many small records, and few large ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.data import write_once
from bench.peers.workload import Task, Workload, expect

HEAD = 12  # bytes before a record: its length and the length's CRC
FRAME = HEAD + 4  # plus the record's own CRC after it


class TFRecord(Workload):
    title = "TFRecord, raw"
    summary = (
        "200,000 records of 300 bytes in batches of 1,024, and 1,500 records of 100,000 bytes one "
        "by one, from one file in the page cache; bytes are handed out as they are. The format has "
        "a CRC for each record; loaders that do not check it are marked."
    )
    unit = "MB/s"
    limit = (
        "read(2) of the file in blocks of 1 MB, and one CRC-32C over each block; at 100 KB also a "
        "bytes object of each 100,000"
    )
    bound = (
        "Making a Python object for each record and copying its bytes into it. This takes about a "
        "tenth of the time at 100 KB, and most of it at 300 B, where the limit hands out "
        "nothing. One thread reads, checks and copies the large records: handing them one by one "
        "to another thread, with `prefetch`, costs more than the copy. Plain Python reads each "
        "record straight into its object and saves one copy; penstock cuts records out of a "
        "buffer of the file."
    )
    scale = 1e6
    cases = {
        "300 B": {"n": 200_000, "size": 300, "weight": 300, "batch": 1024},
        "100 KB": {"n": 1500, "size": 100_000, "weight": 100_000, "batch": 0},
    }
    tiny = {"n": 2048, "size": 100}
    seconds = 0.6

    def prepare(self, task: Task) -> None:
        write_once(path(task), lambda file: write(file, task.n, task.size))

    def count(self, element: Any, task: Task) -> int:
        return len(element) if task.batch else 1

    def check(self, elements: Iterator[Any], task: Task) -> None:
        number = 0
        for element in elements:
            if task.batch and not number:
                expect("records of a batch", len(element), task.batch)
            for record in element if task.batch else [element]:
                contents = bytes(record.item() if isinstance(record, np.ndarray) else record)
                expect(f"length of record {number}", len(contents), task.size)
                ends = int.from_bytes(contents[:8], "little"), contents[-1]
                expect(f"first and last bytes of record {number}", ends, (number, number % 251))
                number += 1
        expect("records", number, task.n)


def path(task: Task) -> Path:
    """Return the path of the file of a case."""
    return Path(task.folder) / f"{task.size}x{task.n}.tfrecord"


def write(file: Path, count: int, size: int) -> None:
    """Write records that begin with their number and end with a byte derived from it.

    All records have the same length, so their CRCs are computed together, byte by byte.
    """
    random = np.random.default_rng(size)
    middle = random.integers(0, 256, size - 9, np.uint8)
    record = np.empty((count, size + FRAME), np.uint8)
    record[:, :8] = _bytes(np.full(count, size, np.uint64))
    record[:, 8:12] = _bytes(_masked_crc(record[:, :8]))
    record[:, 12:20] = _bytes(np.arange(count, dtype=np.uint64))
    record[:, 20:-5] = middle
    record[:, -5] = np.arange(count) % 251
    record[:, -4:] = _bytes(_masked_crc(record[:, 12:-4]))
    record.tofile(file)


def _bytes(values: Any) -> Any:
    return values.view(np.uint8).reshape(len(values), -1)


def _table() -> Any:
    """Return the CRC-32C table for one byte (polynomial 0x1EDC6F41, reflected)."""
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = (values >> 1) ^ np.where(values & 1, np.uint32(0x82F63B78), np.uint32(0))
    return values


def _masked_crc(rows: Any) -> Any:
    """Return the CRC-32C of each row, masked as the TFRecord format requires."""
    table = _table()
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(rows.T):
        crc = table[(crc ^ column) & 255] ^ (crc >> 8)
    crc = ~crc
    return ((crc >> 15) | (crc << 17)) + np.uint32(0xA282EAD8)


WORKLOAD = TFRecord()
