"""tf.audio: WAV files."""

from __future__ import annotations

import io
import struct
import wave
from typing import Any, NamedTuple

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor


class _DecodeWav(NamedTuple):
    """Decoded audio, and the number of samples per second."""

    audio: Any
    sample_rate: Any


def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> _DecodeWav:
    """Decode a 16-bit WAV file.

    Parameters
    ----------
    contents : bytes
        The contents of a file.
    desired_channels : int
        The number of channels. Additional channels are dropped; the last channel is repeated if
        there are too few. -1: as in the file.
    desired_samples : int
        The number of samples; audio is cut or padded with zeros. -1: as in the file.
    name : str, optional
        A label without effect.

    Returns
    -------
    audio : Tensor, shape ``(samples, channels)``
        Values in ``[-1, 1)``, float32.
    sample_rate : Tensor
        Samples per second, int32.

    Raises
    ------
    InvalidArgumentError
        If the contents are not a valid WAV file.
    """
    data = tensor(contents).item()
    channels, rate, samples = _read(data)
    if len(samples) % (2 * channels):
        raise _wrong("the last sample is not whole")
    audio = np.frombuffer(samples, "<i2").reshape(-1, channels).astype(np.float32) / 32768
    if desired_channels > 0:
        audio = audio[:, np.minimum(np.arange(desired_channels), channels - 1)]
    if desired_samples >= 0:
        audio = audio[:desired_samples]
        audio = np.pad(audio, [(0, desired_samples - len(audio)), (0, 0)])
    return _DecodeWav(tensor(audio), tensor(np.int32(rate)))


def _read(data: bytes) -> tuple[int, int, bytes]:
    """Return the number of channels, the rate and the samples."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise _wrong(f"Header mismatch: Expected RIFF and WAVE but found {data[:12]!r}")
    offset, layout = 12, None
    while offset + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, offset)
        begin, offset = offset + 8, offset + 8 + size + size % 2
        if name == b"fmt " and begin + 16 <= len(data):
            layout = struct.unpack_from("<HHIIHH", data, begin)
        elif name == b"data" and layout is not None:
            format, channels, rate, _, _, bits = layout
            if format != 1:
                raise _wrong(f"Bad audio format for WAV: Expected 1 (PCM), but got {format}")
            if bits != 16:
                raise _wrong(f"Can only read 16-bit WAV files, but received {bits}")
            if channels < 1:
                raise _wrong("Bad number of channels for WAV: Expected at least 1, but got 0")
            if begin + size > len(data):
                raise _wrong("Data too short when trying to read string")
            return channels, rate, data[begin : begin + size]
    raise _wrong("No data chunk found in WAV")


def _wrong(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, f"decode_wav: {message}")


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Any:
    """Encode audio as a 16-bit WAV file.

    Parameters
    ----------
    audio : array of float, shape ``(samples, channels)``
        Values from -1 to 1; values outside are clipped.
    sample_rate : int
        Samples per second.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor
        The contents of a file.
    """
    values = np.asarray(tensor(audio), np.float32)
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidArgumentError(
            None, None, f"encode_wav: audio must be 2-dimensional, got {values.shape}"
        )
    wide = values * np.float32(32768)
    rounded = np.trunc(wide + np.copysign(np.float32(0.5), wide))  # round halves away from zero
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(values.shape[1])
        writer.setsampwidth(2)
        writer.setframerate(int(sample_rate))
        writer.writeframes(np.clip(rounded, -32768, 32767).astype("<i2").tobytes())
    return tensor(file.getvalue())


__all__ = ["decode_wav", "encode_wav"]

__dir__ = listing(globals())
