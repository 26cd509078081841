"""JPEGs from a cache of their coefficients, against a cache of their bytes.

The demo's photographs, in memory, decoded whole or in a window at random (half to all of each side,
as random resized crops have them), and nothing else. The bytes that the cache takes are those of
its elements, over those of the files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, Spread, drain, interleaved, main, timed
from penstock.demo import photos

PHOTOS = 500


@ps.native
def whole(contents: Any) -> Any:
    return ps.image.decode_jpeg(contents, channels=3)


@ps.native
def window(contents: Any) -> Any:
    shape = ps.image.extract_jpeg_shape(contents)
    rows = ps.cast(ps.random.uniform((), 0.5, 1.0) * shape[0], np.int32)
    columns = ps.cast(ps.random.uniform((), 0.5, 1.0) * shape[1], np.int32)
    image = ps.image.decode_jpeg(contents, channels=3)
    return ps.image.random_crop(image, [rows, columns, 3])


DECODES: dict[str, Callable[..., Any]] = {"whole": whole, "a window": window}


def run() -> list[Figure]:
    files = [Path(path).read_bytes() for path in photos.made(PHOTOS).paths]
    source = ps.Dataset.from_tensor_slices(files)
    caches = {
        "bytes": source.cache(),
        "coefficients": source.cache(images="coefficients"),
    }
    kept = {name: sum(map(len, dataset)) for name, dataset in caches.items()}
    datasets = {
        f"{name}, {kind}": dataset.map(decode)
        for name, decode in DECODES.items()
        for kind, dataset in caches.items()
    }
    cases = {name: timed(lambda ds=ds: drain(ds), PHOTOS) for name, ds in datasets.items()}
    rounds = interleaved(cases)
    figures = [
        Figure(
            f"cache of coefficients, {name}: speed / cache of JPEGs",
            rounds.ratio(f"{name}, bytes", f"{name}, coefficients"),
            "x",
            at_least=2,
            note=f"{1 / rounds.seconds(f'{name}, coefficients').median:.0f} images/s",
        )
        for name in DECODES
    ]
    grown = Spread.of([kept["coefficients"] / kept["bytes"]])
    return [*figures, Figure("cache of coefficients: bytes / JPEGs", grown, "x", at_most=1.6)]


if __name__ == "__main__":
    main(run, __doc__)
