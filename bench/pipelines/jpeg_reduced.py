"""Large photographs at 224 x 224: decoded at the resolution that the resize needs, or in full.

A photograph of 12 megapixels (4000 x 3000): one of the demo's is enlarged, gets sensor noise, and
is written with half-resolution chroma, at two qualities. A native function decodes it, whole or in
a random resized crop, resizes it and converts it to float32, with ``decode_jpeg(ratio="auto")`` and
with ``ratio=1``. The difference is the mean distance of the pixels, in units of 255, from those of
the whole image resized with antialiasing. Without antialiasing, full decoding differs from it too.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, Spread, drain, interleaved, main, timed
from penstock.demo import photos

SIZE = 4000, 3000  # pixels: width, height
SIDE = 224
NOISE = 4.0  # standard deviation, of 255
QUALITIES = 85, 95
IMAGES = 4


def photograph(quality: int) -> bytes:
    """Return a JPEG with 12 megapixels."""
    from PIL import Image

    with Image.open(Path(photos.made(1).paths[0])) as image:
        large = np.asarray(image.convert("RGB").resize(SIZE, Image.Resampling.BICUBIC), np.float32)
    noise = np.random.default_rng(0).normal(0, NOISE, large.shape).astype(np.float32)
    file = io.BytesIO()
    pixels = (large + noise).clip(0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(file, "JPEG", quality=quality, subsampling="4:2:0")
    return file.getvalue()


def whole(ratio: Any, antialias: bool = False) -> Callable[..., Any]:
    """Return a function that resizes the whole image."""

    @ps.native
    def function(contents: Any) -> Any:
        image = ps.image.decode_jpeg(contents, channels=3, ratio=ratio)
        return ps.image.resize(image, (SIDE, SIDE), antialias=antialias) * np.float32(1 / 255)

    return function


def crop(ratio: Any) -> Callable[..., Any]:
    """Return a function that resizes a random crop."""

    @ps.native
    def function(contents: Any) -> Any:
        image = ps.image.decode_jpeg(contents, channels=3, ratio=ratio)
        image = ps.image.random_resized_crop(image, (SIDE, SIDE), seed=1)
        return image * np.float32(1 / 255)

    return function


FUNCTIONS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "whole": whole,
    "whole, antialias=True": lambda ratio: whole(ratio, antialias=True),
    "random resized crop": crop,
}


def difference(contents: bytes, function: Callable[..., Any]) -> Spread:
    """Return the difference of the pixels from the whole image resized with antialiasing."""
    source = ps.Dataset.from_tensors(contents)
    made, wanted = (next(iter(source.map(each))) for each in (function, whole(1, antialias=True)))
    return Spread.of([255 * float(np.abs(made - wanted).mean())])


def run() -> list[Figure]:
    figures = []
    for quality in QUALITIES:
        contents = photograph(quality)
        source = ps.Dataset.from_tensors(contents).repeat(IMAGES)
        datasets = {
            f"{name}, {ratio}": source.map(function(ratio))
            for name, function in FUNCTIONS.items()
            for ratio in (1, "auto")
        }
        rounds = interleaved(
            {name: timed(lambda ds=ds: drain(ds), IMAGES) for name, ds in datasets.items()}
        )
        what = f"12 megapixels at quality {quality} to {SIDE}"
        figures += [
            Figure(
                f'{what}, {name}: speed of ratio="auto" / ratio=1',
                rounds.ratio(f"{name}, 1", f"{name}, auto"),
                "x",
                at_least=None if name == "random resized crop" else 3,
                note=f"{1e3 * rounds.seconds(f'{name}, auto').median:.0f} ms for "
                f"{len(contents) / 1e6:.1f} MB",
            )
            for name in FUNCTIONS
        ]
        figures += [
            Figure(f"{what}, {name}: mean difference", difference(contents, function), "of 255")
            for name, function in (
                ('ratio="auto"', whole("auto")),
                ('ratio="auto", antialias=True', whole("auto", antialias=True)),
                ("ratio=1", whole(1)),
            )
        ]
    return figures


if __name__ == "__main__":
    main(run, __doc__)
