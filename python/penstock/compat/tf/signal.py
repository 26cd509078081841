"""tf.signal: windows, frames, Fourier and cosine transforms, and mel spectrograms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor


def _axes(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


def _fourier(name: str, rank: int, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, name: str | None = None) -> Any:
        values = tensor(input)
        if values.dtype.kind != "c":
            message = f"{title}: complex numbers were expected, got {values.dtype.name}"
            raise InvalidArgumentError(None, None, message)
        return tensor(function(np.asarray(values), axes=_axes(rank)), values.dtype)

    title = name
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return NumPy's `{function.__name__}` along the last {rank} axes."
    return call


def _real_fourier(name: str, rank: int, function: Callable[..., Any]) -> Callable[..., Any]:
    inverse = name.startswith("i")

    def call(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
        values = tensor(input_tensor)
        if inverse and values.dtype.kind != "c":
            values = values.astype(np.complex64)
        if values.dtype.char not in ("FD" if inverse else "fd"):
            kind = "complex64 or complex128" if inverse else "float32 or float64"
            raise ValueError(f"{title}: {kind} was expected, got {values.dtype.name}")
        sizes = None if fft_length is None else [int(size) for size in np.ravel(fft_length)]
        made = function(np.asarray(values), s=sizes, axes=_axes(rank))
        is_single = values.dtype.char in "fF"
        single, double = (np.float32, np.float64) if inverse else (np.complex64, np.complex128)
        return tensor(made, single if is_single else double)

    title = name
    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"Return NumPy's `{function.__name__}` along the last {rank} axes, cut or padded with "
        "zeros to `fft_length`."
    )
    return call


for _suffix, _rank in (("", 1), ("2d", 2), ("3d", 3)):
    for _name in ("fft", "ifft", "rfft", "irfft"):
        _make = _real_fourier if "r" in _name else _fourier
        _full = _name + _suffix
        globals()[_full] = _make(_full, _rank, getattr(np.fft, f"{_name}n"))
_rfft, _irfft = globals()["rfft"], globals()["irfft"]


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Move the zero frequency to the middle of axes, or of all axes."""
    return tensor(np.fft.fftshift(tensor(x), axes))


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Move the zero frequency from the middle of axes, or of all axes, to their start."""
    return tensor(np.fft.ifftshift(tensor(x), axes))


def _raised_cosine(name: str, a: float, b: float) -> Callable[..., Any]:
    def window(
        window_length: Any, periodic: bool = True, dtype: Any = np.float32, name: str | None = None
    ) -> Any:
        count, kind = int(window_length), _float_type(dtype)
        if count == 1:
            return tensor(np.ones(1, kind))
        last = kind(count - 1 + (bool(periodic) and count % 2 == 0))
        angles = kind(2 * math.pi) * np.arange(count).astype(kind) / last
        return tensor((kind(a) - kind(b) * np.cos(angles)).astype(kind))

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"Return the window ``{a} - {b} cos(2 pi i / n)``; n is even if `periodic`."
    return window


hann_window = _raised_cosine("hann_window", 0.5, 0.5)
hamming_window = _raised_cosine("hamming_window", 0.54, 0.46)


def kaiser_window(
    window_length: Any, beta: float = 12.0, dtype: Any = np.float32, name: str | None = None
) -> Any:
    """Return NumPy's `kaiser` window."""
    return tensor(np.kaiser(int(window_length), float(beta)), _float_type(dtype))


def vorbis_window(window_length: Any, dtype: Any = np.float32, name: str | None = None) -> Any:
    """Return the power-complementary Vorbis window."""
    at = (np.arange(int(window_length)) + 0.5) * math.pi / int(window_length)
    return tensor(np.sin(math.pi / 2 * np.sin(at) ** 2), _float_type(dtype))


def _float_type(dtype: Any) -> Any:
    if not as_dtype(dtype).is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    return as_dtype(dtype).dtype.type


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Any:
    """Split a signal into frames, which may overlap.

    Parameters
    ----------
    signal : array_like
        The signals.
    frame_length, frame_step : int
        Number of samples in a frame, and between the starts of frames.
    pad_end : bool
        Whether to include frames that extend beyond the end.
    pad_value : number
        The value of samples beyond the end.
    axis : int
        The axis of the samples.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor
        The frames: the axis is replaced by two, for frames and samples.
    """
    values, length, step = np.asarray(tensor(signal)), int(frame_length), int(frame_step)
    along = int(axis) % values.ndim
    if pad_end:
        missing = max(
            length + step * (-(-values.shape[along] // step) - 1) - values.shape[along], 0
        )
        added = [(0, missing if each == along else 0) for each in range(values.ndim)]
        values = np.pad(values, added, constant_values=pad_value)
    if values.shape[along] < length:
        shape = (*values.shape[:along], 0, length, *values.shape[along + 1 :])
        return tensor(np.zeros(shape, values.dtype))
    frames = np.lib.stride_tricks.sliding_window_view(values, length, along)
    starts = (slice(None),) * along + (slice(None, None, step),)
    return tensor(np.moveaxis(frames[starts], -1, along + 1).copy())


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Any:
    """Add up overlapping frames, shape ``(..., frames, samples)``, `frame_step` samples apart."""
    frames, step = np.asarray(tensor(signal)), int(frame_step)
    *outer, count, length = frames.shape
    made = np.zeros((*outer, length + step * (count - 1)), frames.dtype)
    for number in range(count):
        made[..., number * step : number * step + length] += frames[..., number, :]
    return tensor(made)


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """Return the Fourier transform of each frame of signals.

    Parameters
    ----------
    signals : array of float, shape ``(..., samples)``
        The signals.
    frame_length, frame_step : int
        Number of samples in a frame, and between the starts of frames.
    fft_length : int, optional
        The length to which frames are padded; by default, the next power of two.
    window_fn : callable or None
        Takes the length and `dtype`, and returns the window.
    pad_end : bool
        Whether to include frames that extend beyond the end.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor, shape ``(..., frames, fft_length // 2 + 1)``
        The transforms, as complex numbers.
    """
    frames = frame(signals, frame_length, frame_step, pad_end)
    if window_fn is not None:
        frames = frames * window_fn(frame_length, dtype=as_dtype(frames.dtype))
    return _rfft(frames, [_transformed(frame_length, fft_length)])


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Any:
    """Reconstruct signals from the Fourier transforms of their frames.

    The arguments are the same as in `stft`, except that the window is
    ``inverse_stft_window_fn(frame_step)``.
    """
    length = int(frame_length)
    frames = _irfft(stfts, [_transformed(frame_length, fft_length)])[..., :length]
    missing = length - frames.shape[-1]
    frames = tensor(np.pad(frames, [(0, 0)] * (frames.ndim - 1) + [(0, missing)]))
    if window_fn is not None:
        frames = frames * window_fn(frame_length, dtype=as_dtype(frames.dtype))
    return overlap_and_add(frames, frame_step)


def _transformed(frame_length: Any, fft_length: Any) -> int:
    if fft_length is not None:
        return int(fft_length)
    return 1 << math.ceil(math.log2(int(frame_length)))


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Any]:
    """Return the `window_fn` with which `inverse_stft` undoes `stft`."""

    def window(frame_length: Any, dtype: Any) -> Any:
        length, step = int(frame_length), int(frame_step)
        forward = np.asarray(forward_window_fn(frame_length, dtype=dtype))
        overlaps = -(-length // step)
        squares = np.pad(np.square(forward), (0, overlaps * step - length))
        sums = np.tile(squares.reshape(overlaps, step).sum(axis=0), overlaps)[:length]
        return tensor(np.divide(forward, sums, out=np.zeros_like(forward), where=sums != 0))

    return window


def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """Return the cosine transform along the last axis.

    Parameters
    ----------
    input : array of float
        The signals.
    type : int
        1, 2, 3 or 4.
    n : int, optional
        The length to which the signals are cut or padded.
    axis : int
        Must be -1.
    norm : str, optional
        "ortho" for an orthonormal transform; not for type 1.
    name : str, optional
        A label without effect.
    """
    values = np.asarray(tensor(input))
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if n is not None:
        if n < 1:
            raise ValueError("n should be a positive integer or None")
        values = values[..., :n]
        missing = n - values.shape[-1]
        values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])
    return tensor(_COSINES[type](values, norm == "ortho"), values.dtype)


def idct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """Return the inverse of `dct` along the last axis, unscaled except for "ortho"."""
    return dct(input, {2: 3, 3: 2}.get(type, type), n, axis, norm)


def _cosine1(values: Any, ortho: bool) -> Any:
    if values.shape[-1] < 2:
        raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    return np.fft.rfft(np.concatenate([values, values[..., -2:0:-1]], axis=-1)).real


def _cosine2(values: Any, ortho: bool) -> Any:
    count = values.shape[-1]
    turns = np.exp(-0.5j * math.pi * np.arange(count) / count)
    made = 2 * (np.fft.rfft(values, 2 * count)[..., :count] * turns).real
    return made / _lengths(count) if ortho else made


def _cosine3(values: Any, ortho: bool) -> Any:
    count = values.shape[-1]
    turns = np.exp(0.5j * math.pi * np.arange(count) / count)
    scaled = values * (_lengths(count) / 2 if ortho else count)
    return np.fft.irfft(2 * scaled * turns, 2 * count)[..., :count]


def _cosine4(values: Any, ortho: bool) -> Any:
    count = values.shape[-1]
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, count)])
    made = _cosine2(padded, False)[..., 1::2]
    return made * math.sqrt(0.5 / count) if ortho else made


def _lengths(count: int) -> Any:
    """Return the norms of the basis vectors of the second transform."""
    return np.sqrt(np.where(np.arange(count) == 0, 4 * count, 2 * count))


_COSINES = {1: _cosine1, 2: _cosine2, 3: _cosine3, 4: _cosine4}


def linear_to_mel_weight_matrix(
    num_mel_bins: Any = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: Any = 125.0,
    upper_edge_hertz: Any = 3800.0,
    dtype: Any = np.float32,
    name: str | None = None,
) -> Any:
    """Return the matrix that converts a spectrogram to the mel scale, as in HTK.

    Parameters
    ----------
    num_mel_bins, num_spectrogram_bins : int
        Number of frequencies of the results and of the spectrograms.
    sample_rate : int
        Samples per second.
    lower_edge_hertz, upper_edge_hertz : float
        The range of frequencies of the results.
    dtype : dtype-like
        A floating-point type.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor, shape ``(num_spectrogram_bins, num_mel_bins)``
        Triangular filters, each extending to the centres of its neighbours.
    """
    kind = _float_type(dtype)
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if lower_edge_hertz < 0 or lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(
            "lower_edge_hertz must be non-negative and below upper_edge_hertz. Got: "
            f"{lower_edge_hertz}, {upper_edge_hertz}"
        )
    if sample_rate <= 0 or upper_edge_hertz > sample_rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            f"Got {upper_edge_hertz} for sample_rate: {sample_rate}"
        )
    frequencies = np.linspace(0, kind(sample_rate) / kind(2), int(num_spectrogram_bins), dtype=kind)
    low, high = _mel(np.array([lower_edge_hertz, upper_edge_hertz], kind))
    edges = np.linspace(low, high, int(num_mel_bins) + 2, dtype=kind)
    left, middle, right = edges[:-2], edges[1:-1], edges[2:]
    mels = _mel(frequencies[1:, np.newaxis])
    rising, falling = (mels - left) / (middle - left), (right - mels) / (right - middle)
    weights = np.maximum(0, np.minimum(rising, falling))
    return tensor(np.pad(weights, [(1, 0), (0, 0)]), kind)  # the constant component has no weight


def _mel(hertz: Any) -> Any:
    kind = hertz.dtype.type
    return kind(1127) * np.log(kind(1) + hertz / kind(700))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Any:
    """Return the mel-frequency cepstral coefficients of mel spectrograms, as in HTK."""
    values = tensor(log_mel_spectrograms)
    if not values.shape[-1]:
        raise ValueError(f"num_mel_bins must be positive. Got: {values}")
    return dct(values) / values.dtype.type(math.sqrt(2 * values.shape[-1]))


__all__ = [
    "dct",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifftshift",
    "inverse_stft",
    "inverse_stft_window_fn",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "stft",
    "vorbis_window",
]

__dir__ = listing(globals())
