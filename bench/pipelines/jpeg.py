"""The demo's full pipeline without a training step, compared with threads without a pipeline.

The demo's photographs are read, decoded, cropped at random to 0.875 of each side, resized to 224 x
224, flipped at random, scaled to float32 in 0..1 (or cast to uint8), batched by 64 and prefetched.
Three variants: one native function; all work in one map of plain Python; and the demo's own form,
with a separate map for the reads. The limit is ``jpeg_loop`` from ``bench/native``, which decodes
whole images and makes the same separate passes on 2 threads; it is built here if necessary. It is
timed after it has allocated its memory and its threads are busy, so the pipelines also make several
batches first.

Memory is the peak of a fresh process that runs the same pipeline, minus its memory after the
imports and minus the requested batches: two prefetched, one in progress, one in use.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from bench.native.build import built
from bench.pipelines.measure import Case, Figure, Spread, drain, interleaved, main
from penstock.demo import forms, photos
from penstock.demo.recorder import Recorder

PHOTOS = 2000
SIDE = 224
KEEP = 0.875
BATCH = 64
SECONDS = 2.0  # of the native loop, for each of its two thread counts
FIRST, BATCHES = 8, 100  # batches of a pipeline: untimed, and timed
ROOT = Path(__file__).parents[2]
HELD = 4  # batches: two prefetched, one in progress, one in use


def load(path: str) -> np.ndarray:
    image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
    height, width, _ = image.shape
    image = ps.image.random_crop(image, (int(KEEP * height), int(KEEP * width), 3))
    image = ps.image.resize(image, (SIDE, SIDE))
    image = ps.image.random_flip_left_right(image)
    return image * np.float32(1 / 255)


def augmented(path: Any) -> Any:
    image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
    size = ps.cast(KEEP * ps.shape(image)[:2], np.int64)
    image = ps.image.random_crop(image, [size[0], size[1], 3])
    image = ps.image.resize(image, (SIDE, SIDE))
    return ps.image.random_flip_left_right(image)


@ps.native
def native(path: Any) -> Any:
    return augmented(path) * np.float32(1 / 255)


@ps.native
def native_bytes(path: Any) -> Any:
    return ps.cast(augmented(path), np.uint8)


def one_map(function: Callable[..., Any], calls: int) -> ps.Dataset:
    names = ps.Dataset.list_files(photos.made(PHOTOS).patterns()).repeat()
    return names.map(function, num_parallel_calls=calls).batch(BATCH).prefetch(2)


def as_in_the_demo() -> ps.Dataset:
    source = forms.Source(photos.made(PHOTOS).patterns(), BATCH, open_seconds=0.0)
    return forms.parallel_map(source, forms.Functions(Recorder(), 0.0)).repeat()


PIPELINES = {
    "native": lambda: one_map(native, 2),
    "native, uint8": lambda: one_map(native_bytes, 2),
    "num_parallel_calls=2": lambda: one_map(load, 2),
    "AUTOTUNE": lambda: one_map(load, ps.AUTOTUNE),
    "as in the demo": as_in_the_demo,
}


def steady(dataset: ps.Dataset) -> Case:
    """Return the seconds per image, after the first batches."""

    def case() -> float:
        with iter(dataset) as batches:
            drain(islice(batches, FIRST))
            start = time.perf_counter()
            images = sum(len(batch) for batch in islice(batches, BATCHES))
            return (time.perf_counter() - start) / images

    return case


def looping(program: Path, folder: Path, *options: str) -> Case:
    """Return the seconds per image of the native loop on 2 threads."""

    def case() -> float:
        command = [program, folder, "--threads", "2", "--seconds", str(SECONDS), *options]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        return 1 / float(json.loads(run.stdout)["images_per_second"]["2"])

    return case


def status(field: str) -> float:
    """Return a field of /proc/self/status in MB: VmRSS, or VmHWM, the peak of this program."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024e-6


def memory_of(name: str) -> float:
    """Return the peak in MB above the initial memory; call it only once per process."""
    dataset = PIPELINES[name]()
    before = status("VmRSS")
    drain(islice(dataset, PHOTOS // BATCH))
    return status("VmHWM") - before


def memory(name: str, times: int = 3) -> Figure:
    asked = HELD * BATCH * SIDE * SIDE * 3 * (1 if "uint8" in name else 4) / 1e6
    code = "import sys; from bench.pipelines import jpeg; print(jpeg.memory_of(sys.argv[1]))"
    command = [sys.executable, "-c", code, name]
    peaks = []
    for _ in range(times):
        run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
        peaks.append(float(run.stdout))
    return Figure(
        f"JPEG pipeline, {name}: memory beyond the batches asked for",
        Spread.of(peak - asked for peak in peaks),
        "MB",
        at_most=100,
        note=f"peak {Spread.of(peaks).median:.0f} MB, of which {asked:.0f} MB are {HELD} batches",
    )


def run() -> list[Figure]:
    program, folder = built("jpeg_loop"), photos.made(PHOTOS).folder
    cases = {
        "loop": looping(program, folder),
        "loop, uint8": looping(program, folder, "--bytes"),
    }
    for name, build in PIPELINES.items():
        cases[name] = steady(build())
    rounds = interleaved(cases, repeats=5)
    rate = {case: 1 / rounds.seconds(case).median for case in cases}
    figures = []
    for name in PIPELINES:
        loop = "loop, uint8" if "uint8" in name else "loop"
        figures.append(
            Figure(
                f"JPEG pipeline, {name}: speed / C++ loop",
                rounds.ratio(loop, name).scaled(100),
                "%",
                at_least=97 if name.startswith("native") else 90,
                note=f"{rate[name]:.0f} against {rate[loop]:.0f} images/s",
            )
        )
    return figures + [memory(name) for name in PIPELINES]


if __name__ == "__main__":
    main(run, __doc__)
