"""tf.keras: only the functions that create datasets from folders and arrays."""

from penstock.compat.listing import listing
from penstock.compat.tf.keras import applications, backend, preprocessing, utils

__all__ = ["applications", "backend", "preprocessing", "utils"]

__dir__ = listing(globals())
