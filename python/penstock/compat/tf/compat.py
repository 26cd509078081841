"""tf.compat: text and bytes, and in `v1` older names that current programs still use."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from penstock.compat import dataset as _dataset
from penstock.compat.iterator import OwnedIterator
from penstock.compat.listing import listing
from penstock.compat.tf import nn as _nn
from penstock.compat.tf import old_image as _old_image


def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Return text encoded as bytes; bytes unchanged."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes_or_text


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Return bytes decoded as text; text unchanged."""
    return bytes_or_text.decode(encoding) if isinstance(bytes_or_text, bytes) else bytes_or_text


as_str = as_text
bytes_or_text_types = (bytes, str)
integral_types = (int, np.integer)
real_types = (int, float, np.integer, np.floating)
complex_types = (int, float, complex, np.number)


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Return bytes decoded as text, and ``str(value)`` for other values."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path as text; other values unchanged."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def dimension_value(dimension: Any) -> Any:
    """Return the size of an axis, which is already a number."""
    return dimension


def dimension_at_index(shape: Any, index: int) -> Any:
    """Return the size of an axis; None if the rank is unknown."""
    return shape[index] if shape.rank is not None else None


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return True: files are never written for older versions."""
    return True


class _Older(type):
    """Loads TensorFlow 1's names on first access."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module("penstock.compat.v1"), name)

    def __dir__(cls) -> list[str]:
        return sorted({*dir(importlib.import_module("penstock.compat.v1")), *vars(cls)})


class _Data:
    """tf.compat.v1.data, with iterators that need no session."""

    Dataset = _dataset.Dataset

    @staticmethod
    def make_one_shot_iterator(dataset: _dataset.Dataset) -> OwnedIterator:
        """Return an iterator."""
        return iter(dataset)

    make_initializable_iterator = make_one_shot_iterator

    @staticmethod
    def get_output_types(dataset: Any) -> Any:
        """Return the type of each leaf."""
        return dataset.output_types

    @staticmethod
    def get_output_shapes(dataset: Any) -> Any:
        """Return the shape of each leaf."""
        return dataset.output_shapes


class v1(metaclass=_Older):
    """tf.compat.v1: `penstock.compat.v1`, with iterators that need no session."""

    data = _Data
    image = _old_image
    nn = _nn

    @staticmethod
    def enable_eager_execution() -> None:
        """Do nothing: execution is always eager."""

    enable_v2_behavior = enable_eager_execution


__dir__ = listing(globals())
