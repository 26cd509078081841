"""tf.keras.preprocessing.sequence: of it, `pad_sequences`."""

from typing import TYPE_CHECKING

from penstock.compat.listing import listing
from penstock.compat.tf.keras.arrays import pad_sequences
from penstock.compat.tf.keras.missing import missing as _missing

__all__ = ["pad_sequences"]

if not TYPE_CHECKING:  # which would allow any name
    __getattr__ = _missing(__name__)

__dir__ = listing(globals())
