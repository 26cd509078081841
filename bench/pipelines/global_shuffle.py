"""Indexing and global shuffling of TFRecords, compared with reading them in order.

A million records of 1 KB, in the page cache, batched by 1,024. The memory figure is the peak of a
process that starts to shuffle 10^8 numbers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import penstock as ps
from bench.pipelines.measure import Figure, Spread, drain, interleaved, main, timed

RECORDS, BYTES = 1_000_000, 1024
BATCH = 1024

_FIRST_BATCH = """
import pathlib, re, time
import penstock as ps
start = time.perf_counter()
next(iter(ps.Dataset.range(10**8).global_shuffle(seed=1).batch(1024)))
seconds = time.perf_counter() - start
print(seconds, re.search("VmHWM:\\\\s*(\\\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


def write(folder: Path) -> Path:
    file = folder / "records.tfrecord"
    random = os.urandom(2 * BYTES)
    with ps.io.TFRecordWriter(file) as writer:
        for i in range(RECORDS):
            begin = i % BYTES
            writer.write(random[begin : begin + BYTES])
    return file


def index_again(file: Path) -> None:
    Path(f"{file}.psindex").unlink(missing_ok=True)
    ps.index(file, progress=False)


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder))
        index_again(file)
        in_order = ps.TFRecordDataset(file).batch(BATCH)
        indexed = ps.TFRecordDataset(file, indexed=True)
        rounds = interleaved(
            {
                "in order": timed(lambda: drain(in_order), RECORDS),
                "indexed": timed(lambda: drain(indexed.batch(BATCH)), RECORDS),
                "global": timed(
                    lambda: drain(indexed.global_shuffle(seed=1).batch(BATCH)), RECORDS
                ),
                "buffer": timed(
                    lambda: drain(indexed.shuffle(RECORDS, seed=1).batch(BATCH)), RECORDS
                ),
                "index": timed(lambda: index_again(file), RECORDS * BYTES),
            }
        )
    command = [sys.executable, "-c", _FIRST_BATCH]
    began = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    speed = {case: 1e-6 / rounds.seconds(case).median for case in rounds.rounds[0]}

    def share(case: str, what: str, at_least: float | None = None) -> Figure:
        return Figure(
            f"{what}: speed / in order",
            rounds.ratio("in order", case).scaled(100),
            "%",
            at_least=at_least,
            note=f"{speed[case]:.2f} against {speed['in order']:.2f} million records/s",
        )

    return [
        share("global", "1 KB TFRecords, global_shuffle", at_least=50),
        share("buffer", "the same, shuffle(n)"),
        share("indexed", "the same by the index, in order"),
        Figure(
            "index of TFRecords",
            Spread.of([1e-9 / each["index"] for each in rounds.rounds]),
            "GB/s",
            at_least=1,
        ),
        Figure("first batch of 10^8", Spread.of([float(began[0]) * 1e3]), "ms", at_most=1000),
        Figure("peak memory at it", Spread.of([float(began[1]) / 1024]), "MB", at_most=100),
    ]


if __name__ == "__main__":
    main(run, __doc__)
