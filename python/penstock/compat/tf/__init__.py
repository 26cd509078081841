"""TensorFlow's names for input pipelines: ``import penstock.compat.tf as tf``.

Parts of an API that make no sense without graphs and devices are omitted.
"""

from __future__ import annotations

import sys

from penstock.compat import dispatch as _dispatch
from penstock.compat.calling import port_all
from penstock.compat.composite_specs import (
    RaggedTensorSpec,
    SparseTensorSpec,
    type_spec_from_value,
)
from penstock.compat.dtypes import DTYPES, DType, as_dtype
from penstock.compat.function import Function
from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.shape import TensorShape, TensorSpec, TypeSpec
from penstock.compat.sparse import SparseTensor
from penstock.compat.sparse.rows import edit_distance
from penstock.compat.tensor import Tensor
from penstock.compat.tf import (
    arrays,
    audio,
    autograph,
    bitwise,
    compat,
    config,
    counting,
    data,
    debugging,
    distribute,
    dtypes,
    errors,
    experimental,
    functions,
    image,
    indexing,
    io,
    keras,
    linalg,
    lookup,
    looping,
    math,
    nest,
    nn,
    printing,
    ragged,
    random,
    sets,
    shaping,
    signal,
    sparse,
    stateless,
    strings,
    test,
    train,
    version,
)
from penstock.compat.tf.loggers import get_logger
from penstock.compat.tf.module import Module
from penstock.compat.tf.tensor_array import TensorArray
from penstock.compat.tf.variable import Variable, VariableAggregation, VariableSynchronization
from penstock.ops import array as _array
from penstock.ops import strings as _strings
from penstock.ops.noticed import QUIET_MODULES, QUIET_TYPES, WRAPPERS

__version__ = version.VERSION

newaxis = None

globals().update(DTYPES)
globals().update(double=DTYPES["float64"], half=DTYPES["float16"])
port_all(globals(), _strings, ["as_string"])
port_all(globals(), _array, [name for name in _array.__all__ if name not in arrays.NAMES])
for _module in (arrays, counting, functions, indexing, looping, math, shaping, stateless):
    globals().update({_name: getattr(_module, _name) for _name in _module.NAMES})
for _name in ("eig", "eigvals", "einsum", "matmul", "norm", "tensordot"):
    globals()[_name] = getattr(linalg, _name)
for _name in ("Assert", "assert_equal", "assert_greater", "assert_less", "assert_rank"):
    globals()[_name] = getattr(debugging, _name)
for _name in ("log_softmax", "softmax", "softplus", "softsign"):
    setattr(math, _name, getattr(nn, _name))
for _module in (bitwise, math, debugging, dtypes, io, nn):
    _dispatch.install(vars(_module), _dispatch.ARRAYS)
_dispatch.install(vars(strings), _dispatch.STRINGS)
_dispatch.install(globals(), _dispatch.ARRAYS)
print = printing.print_

# A function that calls only these may be traced to infer the shapes of its results.
_QUIET = (
    *("arrays", "audio", "bitwise", "counting", "debugging", "elementwise", "functions", "image"),
    *("indexing", "io", "linalg", "looping", "math", "nest", "nn", "printing", "segments"),
    *("shaping", "signal", "special", "strings", "texts", "unicode", "keras.imagenet"),
)
_NOTICED = frozenset({"matching_files", "print_", "timestamp", "write_file"})
QUIET_MODULES.update(dict.fromkeys((f"{__name__}.{each}" for each in _QUIET), _NOTICED))
_QUIET_BENEATH = """
ragged.broadcast ragged.factories sparse.functions sparse.tensor values
"""
QUIET_MODULES.update((f"penstock.compat.{each}", frozenset()) for each in _QUIET_BENEATH.split())
WRAPPERS.add(Function)
setattr(compat, "v2", sys.modules[__name__])  # noqa: B010 - it is no name of the module itself
QUIET_TYPES.update((DType, RaggedTensor, SparseTensor, Tensor))


def executing_eagerly() -> bool:
    """Return True: execution is always eager."""
    return True


__all__ = [
    "DType",
    "Module",
    "RaggedTensor",
    "RaggedTensorSpec",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorArray",
    "TensorShape",
    "TensorSpec",
    "TypeSpec",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "as_dtype",
    "audio",
    "autograph",
    "bitwise",
    "compat",
    "config",
    "data",
    "debugging",
    "distribute",
    "dtypes",
    "edit_distance",
    "errors",
    "executing_eagerly",
    "experimental",
    "get_logger",
    "image",
    "io",
    "keras",
    "linalg",
    "lookup",
    "math",
    "nest",
    "newaxis",
    "nn",
    "ragged",
    "random",
    "sets",
    "signal",
    "sparse",
    "strings",
    "test",
    "train",
    "type_spec_from_value",
    "version",
]

__dir__ = listing(globals())
