"""The classic image program of docs/guides/programs.md, in its naive form and in better ones.

Photographs (the demo's) from paths and labels: shuffled, decoded, cropped at random to 224 x 224,
scaled to float32 in 0..1, batched by 32 and prefetched. The naive form calls a Python function in
the consumer's thread. The others call a native function in parallel, keep the encoded files in
memory, and scale whole batches. All yield the same images.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed
from penstock.demo import photos

PHOTOS = 500
SIDE = 224
BATCH = 32


def read(path: Any, label: Any) -> Any:
    return ps.io.read_file(path), label


def crop(contents: Any, label: Any) -> Any:
    image = ps.image.decode_jpeg(contents, channels=3)
    return ps.image.random_crop(image, (SIDE, SIDE, 3)), label


def scale(images: Any, label: Any) -> Any:
    return ps.cast(images, np.float32) / np.float32(255), label


def prepare(path: Any, label: Any) -> Any:
    return scale(*crop(*read(path, label)))


def behind(contents: Any, label: Any) -> Any:
    return scale(*crop(contents, label))


def files() -> ps.Dataset:
    paths = photos.made(PHOTOS).paths
    return ps.Dataset.from_tensor_slices((paths, np.arange(len(paths)))).shuffle(PHOTOS)


def forms() -> dict[str, ps.Dataset]:
    calls = {"num_parallel_calls": ps.AUTOTUNE}
    kept = files().map(ps.native(read)).cache()
    cropped = kept.map(ps.native(crop), **calls)
    return {
        "naive": files().map(prepare).batch(BATCH),
        "prefetch": files().map(prepare).batch(BATCH).prefetch(2),
        "parallel map": files().map(prepare, **calls).batch(BATCH).prefetch(2),
        "native": files().map(ps.native(prepare), **calls).batch(BATCH).prefetch(2),
        "native and cache": kept.map(ps.native(behind), **calls).batch(BATCH).prefetch(2),
        "batch then map": cropped.batch(BATCH).map(ps.native(scale)).prefetch(2),
    }


def run() -> list[Figure]:
    built = forms()
    for dataset in built.values():
        drain(dataset)  # fills the page cache and the caches
    rounds = interleaved(
        {
            name: timed(lambda dataset=dataset: drain(dataset), PHOTOS)
            for name, dataset in built.items()
        }
    )
    rate = {name: 1 / rounds.seconds(name).median for name in built}
    return [
        Figure(
            f"ImageNet-like photographs, {name}: speed / naive form",
            rounds.ratio("naive", name),
            "x",
            at_least=1,
            note=f"{rate[name]:.0f} against {rate['naive']:.0f} images/s",
        )
        for name in built
        if name != "naive"
    ]


if __name__ == "__main__":
    main(run, __doc__)
