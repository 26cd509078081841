"""tf.dtypes: the types of values."""

from penstock.compat.calling import port_all
from penstock.compat.dtypes import DTYPES, DType, as_dtype
from penstock.compat.listing import listing
from penstock.compat.tf.shaping import complex, saturate_cast
from penstock.ops import array as _array

globals().update(DTYPES)
port_all(globals(), _array, ["cast"])

for _name, _now in (("double", "float64"), ("half", "float16")):
    globals()[_name] = DTYPES[_now]

__all__ = ["DType", "as_dtype", "complex", "saturate_cast"]

__dir__ = listing(globals())
