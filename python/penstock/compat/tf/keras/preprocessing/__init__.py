"""tf.keras.preprocessing: older names of some of tf.keras.utils."""

from penstock.compat.listing import listing
from penstock.compat.tf.keras.folders import (
    image_dataset_from_directory,
    text_dataset_from_directory,
)
from penstock.compat.tf.keras.preprocessing import image, sequence
from penstock.compat.tf.keras.time_series import timeseries_dataset_from_array

__all__ = [
    "image",
    "image_dataset_from_directory",
    "sequence",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
]

__dir__ = listing(globals())
