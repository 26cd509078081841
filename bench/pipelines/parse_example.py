"""Parsing of tf.train.Example records, compared with reading them and with protobuf.

200,000 records of 8 floats, one integer and 200 bytes, in the page cache, in batches of 1,024:
parsed by native functions, in batches and individually. The limit is a loop that reads blocks of
256 KiB with read(2), finds the records and checks both checksums. A second limit is the creation of
a batch's ``bytes`` objects, which no Python interface can avoid. Where protobuf is installed, its
classes parse the same records.

A second file contains records of ten features: vectors and scalars, of floats and of integers.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from bench.native.build import built
from bench.pipelines.measure import Case, Figure, Spread, drain, interleaved, main, timed
from bench.pipelines.records import looping

RECORDS, BATCH = 200_000, 1024
FLOATS, BYTES = 8, 200
PROTOBUF_RECORDS = 4096
FEATURES = {
    "x": ps.io.FixedLenFeature((FLOATS,), np.float32),
    "label": ps.io.FixedLenFeature((), np.int64),
    "data": ps.io.FixedLenFeature((), bytes),
}
TEN_SIZES = {"pixels": 16, "mean": 8, "box": 4, "weight": 1, "ids": 8, "history": 16, "flags": 4}
TEN_SIZES |= {"label": 1, "user": 1, "time": 1}
TEN_FLOATS = 4  # the first features are floats
TEN_RECORDS = 50_000


def ten_features() -> dict[str, Any]:
    found = {}
    for i, (name, size) in enumerate(TEN_SIZES.items()):
        dtype = np.float32 if i < TEN_FLOATS else np.int64
        found[name] = ps.io.FixedLenFeature((size,) if size > 1 else (), dtype)
    return found


def write_ten(file: Path) -> None:
    rng = np.random.default_rng(2)
    most = {"ids": 10**6, "history": 50_000, "flags": 2, "label": 1000, "user": 10**9}
    with ps.io.TFRecordWriter(file) as writer:
        for second in range(TEN_RECORDS):
            values: dict[str, Any] = {}
            for i, (name, size) in enumerate(TEN_SIZES.items()):
                if i < TEN_FLOATS:
                    values[name] = rng.random(size)
                else:
                    values[name] = rng.integers(0, most.get(name, 1), size)
            writer.write(ps.io.make_example(values | {"time": 1_700_000_000 + second}))


@ps.native
def together(records: Any) -> Any:
    return ps.io.parse_example(records, FEATURES)


@ps.native
def single(record: Any) -> Any:
    return ps.io.parse_single_example(record, FEATURES)


def numbers(records: Any) -> Any:
    return ps.io.parse_example(records, {name: FEATURES[name] for name in ("x", "label")})


def write(file: Path) -> None:
    rng = np.random.default_rng(1)
    with ps.io.TFRecordWriter(file) as writer:
        for label in range(RECORDS):
            values = {"x": rng.random(FLOATS), "label": label, "data": os.urandom(BYTES)}
            writer.write(ps.io.make_example(values))


def make_bytes() -> None:
    """Create and drop the strings of a batch."""
    source = bytes(BYTES + 1)
    end = BYTES
    _ = [source[:end] for _ in range(BATCH)]


def protobuf(records: list[bytes]) -> Case:
    """Parse individual records into Python lists with protobuf's own classes."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "ops"))
    import example_messages

    def work() -> None:
        for record in records:
            example_messages.parse(record)

    return timed(work, len(records))


def run() -> list[Figure]:
    program = built("record_loop")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "examples")
        write(file)
        tens = Path(folder, "ten")
        write_ten(tens)
        ten = ten_features()
        ten_batches = ps.TFRecordDataset(tens).batch(BATCH)
        ten_ready = next(iter(ten_batches))
        parse_ten = ps.native(lambda batch: ps.io.parse_example(batch, ten))
        records = ps.TFRecordDataset(file)
        batches = records.batch(BATCH)
        ready = next(iter(batches))
        pipelines = {
            "read": batches,
            "batched": batches.map(together),
            "batched ahead": batches.map(together, num_parallel_calls=ps.AUTOTUNE).prefetch(2),
            "numbers": batches.map(ps.native(numbers)),
            "single": records.map(single).batch(BATCH),
            "single ahead": records.map(single, num_parallel_calls=ps.AUTOTUNE)
            .batch(BATCH)
            .prefetch(2),
        }
        cases: dict[str, Case] = {
            name: timed(lambda dataset=dataset: drain(dataset), RECORDS)
            for name, dataset in pipelines.items()
        }
        cases["ten"] = timed(lambda: drain(ten_batches.map(parse_ten)), TEN_RECORDS)
        ten_ahead = ten_batches.map(parse_ten, num_parallel_calls=2).prefetch(2)
        cases["ten ahead"] = timed(lambda: drain(ten_ahead), TEN_RECORDS)
        cases["ten eager"] = timed(lambda: ps.io.parse_example(ten_ready, ten), BATCH)
        cases["loop"] = looping(program, "records", file, RECORDS)
        cases["objects"] = timed(make_bytes, BATCH)
        cases["eager"] = timed(lambda: ps.io.parse_example(ready, FEATURES), BATCH)
        if importlib.util.find_spec("google.protobuf"):
            cases["protobuf"] = protobuf(list(records.take(PROTOBUF_RECORDS)))
        rounds = interleaved(cases)

    def speed(case: str, what: str, at_least: float | None = None) -> Figure:
        speeds = Spread.of(1e-6 / r[case] for r in rounds.rounds)
        loop = 1e-6 / rounds.seconds("loop").median
        objects = 1e-6 / rounds.seconds("objects").median
        note = f"reading alone {loop:.3g}, objects alone {objects:.3g} M/s"
        return Figure(what, speeds, "M/s", at_least=at_least, note=note)

    figures = [
        speed("batched", "batch(1,024), parse_example"),
        speed("batched ahead", "the same with AUTOTUNE, prefetch(2)", at_least=5),
        speed("numbers", "batch(1,024), parse_example without the bytes"),
        speed("single", "parse_single_example, batch(1,024)"),
        speed("single ahead", "the same with AUTOTUNE, prefetch(2)"),
        speed("eager", "parse_example, called on a batch"),
        speed("read", "batch(1,024), not parsed"),
        speed("ten", "ten features: batch(1,024), parse_example"),
        speed("ten ahead", "the same with two calls, prefetch(2)"),
        speed("ten eager", "ten features: parse_example, called on a batch"),
        Figure(
            "single / batched: time, AUTOTUNE",
            rounds.ratio("single ahead", "batched ahead"),
            "x",
            at_most=2,
        ),
    ]
    if "protobuf" in cases:
        figures.append(
            Figure("protobuf / parse_example: time", rounds.ratio("protobuf", "batched"), "x")
        )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
