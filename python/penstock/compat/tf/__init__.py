"""TensorFlow's names for input pipelines: ``import penstock.compat.tf as tf``.

Whatever a name has in TensorFlow that makes no sense without graphs and devices is left out.
"""

from __future__ import annotations

from penstock.compat import dispatch as _dispatch
from penstock.compat.calling import port_all
from penstock.compat.composite_specs import (
    RaggedTensorSpec,
    SparseTensorSpec,
    type_spec_from_value,
)
from penstock.compat.dtypes import DTYPES, DType, as_dtype
from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.shape import TensorShape, TensorSpec
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import Tensor
from penstock.compat.tf import (
    arrays,
    audio,
    compat,
    data,
    debugging,
    dtypes,
    errors,
    functions,
    image,
    io,
    keras,
    lookup,
    math,
    nest,
    nn,
    ragged,
    random,
    signal,
    sparse,
    strings,
    train,
)
from penstock.compat.tf.functions import (
    case,
    cond,
    control_dependencies,
    device,
    function,
    group,
    name_scope,
    no_op,
    numpy_function,
    py_function,
    while_loop,
)
from penstock.ops import array as _array
from penstock.ops import strings as _strings
from penstock.ops.noticed import QUIET_MODULES, QUIET_TYPES

__version__ = "2.21.0"  # the names are those of this version

newaxis = None

globals().update(DTYPES)
port_all(globals(), _strings, ["as_string"])
port_all(globals(), _array, [name for name in _array.__all__ if name not in arrays.NAMES])
for _name in arrays.NAMES:
    globals()[_name] = getattr(arrays, _name)
for _name in math.NAMES:
    globals()[_name] = getattr(math, _name)
for _module in (math, dtypes, io, nn):
    _dispatch.install(vars(_module), _dispatch.ARRAYS)
_dispatch.install(vars(strings), _dispatch.STRINGS)
_dispatch.install(globals(), _dispatch.ARRAYS)
print = functions.print_

# A function that calls only these may be traced to find the shapes of its results.
_QUIET = ("arrays", "audio", "functions", "image", "io", "math", "nest", "nn", "signal", "strings")
_NOTICED = frozenset({"matching_files", "print_", "write_file"})
QUIET_MODULES.update(dict.fromkeys((f"{__name__}.{each}" for each in _QUIET), _NOTICED))
_QUIET_BENEATH = ("ragged_broadcast", "ragged_factories", "sparse", "sparse_functions", "values")
QUIET_MODULES.update((f"penstock.compat.{each}", frozenset()) for each in _QUIET_BENEATH)
QUIET_TYPES.update((DType, RaggedTensor, SparseTensor, Tensor))


def executing_eagerly() -> bool:
    """Return True: everything runs at once."""
    return True


__all__ = [
    "DType",
    "RaggedTensor",
    "RaggedTensorSpec",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "as_dtype",
    "audio",
    "case",
    "compat",
    "cond",
    "control_dependencies",
    "data",
    "debugging",
    "device",
    "dtypes",
    "errors",
    "executing_eagerly",
    "function",
    "group",
    "image",
    "io",
    "keras",
    "lookup",
    "name_scope",
    "nest",
    "newaxis",
    "nn",
    "no_op",
    "numpy_function",
    "py_function",
    "ragged",
    "random",
    "signal",
    "sparse",
    "strings",
    "train",
    "type_spec_from_value",
    "while_loop",
]

__dir__ = listing(globals())
