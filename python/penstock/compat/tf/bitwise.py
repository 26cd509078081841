"""tf.bitwise: bitwise operations on integers, with NumPy."""

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tf import elementwise

for _name, _ufunc in {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}.items():
    globals()[_name] = elementwise.of_two_ufunc(_name, _ufunc, __name__)
invert = elementwise.of_one("invert", np.invert, __name__)

__dir__ = listing(globals())
