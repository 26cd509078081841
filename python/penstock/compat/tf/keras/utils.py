"""tf.keras.utils: of it, what makes datasets of folders and arrays."""

from penstock.compat.listing import listing
from penstock.compat.tf.keras.arrays import normalize, pad_sequences, to_categorical
from penstock.compat.tf.keras.cached_files import get_file
from penstock.compat.tf.keras.folders import (
    audio_dataset_from_directory,
    image_dataset_from_directory,
    text_dataset_from_directory,
)
from penstock.compat.tf.keras.time_series import timeseries_dataset_from_array

__all__ = [
    "audio_dataset_from_directory",
    "get_file",
    "image_dataset_from_directory",
    "normalize",
    "pad_sequences",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
    "to_categorical",
]

__dir__ = listing(globals())
