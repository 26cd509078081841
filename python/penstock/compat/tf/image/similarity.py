"""Similarity measures of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.compat.windows import windows
from penstock.ops import image as _image


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
    """Return the peak signal-to-noise ratio, in decibels, of each pair of images.

    Parameters
    ----------
    a, b : array, shape ``(..., H, W, C)``
        The images.
    max_val : number
        The difference between the maximum and minimum possible pixel values.
    name : str, optional
        A label without effect.
    """
    first, second, most = _floats(a, b, max_val)
    error = np.mean(np.square(first - second), axis=(-3, -2, -1))
    with np.errstate(divide="ignore"):  # infinite for equal images
        return tensor(20 * np.log10(most) - 10 * np.log10(error))


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:
    """Return the structural similarity of each pair of images, after Wang et al. (2004).

    Parameters
    ----------
    img1, img2 : array, shape ``(..., H, W, C)``
        The images.
    max_val : number
        The difference between the maximum and minimum possible pixel values.
    filter_size, filter_sigma : int and float
        Size and standard deviation of the Gaussian filter, in pixels.
    k1, k2 : float
        The constants of the formula.
    return_index_map : bool
        Whether to return the similarity of each window instead of their mean.
    """
    first, second, most = _floats(img1, img2, max_val)
    if min(first.shape[-3:-1]) < filter_size:
        raise InvalidArgumentError(
            None, None, f"ssim: images of {filter_size} pixels were expected, got {first.shape}"
        )
    at = np.arange(filter_size, dtype=np.float32) - np.float32((filter_size - 1) / 2)
    bell = np.exp(-np.square(at) / np.float32(2 * filter_sigma**2))
    weights = np.outer(bell, bell) / np.square(bell.sum())

    def mean(images: Any) -> Any:
        shown = windows(images.reshape(-1, *images.shape[-3:]), filter_size, 1, 1, "VALID")
        made = np.einsum("nhwcij,ij->nhwc", shown, weights, optimize=True)
        return made.reshape(*images.shape[:-3], *made.shape[1:])

    c1, c2 = np.square(np.float32(k1) * most), np.square(np.float32(k2) * most)
    mean1, mean2 = mean(first), mean(second)
    product, squares = 2 * mean1 * mean2, np.square(mean1) + np.square(mean2)
    luminance = (product + c1) / (squares + c1)
    structure = (2 * mean(first * second) - product + c2) / (
        mean(np.square(first) + np.square(second)) - squares + c2
    )
    found = luminance * structure
    if not return_index_map:
        found = np.mean(found, axis=(-3, -2))
    return tensor(np.mean(found, axis=-1))


def _floats(a: Any, b: Any, max_val: Any) -> tuple[Any, Any, Any]:
    first, second = tensor(a), tensor(b)
    if first.shape[-3:] != second.shape[-3:] or first.ndim < 3:
        raise ValueError(f"images of one shape were expected, got {first.shape} and {second.shape}")
    most = tensor(max_val, first.dtype)
    return tuple(  # type: ignore[return-value]
        np.asarray(_image.convert_image_dtype(each, np.float32)) for each in (first, second, most)
    )


__dir__ = listing(globals())
