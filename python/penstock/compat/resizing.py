"""Image resizing as in TensorFlow 1, where pixels are points at integer coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

_A = -0.75  # parameter of Keys' cubic kernel
_STEPS = 1024  # number of values in the table of the cubic kernel


def resized(images: Any, size: tuple[int, int], method: str, align_corners: bool) -> Any:
    """Resize images.

    Parameters
    ----------
    images : array, shape ``(N, H, W, C)``
        The images.
    size : (int, int)
        New height and width.
    method : str
        "bilinear", "nearest", "bicubic" or "area".
    align_corners : bool
        Whether all corner pixels keep their positions; otherwise only the first one does.

    Returns
    -------
    array
        The images as float32, or with the type of `images` for "nearest".
    """
    images = np.asarray(images)
    scales = [_scale(images.shape[1 + i], size[i], align_corners) for i in (0, 1)]
    if method == "nearest":
        rounded = _rounded if align_corners else np.floor
        rows, columns = (
            np.minimum(rounded(_positions(size[i], scales[i])), images.shape[1 + i] - 1)
            for i in (0, 1)
        )
        return images[:, rows.astype(np.int64)][:, :, columns.astype(np.int64)]
    weigh = _WEIGHTS[method]
    down, across = (weigh(images.shape[1 + i], size[i], scales[i]) for i in (0, 1))
    wide = images.astype(np.float32)
    return np.einsum("yh,nhwc,xw->nyxc", down, wide, across, optimize=True)


def _scale(old: int, new: int, align_corners: bool) -> Any:
    if align_corners and new > 1:
        return np.float32(old - 1) / np.float32(new - 1)
    return np.float32(old) / np.float32(new)


def _positions(new: int, scale: Any) -> Any:
    return np.arange(new, dtype=np.float32) * scale


def _rounded(positions: Any) -> Any:
    return np.floor(positions + np.float32(0.5))


def _bilinear(old: int, new: int, scale: Any) -> Any:
    at = _positions(new, scale)
    share = at - np.floor(at)
    return _matrix(old, new, [(np.floor(at), 1 - share), (np.ceil(at), share)])


def _bicubic(old: int, new: int, scale: Any) -> Any:
    at = _positions(new, scale)
    share = np.rint((at - np.floor(at)) * _STEPS).astype(np.float64) / _STEPS
    taps = [_far(share + 1), _near(share), _near(1 - share), _far(2 - share)]
    return _matrix(old, new, [(np.floor(at) + i - 1, tap) for i, tap in enumerate(taps)])


def _near(t: Any) -> Any:
    return ((_A + 2) * t - (_A + 3)) * t * t + 1


def _far(t: Any) -> Any:
    return ((_A * t - 5 * _A) * t + 8 * _A) * t - 4 * _A


def _area(old: int, new: int, scale: Any) -> Any:
    begin = _positions(new, scale)
    end = (np.arange(new, dtype=np.float32) + 1) * scale
    most = int(np.max(np.ceil(end) - np.floor(begin)))
    taps = []
    for i in range(most):
        pixel = np.floor(begin) + i
        covered = np.minimum(pixel + 1, end) - np.maximum(pixel, begin)
        taps.append((pixel, np.maximum(covered, 0) / scale))
    return _matrix(old, new, taps)


def _matrix(old: int, new: int, taps: list[tuple[Any, Any]]) -> Any:
    """Return the weights of old pixels in new ones; edge pixels also replace pixels beyond."""
    made = np.zeros((new, old), np.float32)
    for pixels, weights in taps:
        np.add.at(made, (np.arange(new), np.clip(pixels, 0, old - 1).astype(np.int64)), weights)
    return made


_WEIGHTS = {"bilinear": _bilinear, "bicubic": _bicubic, "area": _area}
