"""tf.nn: the functions that input pipelines use, such as filters, pooling and activations."""

from __future__ import annotations

import math as _python_math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError, raise_translated
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.compat.tf import math as _math
from penstock.compat.tf.counting import in_top_k, top_k
from penstock.compat.tf.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from penstock.compat.tf.math import l2_normalize, sigmoid, zero_fraction
from penstock.compat.windows import windows

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

_ACTIVATIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "elu": (lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), "``exp(x) - 1`` below 0"),
    "relu": (lambda x: np.maximum(x, 0), "0 below 0"),
    "relu6": (lambda x: np.clip(x, 0, 6), "0 below 0, 6 above 6"),
    "selu": (
        lambda x: _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0))),
        "the scaled `elu` of Klambauer et al. (2017)",
    ),
    "softplus": (lambda x: np.logaddexp(x, x.dtype.type(0)), "``log(1 + exp(x))``"),
    "softsign": (lambda x: x / (1 + np.abs(x)), "``x / (1 + abs(x))``"),
}


def _activation(name: str, formula: Callable[[Any], Any], doc: str) -> Callable[..., Any]:
    def call(features: Any, name: str | None = None) -> Any:
        values = tensor(features)
        if not takes_integers:
            _check_floats(values)
        return tensor(np.asarray(formula(values)), values.dtype)

    takes_integers = name.startswith("relu")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return {doc}, for each value."
    return call


tanh = vars(_math)["tanh"]
for _name, (_formula, _doc) in _ACTIVATIONS.items():
    globals()[_name] = _activation(_name, _formula, _doc)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    """Return values, with negative ones multiplied by `alpha`."""
    values = _floats(features)
    return tensor(np.where(values > 0, values, values * values.dtype.type(alpha)))


def silu(features: Any, beta: float = 1.0) -> Any:
    """Return ``x * sigmoid(beta * x)`` for each value."""
    values = tensor(features)
    return values * sigmoid(values * values.dtype.type(beta))


swish = silu


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Any:
    """Return each value multiplied by the standard normal distribution function at it.

    Parameters
    ----------
    features : array_like of float
        The values.
    approximate : bool
        Whether to use the approximation with `tanh` (Hendrycks and Gimpel, 2016).
    name : str, optional
        A label without effect.
    """
    x = tensor(features)
    if approximate:
        share = np.tanh(_python_math.sqrt(2 / _python_math.pi) * (x + 0.044715 * x**3))
    else:
        share = _math.erf(x / _python_math.sqrt(2))  # type: ignore[attr-defined]
    return tensor(0.5 * x * (1 + share))


def softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Return ``exp(x)`` divided by its sum along an axis (the last by default)."""
    return np.exp(log_softmax(logits, axis))


def log_softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Return the logarithm of `softmax`."""
    x = tensor(logits)
    _check_floats(x)
    along = -1 if axis is None else int(axis)
    x = x - np.max(x, along, keepdims=True)
    return tensor(x - np.log(np.sum(np.exp(x), along, keepdims=True)))


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Return mean and variance along axes; for float16, they are computed in float32."""
    values = tensor(x)
    along = tuple(int(axis) for axis in np.ravel(axes))
    wide = np.asarray(values, np.result_type(values.dtype, np.float32))
    return (
        tensor(np.mean(wide, along, keepdims=keepdims), values.dtype),
        tensor(np.var(wide, along, keepdims=keepdims), values.dtype),
    )


def l2_loss(t: Any, name: str | None = None) -> Any:
    """Return half of the sum of squares."""
    return tensor(np.sum(np.square(tensor(t))) / 2, tensor(t).dtype)


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """Add a number to each channel: on the last axis, or on axis 1 for NC... formats."""
    x = tensor(value)
    shape = [-1] + [1] * (x.ndim - 2) if str(data_format).startswith("NC") else [-1]
    return x + np.asarray(tensor(bias), x.dtype).reshape(shape)


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Any:
    """Return rows of a table, with norms clipped to `max_norm` if set."""
    table, numbers = tensor(params), np.asarray(tensor(ids))
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < len(table)):
        raise InvalidArgumentError(None, None, f"ids must be in [0, {len(table)}), got {numbers}")
    rows = np.asarray(table)[numbers]
    if max_norm is not None:
        along = tuple(range(numbers.ndim, rows.ndim))
        norms = np.sqrt(np.sum(np.square(rows), along, keepdims=True))
        rows = rows * (max_norm / np.maximum(norms, max_norm)).astype(rows.dtype)
    return tensor(rows)


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Filter images, summing over channels.

    Parameters
    ----------
    input : array of float, shape ``(N, H, W, C)``
        The images.
    filters : array of float, shape ``(height, width, C, made)``
        A filter for each output channel.
    strides, dilations : int, or one, two or four
        Distance between output positions, and distance between the pixels of a filter.
    padding : str or sequence of pairs
        "SAME", "VALID", or the numbers of zeros to add before and after each axis.
    data_format : str
        "NHWC", or "NCHW" for channels first.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor, shape ``(N, rows, columns, made)``
        The sums of pixels multiplied by the filter (cross-correlation).
    """
    return _filtered(
        *(input, filters, strides, padding, data_format, dilations),
        lambda shown, kernel: np.einsum("nhwcij,ijco->nhwo", shown, kernel, optimize=True),
    )


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Filter each channel of images separately.

    Parameters
    ----------
    input : array of float, shape ``(N, H, W, C)``
        The images.
    filter : array of float, shape ``(height, width, C, each)``
        The filters of each channel.
    strides, padding, data_format, dilations
        As in `conv2d`.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor, shape ``(N, rows, columns, C * each)``
        The results of the filters of the first channel, then those of the second, and so on.
    """

    def filtered(shown: Any, kernel: Any) -> Any:
        made = np.einsum("nhwcij,ijcm->nhwcm", shown, kernel, optimize=True)
        return made.reshape(*made.shape[:3], -1)

    return _filtered(*(input, filter, strides, padding, data_format, dilations), filtered)


def _filtered(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    formula: Callable[[Any, Any], Any],
) -> Any:
    images, kernel = tensor(input), np.asarray(tensor(filters))
    channels = images.shape[1 if data_format == "NCHW" else -1]
    if kernel.ndim != 4 or kernel.shape[2] != channels or kernel.dtype != images.dtype:
        raise InvalidArgumentError(
            None,
            None,
            f"filters of {images.dtype.name} and shape (height, width, {channels}, any) were "
            f"expected, got {kernel.dtype.name} of shape {kernel.shape}",
        )

    def filtered(images: Any) -> Any:
        gaps = 1 if dilations is None else dilations
        return formula(windows(images, kernel.shape[:2], strides, gaps, padding), kernel)

    return _with_channels_last(filtered, images, data_format)


def _with_channels_last(
    function: Callable[[Any], Any], images: Any, data_format: str | None
) -> Any:
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError(f'data_format must be "NHWC" or "NCHW", got {data_format!r}')
    try:
        if data_format == "NCHW":
            return tensor(np.moveaxis(np.asarray(function(np.moveaxis(images, 1, -1))), -1, 1))
        return tensor(np.asarray(function(images)))
    except ValueError as error:
        raise_translated(error)


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """Return the maximum of each window of images.

    Parameters
    ----------
    input : array of float, shape ``(N, H, W, C)``
        The images.
    ksize, strides : int, or one, two or four
        The size of a window, and the distance between windows.
    padding : str
        "SAME" or "VALID".
    data_format : str
        "NHWC", or "NCHW" for channels first.
    name : str, optional
        A label without effect.
    """
    images = tensor(input)
    least = as_dtype(images.dtype).min

    def pooled(images: Any) -> Any:
        return windows(images, ksize, strides, 1, padding, least).max(axis=(-2, -1))

    return _with_channels_last(pooled, images, data_format)


def avg_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """Return the mean of each window of images, ignoring pixels beyond the edge.

    The arguments are the same as in `max_pool2d`.
    """

    def pooled(images: Any) -> Any:
        inside = np.ones((1, *images.shape[1:3], 1), images.dtype)
        counts, sums = (
            windows(each, ksize, strides, 1, padding).sum(axis=(-2, -1))
            for each in (inside, images)
        )
        return sums / counts

    images = tensor(input)
    _check_floats(images)
    return _with_channels_last(pooled, images, data_format)


max_pool, avg_pool = max_pool2d, avg_pool2d


def space_to_depth(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Rearrange each block of pixels into the channels of one pixel."""

    def moved(images: Any) -> Any:
        count, height, width, channels = images.shape
        rows, columns = height // block_size, width // block_size
        blocks = images.reshape(count, rows, block_size, columns, block_size, channels)
        return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(count, rows, columns, -1)

    return _with_channels_last(moved, tensor(input), data_format)


def depth_to_space(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Rearrange the channels of each pixel into a block of pixels: undo `space_to_depth`."""

    def moved(images: Any) -> Any:
        count, height, width, _ = images.shape
        blocks = images.reshape(count, height, width, block_size, block_size, -1)
        rows = blocks.transpose(0, 1, 3, 2, 4, 5)
        return rows.reshape(count, height * block_size, width * block_size, -1)

    return _with_channels_last(moved, tensor(input), data_format)


def _check_floats(values: Any) -> None:
    if values.dtype.kind != "f":
        raise InvalidArgumentError(None, None, f"floats were expected, got {values.dtype.name}")


def _floats(values: Any) -> Any:
    made = tensor(values)
    return made.astype(np.float32) if made.dtype.kind in "iu" else made


__all__ = [
    "avg_pool",
    "avg_pool2d",
    "bias_add",
    "conv2d",
    "depth_to_space",
    "depthwise_conv2d",
    "embedding_lookup",
    "gelu",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_softmax",
    "max_pool",
    "max_pool2d",
    "moments",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "zero_fraction",
]

__dir__ = listing(globals())
