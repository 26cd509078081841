"""The pipelines of the demo, from the naive form to the one recommended for training."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import penstock as ps
from penstock.demo.recorder import Recorder

SIDE = 224  # image size in pixels for the training step
KEEP = 0.875  # share of each side of an image that the random crop keeps
READS = 8  # maximum number of files read concurrently
SHUFFLE = 512  # number of encoded images in the shuffle buffer after the cache

Image = npt.NDArray[Any]


class Source(NamedTuple):
    """Input and batch size of a pipeline."""

    patterns: list[str]
    batch: int  # images
    open_seconds: float  # latency of the simulated storage


def augmented(contents: Any) -> Any:
    """Decode, crop, resize, flip, and scale to float32 in [0, 1].

    It uses only penstock operations, so all forms can use it, as a plain and as a native function.
    """
    image = ps.image.decode_jpeg(contents, channels=3)
    size = np.maximum(ps.cast(KEEP * ps.shape(image)[:2], np.int64), 1)
    image = ps.image.random_crop(image, [size[0], size[1], 3])
    image = ps.image.random_flip_left_right(ps.image.resize(image, (SIDE, SIDE)))
    return image * np.float32(1 / 255)


@ps.native
def prepare_natively(path: Any, contents: Any) -> Any:
    """Do the same in C++, without the GIL; nothing is recorded there."""
    return augmented(contents)


class Functions:
    """The functions of the pipelines; each records when it runs."""

    def __init__(self, recorder: Recorder, open_seconds: float) -> None:
        self._recorder = recorder
        self._open_seconds = open_seconds

    def read(self, path: str) -> tuple[str, bytes]:
        """Wait for the simulated storage, then read the file."""
        start = time.perf_counter()
        if self._open_seconds:
            time.sleep(self._open_seconds)
            start = self._recorder.add("open", start)
        contents = ps.io.read_file(path)
        self._recorder.add("read", start)
        return path, contents

    def prepare(self, path: str, contents: bytes) -> Image:
        """Convert an encoded image for the training step with `augmented`."""
        start = time.perf_counter()
        try:
            image: Image = augmented(contents)
        except ps.DataError as error:
            error.file = path
            raise
        self._recorder.add("map", start)
        return image


def naive(source: Source, call: Functions) -> ps.Dataset:
    """Do everything in the training thread."""
    files = ps.Dataset.list_files(source.patterns)
    return files.map(call.read).map(call.prepare).batch(source.batch)


def prefetched(source: Source, call: Functions) -> ps.Dataset:
    """Prepare the next batches while the training step runs."""
    return naive(source, call).prefetch(2)


def parallel_reads(source: Source, call: Functions) -> ps.Dataset:
    """Read several files concurrently."""
    files = ps.Dataset.list_files(source.patterns)
    encoded = files.map(call.read, num_parallel_calls=READS)
    return encoded.map(call.prepare).batch(source.batch).prefetch(2)


def parallel_map(source: Source, call: Functions) -> ps.Dataset:
    """Decode images on all cores."""
    files = ps.Dataset.list_files(source.patterns)
    encoded = files.map(call.read, num_parallel_calls=READS)
    images = encoded.map(call.prepare, num_parallel_calls=ps.AUTOTUNE)
    return images.batch(source.batch).prefetch(2)


def cached(source: Source, call: Functions) -> ps.Dataset:
    """Cache the encoded files; the random operations follow the cache."""
    images = _kept(source, call).map(call.prepare, num_parallel_calls=ps.AUTOTUNE)
    return images.batch(source.batch).prefetch(2)


def native(source: Source, call: Functions) -> ps.Dataset:
    """Run the whole function without Python."""
    images = _kept(source, call).map(prepare_natively, num_parallel_calls=ps.AUTOTUNE)
    return images.batch(source.batch).prefetch(2)


def _kept(source: Source, call: Functions) -> ps.Dataset:
    files = ps.Dataset.list_files(source.patterns, shuffle=False)
    return files.map(call.read, num_parallel_calls=READS).cache().shuffle(SHUFFLE)


class Form(NamedTuple):
    """A way to write the pipeline."""

    name: str
    build: Callable[[Source, Functions], ps.Dataset]
    caches: bool = False
    notes_map: bool = True  # whether its function runs in Python and records intervals


FORMS = (
    Form("naive", naive),
    Form("+ prefetch", prefetched),
    Form("+ parallel reads", parallel_reads),
    Form("+ parallel map", parallel_map),
    Form("+ cache", cached, caches=True),
    Form("+ native", native, caches=True, notes_map=False),
)
