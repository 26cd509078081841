"""Parsing of tf.train.Example records, in batches and individually."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.data import write_once
from bench.peers.workload import Task, Workload, expect

FLOATS, BYTES = 8, 200


class Parse(Workload):
    title = "TFRecord, parsed"
    summary = (
        "200,000 tf.train.Example records of 8 floats, one integer and 200 bytes, from one file in "
        "the page cache, to batches of 1,024 of arrays: the records of a batch parsed together, or "
        "each parsed by itself and batched then."
    )
    unit = "M/s"
    limit = "read(2) of the file in blocks of 1 MB, and one CRC-32C over each block"
    bound = (
        "The 200 bytes of each record become a Python object, and the fields of each record are "
        "found by reading its wire format. The limit reads and checks bytes without interpreting "
        "them."
    )
    scale = 1e6
    cases = {
        "batched": {"n": 200_000, "batch": 1024},
        "single": {"n": 200_000, "batch": 1024},
    }
    tiny = {"n": 2048}

    def prepare(self, task: Task) -> None:
        import penstock as ps

        def write(file: Path) -> None:
            with ps.io.TFRecordWriter(file) as writer:
                for number in range(task.n):
                    writer.write(ps.io.make_example(record(number)))

        write_once(path(task), write)

    def count(self, element: Any, task: Task) -> int:
        return len(element["label"])

    def check(self, elements: Iterator[Any], task: Task) -> None:
        number = 0
        for element in elements:
            labels = np.asarray(element["label"])
            values = np.asarray(element["x"])
            for i, label in enumerate(labels.tolist()):
                wanted = record(number)
                expect("label", label, number)
                expect(f"floats of record {number}", values[i].tolist(), wanted["x"].tolist())
                expect(f"bytes of record {number}", bytes(element["data"][i]), wanted["data"])
                number += 1
            expect("types", (labels.dtype.name, values.dtype.name), ("int64", "float32"))
        expect("records", number, task.n)


def record(number: int) -> dict[str, Any]:
    """Return the features of a record."""
    return {
        "x": np.arange(number, number + FLOATS, dtype=np.float32),
        "label": number,
        "data": number.to_bytes(8, "little") + bytes([number % 251]) * (BYTES - 8),
    }


def path(task: Task) -> Path:
    """Return the path of the file of records."""
    return Path(task.folder) / f"{task.n}.tfrecord"


WORKLOAD = Parse()
