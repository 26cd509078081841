"""The demo's full pipeline with no training step, against threads without a pipeline.

The demo's photographs are read, decoded, cropped at random to 0.875 of each side, resized to
224 x 224, flipped at random, scaled to float32 in 0..1, batched by 64 and prefetched: with all of
it in one map, and as the demo writes it, with a map of its own for the reads. The limit is
``bench/native``'s ``jpeg_loop``, which makes the same separate passes on 2 threads; it is built
here when needed. Memory is the peak of a fresh process that runs the same pipeline, over what it
had when its imports were done, less the batches asked for: two prefetched, one being made, one in
use.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np

import penstock as ps
from bench.native.build import built
from bench.pipelines.measure import Case, Figure, Spread, drain, interleaved, main, timed
from penstock.demo import forms, photos
from penstock.demo.recorder import Recorder

PHOTOS = 2000
SIDE = 224
KEEP = 0.875
BATCH = 64
SECONDS = 2.0  # of the native loop, for each of its two counts of threads
ROOT = Path(__file__).parents[2]
HELD = 4  # batches: two prefetched, one being made, one in use


def load(path: str) -> np.ndarray:
    image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
    height, width, _ = image.shape
    image = ps.image.random_crop(image, (int(KEEP * height), int(KEEP * width), 3))
    image = ps.image.resize(image, (SIDE, SIDE))
    image = ps.image.random_flip_left_right(image)
    return image * np.float32(1 / 255)


def one_map(calls: int) -> ps.Dataset:
    names = ps.Dataset.list_files(photos.made(PHOTOS).patterns())
    return names.map(load, num_parallel_calls=calls).batch(BATCH).prefetch(2)


def as_in_the_demo() -> ps.Dataset:
    source = forms.Source(photos.made(PHOTOS).patterns(), BATCH, open_seconds=0.0)
    return forms.parallel_map(source, forms.Functions(Recorder(), 0.0))


PIPELINES = {
    "num_parallel_calls=2": lambda: one_map(2),
    "AUTOTUNE": lambda: one_map(ps.AUTOTUNE),
    "as in the demo": as_in_the_demo,
}


def looping(program: Path, folder: Path) -> Case:
    """Seconds per image of the native loop on 2 threads."""

    def case() -> float:
        command = [program, folder, "--threads", "2", "--seconds", str(SECONDS)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        return 1 / float(json.loads(run.stdout)["images_per_second"]["2"])

    return case


def status(field: str) -> float:
    """Return a field of /proc/self/status in MB: VmRSS, or VmHWM, its peak in this program."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024e-6


def memory_of(name: str) -> float:
    """MB of the peak beyond what there was before; to be called once in a process."""
    dataset = PIPELINES[name]()
    before = status("VmRSS")
    drain(islice(dataset, PHOTOS // BATCH))
    return status("VmHWM") - before


def memory(name: str, times: int = 3) -> Figure:
    asked = HELD * BATCH * SIDE * SIDE * 3 * 4 / 1e6
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
    cases = {"loop": looping(built("jpeg_loop"), photos.made(PHOTOS).folder)}
    for name, build in PIPELINES.items():
        dataset = build()
        cases[name] = timed(lambda dataset=dataset: drain(dataset), PHOTOS)
    rounds = interleaved(cases, repeats=5)
    rate = {case: 1 / rounds.seconds(case).median for case in cases}
    figures = [
        Figure(
            f"JPEG pipeline, {name}: speed / native loop",
            rounds.ratio("loop", name).scaled(100),
            "%",
            at_least=90,
            note=f"{rate[name]:.0f} against {rate['loop']:.0f} images/s",
        )
        for name in PIPELINES
    ]
    return figures + [memory(name) for name in PIPELINES]


if __name__ == "__main__":
    main(run, __doc__)
