"""Reading of record files, compared with minimal C++ loops over the same bytes.

- TFRecords of 100 KB, individually: the limit reads blocks of 256 KiB with read(2) and checks both
  checksums with the CPU's instruction. A second limit adds the creation of as many ``bytes``
  objects of that size;
- TFRecords of 300 bytes, batched by 1,024, compared with the same loop, and with the creation of as
  many ``bytes`` objects of that size in Python, which no Python interface can avoid;
- the lines of a text of 20 to 180 characters each, individually and batched: the limit counts line
  ends with memchr over the same reads; ``bytes.splitlines`` shows the cost of the objects;
- the same lines, mapped to their lengths by a native function, and records of 8 numbers as CSV:
  with ``num_parallel_calls=2`` on the reader, compared with a sequential reader.

Every loop runs in the same rounds as the pipeline it is compared with. The files are in the page
cache. With ``prefetch``, a background thread reads and the loop creates the objects.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import penstock as ps
from bench.native.build import built
from bench.pipelines.measure import Case, Figure, Rounds, Spread, drain, interleaved, main, timed

LARGE, LARGE_RECORDS = 100_000, 2000
SMALL, SMALL_RECORDS = 300, 400_000
LINES = 1_000_000
CSV_RECORDS, CSV_COLUMNS = 100_000, 8
BATCH = 1024
SECONDS = 0.4  # per native loop


def looping(program: Path, form: str, file: Path, units: int) -> Case:
    """Return the seconds per record of a native loop."""

    def case() -> float:
        command = [program, form, file, "--seconds", str(SECONDS)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(json.loads(run.stdout)["seconds"]) / units

    return case


def write(folder: Path) -> tuple[Path, Path, Path, Path]:
    large, small, text, table = (folder / name for name in ("large", "small", "text", "table"))
    for file, size, count in ((large, LARGE, LARGE_RECORDS), (small, SMALL, SMALL_RECORDS)):
        record = os.urandom(size)
        with ps.io.TFRecordWriter(file) as writer:
            for _ in range(count):
                writer.write(record)
    letters = b"the quick brown fox jumps over the lazy dog " * 5
    lengths = np.random.default_rng(1).integers(20, 181, LINES)
    with text.open("wb") as lines:
        lines.writelines(letters[:length] + b"\n" for length in lengths.tolist())
    numbers = np.random.default_rng(2).integers(0, 10**6, (CSV_RECORDS, CSV_COLUMNS))
    np.savetxt(table, numbers / [1, 1, 1, 1, 1000, 1000, 1000, 1000], "%g", ",")
    return large, small, text, table


def lengths(lines: ps.Dataset) -> ps.Dataset:
    """Return the length of each line, without creating Python objects."""
    return lines.batch(BATCH).map(ps.native(ps.strings.length))


def columns(table: Path, calls: int | None) -> ps.Dataset:
    """Return batches of the columns of a CSV file."""
    types = [np.int64] * (CSV_COLUMNS // 2) + [np.float32] * (CSV_COLUMNS // 2)
    records = ps.experimental.CsvDataset(table, types, num_parallel_calls=calls)
    return records.batch(BATCH)


def make_bytes(size: int, held: int, count: int) -> None:
    """Create objects of that size, and drop them whenever this many are alive."""
    source = bytes(size + 1)
    for _ in range(count // held):
        _ = [source[:size] for _ in range(held)]


def split(file: Path) -> None:
    """Split the lines of a file in memory with Python, about a batch per call."""
    text = file.read_bytes()
    for begin in range(0, len(text), 100 * BATCH):
        text[begin : begin + 100 * BATCH].splitlines()


def timings() -> Rounds:
    """Time the loops and the pipelines in the same rounds."""
    program = built("record_loop")
    with tempfile.TemporaryDirectory() as folder:
        large, small, text, table = write(Path(folder))
        big, little = ps.TFRecordDataset(large), ps.TFRecordDataset(small)
        lines = ps.TextLineDataset(text)
        shared = ps.TextLineDataset(text, num_parallel_calls=2)
        csv, csv_shared = columns(table, None), columns(table, 2)
        return interleaved(
            {
                "large loop": looping(program, "records", large, LARGE_RECORDS),
                "large objects": timed(lambda: make_bytes(LARGE, 1, LARGE_RECORDS), LARGE_RECORDS),
                "large": timed(lambda: drain(big), LARGE_RECORDS),
                "large ahead": timed(lambda: drain(big.prefetch(4)), LARGE_RECORDS),
                "small loop": looping(program, "records", small, SMALL_RECORDS),
                "small objects": timed(lambda: make_bytes(SMALL, BATCH, BATCH), BATCH),
                "small": timed(lambda: drain(little.batch(BATCH)), SMALL_RECORDS),
                "small ahead": timed(lambda: drain(little.batch(BATCH).prefetch(2)), SMALL_RECORDS),
                "small single": timed(lambda: drain(little), SMALL_RECORDS),
                "lines loop": looping(program, "lines", text, LINES),
                "lines": timed(lambda: drain(lines), LINES),
                "lines batched": timed(lambda: drain(lines.batch(BATCH)), LINES),
                "lines ahead": timed(lambda: drain(lines.batch(BATCH).prefetch(8)), LINES),
                "lines shared": timed(lambda: drain(shared.batch(BATCH)), LINES),
                "lengths": timed(lambda: drain(lengths(lines)), LINES),
                "lengths shared": timed(lambda: drain(lengths(shared)), LINES),
                "csv": timed(lambda: drain(csv), CSV_RECORDS),
                "csv shared": timed(lambda: drain(csv_shared), CSV_RECORDS),
                "lines by Python": timed(lambda: split(text), LINES),
            }
        )


def run() -> list[Figure]:
    rounds = timings()
    rate = {case: 1 / rounds.seconds(case).median for case in rounds.rounds[0]}

    def share(case: str, loop: str, what: str, at_least: float | None = None) -> Figure:
        return Figure(
            f"{what}: speed / C++ loop",
            rounds.ratio(loop, case).scaled(100),
            "%",
            at_least=at_least,
            note=f"{rate[case] / 1e6:.3g} against {rate[loop] / 1e6:.3g} M/s",
        )

    def millions(case: str, what: str, at_least: float | None = None) -> Figure:
        speeds = [1e-6 / r[case] for r in rounds.rounds]
        objects, loop = rate["small objects"] / 1e6, rate["small loop"] / 1e6
        return Figure(
            what,
            Spread.of(speeds),
            "M/s",
            at_least=at_least,
            note=f"objects alone {objects:.3g}, reading alone {loop:.3g} M/s",
        )

    def ahead(case: str, what: str) -> Figure:
        return Figure(
            f"{what}: speed / without",
            rounds.ratio(case, f"{case} ahead").scaled(100),
            "%",
            at_least=95,
            note=f"{rate[f'{case} ahead'] / 1e6:.3g} against {rate[case] / 1e6:.3g} M/s",
        )

    def gain(case: str, what: str) -> Figure:
        return Figure(
            f"{what}: speed with two threads / one",
            rounds.ratio(case, f"{case} shared"),
            "x",
            note=f"{rate[f'{case} shared'] / 1e6:.3g} against {rate[case] / 1e6:.3g} M/s",
        )

    return [
        share("large", "large loop", "TFRecords of 100 KB", at_least=80),
        Figure(
            "TFRecords of 100 KB: speed / C++ loop and objects",
            Spread.of(
                100 * (r["large loop"] + r["large objects"]) / r["large"] for r in rounds.rounds
            ),
            "%",
            at_least=95,
        ),
        ahead("large", "TFRecords of 100 KB, prefetch(4)"),
        millions("small", "TFRecords of 300 bytes, batches of 1,024", at_least=4),
        ahead("small", "the same batches, prefetch(2)"),
        millions("small single", "TFRecords of 300 bytes, one by one"),
        share("lines", "lines loop", "text lines, one by one"),
        share("lines batched", "lines loop", "text lines, batches of 1,024"),
        share("lines ahead", "lines loop", "the same behind prefetch(8)", at_least=60),
        share("lines shared", "lines loop", "the same with num_parallel_calls=2"),
        gain("lengths", "text lines, their lengths"),
        gain("csv", f"CSV, {CSV_COLUMNS} columns, batches of 1,024"),
        share("lines by Python", "lines loop", "bytes.splitlines of the same, in memory"),
    ]


if __name__ == "__main__":
    main(run, __doc__)
