"""The input of an image classifier: read, decode, random resized crop, flip, normalise, batch."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.workload import Task, Undone, Workload, expect

SHARDS = 4
SIDE = 224
# The statistics of ImageNet, scaled to the range of the pixels.
MEAN = np.array([123.675, 116.28, 103.53], np.float32)
DEVIATION = np.array([58.395, 57.12, 57.375], np.float32)


class Jpeg(Workload):
    title = "JPEG training pipeline"
    summary = (
        "Photographs of about 500 x 375 pixels, read from files (WebDataset: from tar shards), "
        "decoded, cropped at random (8 to 100 % of the area, sides 3:4 to 4:3), resized to "
        "224 x 224 (bilinear), flipped at random, in batches of 64; as float32 normalised per "
        "channel, or as uint8."
    )
    unit = "images/s"
    native = "jpeg_loop"
    limit = "reading and fully decoding alone, by C++ threads without a pipeline"
    bound = (
        "The decoder. Entropy decoding, the inverse transform and the conversion of colours "
        "take more than half of the processors' time; blocks beside the crop are only parsed, and "
        "rows below it are not read. The rest is bilinear resizing, the flip, and the conversion "
        "to the batch's type, done strip by strip while the pixels are in the cache. The limit "
        "decodes whole images and does nothing else."
    )
    cases = {
        "float32": {"n": 768, "batch": 64, "side": SIDE, "dtype": "float32"},
        "uint8": {"n": 768, "batch": 64, "side": SIDE, "dtype": "uint8"},
    }
    tiny = {"n": 16, "batch": 8}
    seconds = 1.0

    def prepare(self, task: Task) -> None:
        listed = task.folder / "photos.txt"
        if listed.is_file() and len(listed.read_text().splitlines()) == task.n:
            return
        from penstock.demo import photos

        paths = photos.made(task.n).paths
        for shard in range(SHARDS):
            with tarfile.open(task.folder / f"photos-{shard}.tar", "w") as tar:
                for number in range(shard, task.n, SHARDS):
                    tar.add(paths[number], f"{number:06}.jpg")
        listed.write_text("".join(f"{path}\n" for path in paths))

    def check(self, elements: Iterator[Any], task: Task) -> None:
        number, seen = 0, set()
        for batch in elements:
            # In mlx-data, each thread ends with a partial batch.
            expect("at most a batch", len(batch) <= task.batch, True)
            expect("shape", batch.shape[1:], (task.side, task.side, 3))
            expect("dtype", batch.dtype, np.dtype(task.dtype))
            pixels = batch * DEVIATION + MEAN if task.dtype == "float32" else batch
            if not (pixels.min() > -1 and pixels.max() < 256):
                raise Undone(f"pixels from {pixels.min()} to {pixels.max()}")
            if pixels.std() < 20:
                raise Undone(f"photos nearly in one colour: deviation {pixels.std()}")
            seen.update((float(image.mean()), float(image.std())) for image in pixels)
            number += len(batch)
        expect("photos", number, task.n)
        if len(seen) < 0.95 * task.n:
            raise Undone(f"different photos: expected {task.n}, got {len(seen)}")


def paths(task: Task) -> list[str]:
    """Return the names of the photographs."""
    return (task.folder / "photos.txt").read_text().splitlines()


def shards(task: Task) -> list[Path]:
    """Return the tar files that contain the same photographs."""
    return sorted(task.folder.glob("photos-*.tar"))


WORKLOAD = Jpeg()
