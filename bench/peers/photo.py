"""Image preprocessing for loaders without image operations: simplejpeg, OpenCV and NumPy."""

from __future__ import annotations

from random import Random
from typing import Any

import cv2
import numpy as np
import simplejpeg

from bench.peers.boxes import box
from bench.peers.workload import Task
from bench.peers.workloads.jpeg import DEVIATION, MEAN, SIDE

cv2.setNumThreads(0)  # parallelism comes only from the loader's own threads

DRAW = Random()

# One full row of pixels, so that NumPy's inner loop covers a row.
SCALE = np.tile(1 / DEVIATION, SIDE).astype(np.float32)
SHIFT = np.tile(-MEAN / DEVIATION, SIDE).astype(np.float32)


def read(path: str) -> Any:
    """Read a photograph as model input: random crop, uint8."""
    with open(path, "rb") as file:  # noqa: PTH123 - faster
        return decoded(file.read())


def read_normalised(path: str) -> Any:
    """Read a photograph as model input: random crop, normalised float32."""
    return normalised(read(path))


def reader(task: Task) -> Any:
    """Return the function for a case's dtype; it takes a path."""
    return read if task.dtype == "uint8" else read_normalised


def decoded(contents: bytes) -> Any:
    """Return a random crop of a JPEG, 224 x 224."""
    image = simplejpeg.decode_jpeg(contents)
    top, left, height, width = box(image.shape[0], image.shape[1], DRAW)
    part = image[top : top + height, left : left + width]
    part = cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    return cv2.flip(part, 1) if DRAW.random() < 0.5 else part


def decoded_normalised(contents: bytes) -> Any:
    """Return a random crop of a JPEG, normalised."""
    return normalised(decoded(contents))


def decoder(task: Task) -> Any:
    """Return the function for a case's dtype; it takes the contents of a JPEG."""
    return decoded if task.dtype == "uint8" else decoded_normalised


def normalised(image: Any) -> Any:
    """Return the pixels minus the mean, divided by the standard deviation."""
    rows = np.multiply(image.reshape(SIDE, -1), SCALE, dtype=np.float32)
    rows += SHIFT
    return rows.reshape(SIDE, SIDE, 3)
