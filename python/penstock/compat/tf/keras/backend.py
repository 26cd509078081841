"""tf.keras.backend: only the settings that data functions use."""

from __future__ import annotations

from penstock.compat.listing import listing

_settings = {"floatx": "float32", "image_data_format": "channels_last"}
_epsilon = [1e-7]
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_FORMATS = ("channels_last", "channels_first")


def floatx() -> str:
    """Return the floating-point type for images."""
    return _settings["floatx"]


def set_floatx(value: str) -> None:
    """Set the floating-point type: "bfloat16", "float16", "float32" or "float64"."""
    if value not in _FLOATS:
        raise ValueError(f"Unknown `floatx` value: {value}. Expected one of {_FLOATS}")
    _settings["floatx"] = value


def image_data_format() -> str:
    """Return the position of the channel axis: "channels_last" or "channels_first"."""
    return _settings["image_data_format"]


def set_image_data_format(data_format: str) -> None:
    """Set the position of the channel axis."""
    if data_format not in _FORMATS:
        raise ValueError(f"The `data_format` argument must be one of {_FORMATS}, got {data_format}")
    _settings["image_data_format"] = data_format


def epsilon() -> float:
    """Return a small number that prevents division by zero."""
    return _epsilon[0]


def set_epsilon(value: float) -> None:
    """Set the small number that prevents division by zero."""
    _epsilon[0] = value


def clear_session(free_memory: bool = True) -> None:
    """Do nothing: there are no models."""


__dir__ = listing(globals())
