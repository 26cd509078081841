"""Native operations on NumPy values: TensorFlow's names and arguments, the GIL released inside."""

from penstock.ops import array, image, io, strings

__all__ = ["array", "image", "io", "strings"]
