"""The speed-up from following the advice of `lint`.

Each pair compares a pipeline that violates a performance rule with the form that the rule suggests.
`lint` checks each pair first: the rule must match the former, and must not match the latter.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed
from bench.pipelines.remote import RECORD, serving

STEP = 0.001  # seconds per training step
IMAGE = ps.io.encode_jpeg(
    np.random.default_rng(0).integers(0, 255, (60, 80, 3), np.uint8).repeat(4, 0).repeat(4, 1)
)
FEATURES = {f"x{i}": ps.io.FixedLenFeature([], np.int64) for i in range(8)}


class Pair(NamedTuple):
    """Functions that build a pipeline with a mistake, and the form that its rule suggests."""

    rule: str
    found: Callable[[], ps.Dataset]
    fixed: Callable[[], ps.Dataset]
    run: Callable[[Any], None] = drain


def train(ds: ps.Dataset) -> None:
    for _ in ds:
        time.sleep(STEP)


def collatz(x: Any) -> int:
    n, steps = int(x) + 1, 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    for _ in range(100):
        steps += 1
    return steps


def work(x: Any) -> Any:
    deadline = time.perf_counter() + STEP
    while time.perf_counter() < deadline:
        pass
    return x


def decode(data: Any) -> Any:
    return ps.io.decode_jpeg(data, channels=3)


def crop(image: Any) -> Any:
    return ps.image.central_crop(image, 0.25)


def scaled(x: Any) -> Any:
    return ps.cast(x, np.float32) / 255.0 - 0.5


def doubled(x: Any) -> Any:
    return x * 2 + 1


def parse_one(record: Any) -> Any:
    return ps.io.parse_single_example(record, FEATURES)


def parse_many(records: Any) -> Any:
    return ps.io.parse_example(records, FEATURES)


def pairs() -> Iterator[Pair]:
    images = ps.Dataset.from_tensor_slices([IMAGE] * 200)
    numbers = ps.Dataset.range(20_000)
    few = numbers.take(200)
    whole = ps.native(decode)
    yield Pair(
        "PS010",
        lambda: images.map(whole, ps.AUTOTUNE).repeat(4).prefetch(2),
        lambda: images.map(whole, ps.AUTOTUNE).cache().repeat(4).prefetch(2),
    )
    yield Pair(
        "PS014",
        lambda: few.map(work).shard(2, 0).prefetch(2),
        lambda: few.shard(2, 0).map(work).prefetch(2),
    )
    yield Pair("PS015", lambda: few.map(work), lambda: few.map(work).prefetch(2), train)
    yield Pair("PS016", lambda: numbers.prefetch(8).prefetch(8), lambda: numbers.prefetch(8))
    yield Pair(
        "PS019",
        lambda: numbers.map(collatz, 2).batch(100),
        lambda: numbers.map(collatz, 2, executor="process").batch(100),
    )
    arrays = ps.Dataset.from_tensor_slices(np.zeros((500, 64, 64, 3), np.uint8))
    yield Pair(
        "PS020",
        lambda: arrays.map(scaled).prefetch(2),
        lambda: arrays.map(ps.native(scaled)).prefetch(2),
    )
    yield Pair(
        "PS021",
        lambda: numbers.map(doubled).batch(256).prefetch(2),
        lambda: numbers.map(ps.native(doubled)).batch(256).prefetch(2),
    )
    example = ps.io.make_example({name: i for i, name in enumerate(FEATURES)})
    records = ps.Dataset.from_tensor_slices([example] * 5000)
    yield Pair(
        "PS022",
        lambda: records.map(parse_one).batch(256).prefetch(2),
        lambda: records.batch(256).map(parse_many).prefetch(2),
    )
    yield Pair(
        "PS023",
        lambda: images.map(whole).map(ps.native(crop)).prefetch(2),
        lambda: images.map(ps.native(lambda data: crop(decode(data)))).prefetch(2),
    )


def of_remote_files() -> Iterator[Pair]:
    """Yield a pair with remote files that are slow to open, read with obstore."""
    if importlib.util.find_spec("obstore") is None:
        return
    with serving() as url:
        files = [f"{url}/{i}-{RECORD}" for i in range(32)]
        yield Pair(
            "PS017",
            lambda: ps.FixedLengthRecordDataset(files, RECORD).prefetch(2),
            lambda: ps.FixedLengthRecordDataset(files, RECORD, num_parallel_reads=8).prefetch(2),
        )


def run() -> list[Figure]:
    figures = []
    for pair in chain(pairs(), of_remote_files()):
        assert pair.rule in {each.rule for each in pair.found().lint()}, pair.rule
        assert pair.rule not in {each.rule for each in pair.fixed().lint()}, pair.rule
        rounds = interleaved(
            {
                "found": timed(lambda pair=pair: pair.run(pair.found())),
                "fixed": timed(lambda pair=pair: pair.run(pair.fixed())),
            },
            repeats=5,
        )
        figures.append(
            Figure(
                f"lint, {pair.rule}: speed as its fix says / as it was",
                rounds.ratio("found", "fixed"),
                "x",
                at_least=1.0,
            )
        )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
