"""tf.keras.backend: of it, the settings that functions of data ask for."""

from __future__ import annotations

from penstock.compat.listing import listing

_settings = {"floatx": "float32", "image_data_format": "channels_last"}
_epsilon = [1e-7]
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_FORMATS = ("channels_last", "channels_first")


def floatx() -> str:
    """Return the type of floats that images are given."""
    return _settings["floatx"]


def set_floatx(value: str) -> None:
    """Set the type of floats: one of "bfloat16", "float16", "float32" and "float64"."""
    if value not in _FLOATS:
        raise ValueError(f"Unknown `floatx` value: {value}. Expected one of {_FLOATS}")
    _settings["floatx"] = value


def image_data_format() -> str:
    """Return which axis of images has the channels: "channels_last" or "channels_first"."""
    return _settings["image_data_format"]


def set_image_data_format(data_format: str) -> None:
    """Set which axis of images has the channels."""
    if data_format not in _FORMATS:
        raise ValueError(f"The `data_format` argument must be one of {_FORMATS}, got {data_format}")
    _settings["image_data_format"] = data_format


def epsilon() -> float:
    """Return a small number that keeps divisors from being 0."""
    return _epsilon[0]


def set_epsilon(value: float) -> None:
    """Set that number."""
    _epsilon[0] = value


def clear_session(free_memory: bool = True) -> None:
    """Do nothing: there are no models."""


__dir__ = listing(globals())
