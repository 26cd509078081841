"""Native operations on NumPy values, with TensorFlow's names; they run without the GIL."""

from penstock.ops import array, image, io, strings

__all__ = ["array", "image", "io", "strings"]
