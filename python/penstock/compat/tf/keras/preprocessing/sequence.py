"""tf.keras.preprocessing.sequence: only `pad_sequences`."""

from penstock.compat.listing import listing
from penstock.compat.tf.keras.arrays import pad_sequences

__all__ = ["pad_sequences"]

__dir__ = listing(globals())
