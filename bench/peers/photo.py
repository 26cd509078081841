"""The photographs' way for loaders without image operations: simplejpeg, OpenCV and NumPy."""

from __future__ import annotations

from random import Random
from typing import Any

import cv2
import numpy as np
import simplejpeg

from bench.peers.boxes import box
from bench.peers.workload import Task
from bench.peers.workloads.jpeg import DEVIATION, MEAN, SIDE

cv2.setNumThreads(0)  # the loader's own threads are all that run

DRAW = Random()

# As long as a row of pixels, so that NumPy's inner loop is, too.
SCALE = np.tile(1 / DEVIATION, SIDE).astype(np.float32)
SHIFT = np.tile(-MEAN / DEVIATION, SIDE).astype(np.float32)


def read(path: str) -> Any:
    """Return a photograph as the model is fed: random part, uint8."""
    with open(path, "rb") as file:  # noqa: PTH123 - quicker
        return decoded(file.read())


def read_normalised(path: str) -> Any:
    """Return a photograph as the model is fed: random part, normalised float32."""
    return normalised(read(path))


def reader(task: Task) -> Any:
    """Return the function for a case's dtype, from a path."""
    return read if task.dtype == "uint8" else read_normalised


def decoded(contents: bytes) -> Any:
    """Return a random part of a JPEG, 224 x 224."""
    image = simplejpeg.decode_jpeg(contents)
    top, left, height, width = box(image.shape[0], image.shape[1], DRAW)
    part = image[top : top + height, left : left + width]
    part = cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    return cv2.flip(part, 1) if DRAW.random() < 0.5 else part


def decoded_normalised(contents: bytes) -> Any:
    """Return a random part of a JPEG, normalised."""
    return normalised(decoded(contents))


def decoder(task: Task) -> Any:
    """Return the function for a case's dtype, from the contents of a JPEG."""
    return decoded if task.dtype == "uint8" else decoded_normalised


def normalised(image: Any) -> Any:
    """Return pixels less the mean, over the deviation."""
    rows = np.multiply(image.reshape(SIDE, -1), SCALE, dtype=np.float32)
    rows += SHIFT
    return rows.reshape(SIDE, SIDE, 3)
