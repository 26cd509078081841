"""Pillow as a codec: for builds without a native codec, and for formats that have none."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from penstock import _core
from penstock.errors import DataError
from penstock.ops.call import call
from penstock.ops.symbol import current_trace

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 2**29 // 3  # cpp/compute/image/image_file.h
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_KINDS = {  # formats by their first bytes
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG": "PNG",
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"RIFF": "WebP",
}
_COUNTS = {"1": 1, "L": 1, "I;16": 1, "LA": 2, "PA": 4, "RGBA": 4}


def is_installed() -> bool:
    """Return whether Pillow is installed."""
    return importlib.util.find_spec("PIL") is not None


def call_codec(
    codec: Literal["jpeg", "png"],
    name: str,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    instead: Callable[[], Any],
) -> Any:
    """Call an operation that needs a codec, or `instead`, which uses Pillow.

    The native codec is used if it is built in. Otherwise Pillow is used if it is installed, except
    in a native function. Otherwise the operation raises an error that explains how to get the
    codec.
    """
    native = _core.build_info()[codec]["native"]
    if native or current_trace() is not None or not is_installed():
        return call(name, inputs, attributes)
    return instead()


def decode(
    name: str,
    contents: bytes,
    channels: int = 0,
    dtype: npt.DTypeLike = np.uint8,
    max_pixels: int | None = None,
    frames: bool = False,
) -> npt.NDArray[Any]:
    """Decode a file of any format that Pillow supports.

    Parameters
    ----------
    name : str
        The calling function, for errors.
    contents : bytes
        The content of a file.
    channels : int
        1, 2, 3 or 4, or 0 for the channels of the file.
    dtype : dtype_like
        uint8 or uint16.
    max_pixels : int, optional
        Maximum number of pixels in a frame.
    frames : bool
        Return all frames of an animation.

    Returns
    -------
    numpy.ndarray
        Shape ``(height, width, channels)``, or with `frames` ``(frames, height, width, channels)``.
    """
    from PIL import ImageSequence

    with _opened(name, contents, max_pixels) as image:
        if not frames:
            return _pixels(image, channels, dtype)
        each = [_pixels(frame, channels, dtype) for frame in ImageSequence.Iterator(image)]
        return np.stack(each)


def decode_file(
    name: str, contents: bytes, channels: int, wide: bool, max_pixels: int, frames: bool
) -> npt.NDArray[Any]:
    """Decode a file for which the core has no codec; the core calls this with the GIL held."""
    dtype = np.uint16 if wide else np.uint8
    return decode(name, contents, channels, dtype, max_pixels, frames)


def shape_of_file(
    name: str, contents: bytes, channels: int, wide: bool, max_pixels: int, frames: bool
) -> tuple[int, ...]:
    """Return the shape of the result of `decode_file`, from the headers alone."""
    if not is_installed():
        kind = next((kind for start, kind in _KINDS.items() if contents.startswith(start)), "these")
        raise RuntimeError(f"{name}: {kind} files need Pillow; run: pip install pillow")
    with _opened(name, contents, max_pixels) as image:
        shape = image.height, image.width, _channels_of(image, channels)
        return (getattr(image, "n_frames", 1), *shape) if frames else shape


@contextlib.contextmanager
def _opened(name: str, contents: bytes, max_pixels: int | None) -> Iterator[Image.Image]:
    from PIL import Image

    if not isinstance(contents, bytes):
        raise TypeError(f"{name}: contents must be bytes, got {type(contents).__name__}")
    most = MAX_PIXELS if max_pixels is None else max_pixels
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(contents)) as image:
                if image.width * image.height > most:
                    raise DataError(
                        f"{name}: contents are corrupt or too large: the header says {image.width} "
                        f"x {image.height} pixels, at most {most} are decoded; max_pixels allows "
                        "more"
                    )
                yield image
    except (DataError, MemoryError):
        raise
    except Exception as error:  # Pillow raises many classes (IndexError, struct.error)
        raise DataError(
            f"{name}: contents are corrupt or of an unsupported kind: {error}"
        ) from None


def encode(array: npt.NDArray[Any], kind: str, **options: Any) -> bytes:
    """Encode an array ``(height, width, channels)`` as a file of the format `kind`."""
    from PIL import Image

    file = io.BytesIO()
    picture = array[..., 0] if array.shape[-1] == 1 else array
    Image.fromarray(np.ascontiguousarray(picture)).save(file, kind, **options)
    return file.getvalue()


def _channels_of(image: Image.Image, channels: int) -> int:
    if channels:
        return channels
    if image.mode in ("L", "RGB", "1", "I;16"):
        return 3 if image.mode == "RGB" else 1
    return 4 if "transparency" in image.info else _COUNTS.get(image.mode, 3)


def _pixels(image: Image.Image, channels: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    count = _channels_of(image, channels)
    if image.mode == "I;16" and count == 1:
        wide = np.asarray(image).astype(np.uint16)[..., np.newaxis]
        return wide if np.dtype(dtype) == np.uint16 else (wide >> 8).astype(np.uint8)
    pixels = np.array(image.convert(_MODES[count])).reshape(image.height, image.width, count)
    return pixels.astype(np.uint16) * np.uint16(257) if np.dtype(dtype) == np.uint16 else pixels
