"""tf.keras: of it, what makes datasets of folders and arrays."""

from typing import TYPE_CHECKING

from penstock.compat.listing import listing
from penstock.compat.tf.keras import preprocessing, utils
from penstock.compat.tf.keras.missing import missing as _missing

__all__ = ["preprocessing", "utils"]

if not TYPE_CHECKING:  # which would allow any name
    __getattr__ = _missing(__name__)

__dir__ = listing(globals())
