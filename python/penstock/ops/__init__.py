"""Native operations on NumPy values: TensorFlow's names and arguments, the GIL released inside."""

from penstock.ops import arrays, image, io

__all__ = ["arrays", "image", "io"]
