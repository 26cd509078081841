"""Native operations on NumPy values: TensorFlow's names and arguments, the GIL released inside."""

from penstock.ops import array, image, io

__all__ = ["array", "image", "io"]
