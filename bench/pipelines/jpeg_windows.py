"""Windows of JPEGs with an index of their MCUs, against the same JPEGs without it.

The demo's photographs, in memory, in the windows of random resized crops (8 to 100 % of the area,
width over height from 3/4 to 4/3), decoded alone and resized to 224 x 224. The bytes are those of
the files with an index, over those without.
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


def draw(shape: Any, rng: np.random.Generator) -> Any:
    """Return a window as torchvision's RandomResizedCrop draws it: y, x, height, width."""
    height, width = (int(side) for side in shape[:2])
    for _ in range(10):
        area = height * width * rng.uniform(0.08, 1)
        aspect = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        h, w = round(np.sqrt(area / aspect)), round(np.sqrt(area * aspect))
        if 1 <= h <= height and 1 <= w <= width:
            y, x = rng.integers(0, height - h + 1), rng.integers(0, width - w + 1)
            return np.array([y, x, h, w])
    side = min(height, width)
    return np.array([(height - side) // 2, (width - side) // 2, side, side])


@ps.native
def window(contents: Any, box: Any) -> Any:
    return ps.image.decode_and_crop_jpeg(contents, box, channels=3)


@ps.native
def resized(contents: Any, box: Any) -> Any:
    image = ps.image.decode_and_crop_jpeg(contents, box, channels=3)
    return ps.image.resize(image, (224, 224))


DECODES: dict[str, Callable[..., Any]] = {"decoded": window, "resized too": resized}


def run() -> list[Figure]:
    rng = np.random.default_rng(0)
    files = [Path(path).read_bytes() for path in photos.made(PHOTOS).paths]
    indexed = [ps.image.index_jpeg(contents) for contents in files]
    boxes = np.stack([draw(ps.image.extract_jpeg_shape(contents), rng) for contents in files])
    datasets = {
        f"{name}, {kind}": ps.Dataset.from_tensor_slices((contents, boxes)).map(decode)
        for name, decode in DECODES.items()
        for kind, contents in {"plain": files, "indexed": indexed}.items()
    }
    rounds = interleaved(
        {name: timed(lambda ds=ds: drain(ds), PHOTOS) for name, ds in datasets.items()}
    )
    figures = [
        Figure(
            f"windows of indexed JPEGs, {name}: speed / without index",
            rounds.ratio(f"{name}, plain", f"{name}, indexed"),
            "x",
            at_least=1.2,
            note=f"{1 / rounds.seconds(f'{name}, indexed').median:.0f} images/s",
        )
        for name in DECODES
    ]
    grown = Spread.of([sum(map(len, indexed)) / sum(map(len, files))])
    return [*figures, Figure("indexed JPEGs: bytes / without index", grown, "x", at_most=1.05)]


if __name__ == "__main__":
    main(run, __doc__)
