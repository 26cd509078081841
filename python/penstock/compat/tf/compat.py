"""tf.compat: text and bytes, and in `v1` the older names that programs of today still use."""

from __future__ import annotations

from typing import Any

from penstock.compat import dataset as _dataset
from penstock.compat.iterator import OwnedIterator
from penstock.compat.listing import listing
from penstock.compat.tf import nn as _nn
from penstock.compat.tf import old_image as _old_image


def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Return text as bytes, and bytes as they are."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes_or_text


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Return bytes as text, and text as it is."""
    return bytes_or_text.decode(encoding) if isinstance(bytes_or_text, bytes) else bytes_or_text


as_str = as_text


class _Data:
    """tf.compat.v1.data, where nothing waits for a session."""

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


class v1:
    """tf.compat.v1, of which programs with sessions import `penstock.compat.v1` instead."""

    data = _Data
    image = _old_image
    nn = _nn

    @staticmethod
    def enable_eager_execution() -> None:
        """Do nothing: everything runs at once."""

    enable_v2_behavior = enable_eager_execution


__dir__ = listing(globals())
