"""tf.keras.preprocessing.image: only image files and arrays."""

from penstock.compat.listing import listing
from penstock.compat.tf.keras.images import array_to_img, img_to_array, load_img, save_img

__all__ = ["array_to_img", "img_to_array", "load_img", "save_img"]

__dir__ = listing(globals())
