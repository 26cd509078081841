"""tf.dtypes: the types of values."""

from penstock.compat.calling import port_all
from penstock.compat.dtypes import DTYPES, DType, as_dtype
from penstock.compat.listing import listing
from penstock.ops import array as _array

globals().update(DTYPES)
port_all(globals(), _array, ["cast"])

__all__ = ["DType", "as_dtype"]

__dir__ = listing(globals())
