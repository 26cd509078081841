"""tf.keras.utils: only the functions that create datasets from folders and arrays."""

from penstock.compat.listing import listing
from penstock.compat.tf.keras.arrays import normalize, pad_sequences, to_categorical
from penstock.compat.tf.keras.cached_files import get_file
from penstock.compat.tf.keras.folders import (
    audio_dataset_from_directory,
    image_dataset_from_directory,
    text_dataset_from_directory,
)
from penstock.compat.tf.keras.images import array_to_img, img_to_array, load_img, save_img
from penstock.compat.tf.keras.py_dataset import PyDataset, Sequence
from penstock.compat.tf.keras.seeds import set_random_seed
from penstock.compat.tf.keras.splitting import split_dataset
from penstock.compat.tf.keras.time_series import timeseries_dataset_from_array

__all__ = [
    "PyDataset",
    "Sequence",
    "array_to_img",
    "audio_dataset_from_directory",
    "get_file",
    "image_dataset_from_directory",
    "img_to_array",
    "load_img",
    "normalize",
    "pad_sequences",
    "save_img",
    "set_random_seed",
    "split_dataset",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
    "to_categorical",
]

__dir__ = listing(globals())
