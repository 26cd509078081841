"""The same operations with each instruction set that this CPU supports, on one thread.

A figure is the speed-up of AVX2 or AVX-512 over the x86-64 baseline, and its note the microseconds
per call. Where OpenCV is installed, resizing is compared with it, also on one thread: OpenCV blends
bytes with integer arithmetic, penstock in float32 like TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Case, Figure, interleaved, main, timed
from penstock import _core

SIZE = (375, 500)  # of a photograph
SIDE = 224
LINES = 256


def by(instructions: str, work: Callable[[], object]) -> Case:
    """Return a case that runs `work` with this instruction set."""
    case = timed(work, at_least=0.05)

    def chosen() -> float:
        _core.use_instructions(instructions)
        return case()

    return chosen


def operations() -> dict[str, Callable[[], Any]]:
    """Return the calls to measure."""
    random = np.random.default_rng(1)
    photo = random.integers(0, 256, (*SIZE, 3), np.uint8)
    large = random.integers(0, 256, (4 * SIZE[0], 4 * SIZE[1], 3), np.uint8)
    small = random.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    floats, photo_floats = ps.image.resize(photo, (SIDE, SIDE)), photo.astype(np.float32)
    unit = floats / np.float32(255)
    mean, std = np.array([123.7, 116.3, 103.5]), np.array([58.4, 57.1, 57.4])
    numbers = random.integers(0, 2**31, SIDE * SIDE * 3)
    lines = np.array([f"{i},{i / 8},{i * 0.37},{-i / 1000},a longer one" for i in range(LINES)])
    defaults = [np.int64, np.float32, np.float32, np.float32, bytes]
    return {
        "resize, 375 x 500 bytes to 224 x 224": lambda: ps.image.resize(photo, (SIDE, SIDE)),
        "resize, 1500 x 2000 bytes to 224 x 224": lambda: ps.image.resize(large, (SIDE, SIDE)),
        "resize, 375 x 500 floats to 224 x 224": lambda: ps.image.resize(
            photo_floats, (SIDE, SIDE)
        ),
        "resize with antialias, 375 x 500 bytes to 224 x 224": lambda: ps.image.resize(
            photo, (SIDE, SIDE), antialias=True
        ),
        "flip_left_right, 224 x 224 bytes": lambda: ps.image.flip_left_right(small),
        "flip_left_right, 224 x 224 floats": lambda: ps.image.flip_left_right(floats),
        "normalize, 224 x 224 bytes": lambda: ps.image.normalize(small, mean, std),
        "convert_image_dtype, 224 x 224 bytes to floats": lambda: ps.image.convert_image_dtype(
            small, np.float32
        ),
        "cast, 224 x 224 bytes to floats": lambda: ps.cast(small, np.float32),
        "cast, 224 x 224 floats to bytes": lambda: ps.cast(floats, np.uint8),
        "cast, 150,528 int64 to float32": lambda: ps.cast(numbers, np.float32),
        "adjust_saturation, 224 x 224 floats": lambda: ps.image.adjust_saturation(unit, 0.7),
        "adjust_hue, 224 x 224 floats": lambda: ps.image.adjust_hue(unit, 0.1),
        "decode_csv, 256 lines of 5 fields": lambda: ps.io.decode_csv(lines, defaults),
    }


def compared(name: str, work: Callable[[], Any]) -> list[Figure]:
    """Return the figures that compare the instruction sets for one operation."""
    rounds = interleaved({set_: by(set_, work) for set_ in _core.instruction_sets()})
    baseline, *others = _core.instruction_sets()
    figures = []
    for other in others:
        times = [1e6 * rounds.seconds(case).median for case in (other, baseline)]
        figures.append(
            Figure(
                f"{name}: speed with {other} / {baseline}",
                rounds.ratio(baseline, other),
                "x",
                note=f"{times[0]:.1f} against {times[1]:.1f} us",
            )
        )
    return figures


def beside_opencv() -> list[Figure]:
    """Return the figures that compare resizing with OpenCV's."""
    try:
        import cv2
    except ImportError:
        return []
    cv2.setNumThreads(1)
    best = _core.instruction_sets()[-1]
    random = np.random.default_rng(1)
    to_bytes = ps.native(lambda image: ps.cast(ps.image.resize(image, (SIDE, SIDE)), np.uint8))
    forms = {"to float32": lambda x: ps.image.resize(x, (SIDE, SIDE)), "to uint8": to_bytes}
    figures = []
    for form, resize in forms.items():
        for height, width in (SIZE, (4 * SIZE[0], 4 * SIZE[1]), (SIDE // 2, SIDE // 2)):
            photo = random.integers(0, 256, (height, width, 3), np.uint8)
            rounds = interleaved(
                {
                    "OpenCV": timed(lambda x=photo: cv2.resize(x, (SIDE, SIDE)), at_least=0.05),
                    "penstock": by(best, lambda x=photo, resize=resize: resize(x)),
                }
            )
            times = [1e6 * rounds.seconds(case).median for case in ("penstock", "OpenCV")]
            figures.append(
                Figure(
                    f"resize, {height} x {width} bytes to 224 x 224, {form}: speed / OpenCV's",
                    rounds.ratio("OpenCV", "penstock"),
                    "x",
                    at_least=1,
                    note=f"{times[0]:.1f} against {times[1]:.1f} us",
                )
            )
    return figures


def run() -> list[Figure]:
    figures = beside_opencv()
    for name, work in operations().items():
        figures += compared(name, work)
    return figures


if __name__ == "__main__":
    main(run, __doc__)
