"""The overhead of ps.profile in a training loop, compared with the same loop without it.

Three loops: a computing step with a parallel map of Python functions; native image decoding; and
the fastest possible elements.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, interleaved, main, timed

_DATA = bytes(1 << 20)


def _hashed(x: Any) -> Any:
    hashlib.sha256(_DATA[: 256 << 10]).digest()
    return x


def _step() -> None:
    hashlib.sha256(_DATA).digest()


def _images() -> ps.Dataset:
    noise = np.random.default_rng(0).integers(0, 255, (28, 28, 3)).astype(np.uint8)
    data = ps.io.encode_jpeg(noise.repeat(8, axis=0).repeat(8, axis=1))

    @ps.native
    def decode(x: Any) -> Any:
        return ps.image.resize(ps.io.decode_jpeg(x), (96, 96))

    return ps.Dataset.from_tensors(data).repeat(12_800).map(decode, 2).batch(16).prefetch(2)


CASES: dict[str, tuple[ps.Dataset, int, bool]] = {  # elements, and whether there is a step
    "a map of Python beside a step": (
        ps.Dataset.range(12_000).map(_hashed, 2).batch(4).prefetch(2),
        3000,
        True,
    ),
    "images": (_images(), 800, False),
    "numbers": (ps.Dataset.range(200_000_000), 200_000_000, False),
}


def _run(ds: ps.Dataset, watched: bool, steps: bool) -> None:
    iterator = iter(ds)
    with ps.profile(iterator) if watched else contextlib.nullcontext():
        if not steps:
            for _ in iterator:
                pass
            return
        for _ in iterator:
            _step()


def run() -> list[Figure]:
    figures = []
    for name, (ds, count, steps) in CASES.items():
        rounds = interleaved(
            {
                "watched": timed(lambda ds=ds, steps=steps: _run(ds, True, steps), count),
                "plain": timed(lambda ds=ds, steps=steps: _run(ds, False, steps), count),
            }
        )
        figures.append(
            Figure(
                f"{name}: with ps.profile / without",
                rounds.ratio("watched", "plain"),
                "x",
                at_most=1.01,
                note=f"{rounds.seconds('plain').median * 1e6:.3g} us an element",
            )
        )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
