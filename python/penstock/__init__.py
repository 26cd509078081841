"""penstock: tf.data's input pipeline without TensorFlow.

A C++ core that runs without the GIL, with tf.data's names and semantics. It accepts NumPy arrays
and yields NumPy batches.

>>> import penstock as ps
>>> ds = ps.Dataset.range(6).map(lambda x: x * x).batch(4)
>>> for batch in ds:
...     print(batch)
[0 1 4 9]
[16 25]

`Dataset` has the sources and transformations. `image`, `io`, `strings` and `random` have operations
for functions in `map`. ``python -m penstock doctor`` shows what is installed. The guides and the
reference are in the folder ``docs`` of the source tree.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

# First, because it rejects subinterpreters before NumPy is loaded there, which would break NumPy in
# the main interpreter.
from penstock._core import build_info

if TYPE_CHECKING:
    from penstock import experimental, metrics, random, remote
    from penstock.adapters.gather import gather_exact
    from penstock.data_loader import DataLoader, default_collate, get_worker_info
    from penstock.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
    from penstock.errors import (
        DataError,
        ErrorInfo,
        OutOfRangeError,
        StateError,
        TraceError,
        WorkerError,
    )
    from penstock.exclusions import ignored
    from penstock.functions import numpy_function, py_function
    from penstock.iterator import Iterator
    from penstock.meter import progress
    from penstock.ops import image, io, strings
    from penstock.ops.array import (
        cast,
        clip_by_value,
        concat,
        expand_dims,
        fill,
        gather,
        one_hot,
        ones,
        ones_like,
        pad,
        reduce_all,
        reduce_any,
        reduce_max,
        reduce_mean,
        reduce_min,
        reduce_sum,
        reshape,
        shape,
        squeeze,
        stack,
        tile,
        transpose,
        where,
        zeros,
        zeros_like,
    )
    from penstock.ops.c_function import cfunction
    from penstock.ops.native import native
    from penstock.options import Options, ThreadingOptions
    from penstock.profiling import LoopProfile, Profile, profile
    from penstock.random import set_seed
    from penstock.sources.array_record import ArrayRecordDataset
    from penstock.sources.arrays import NumpyDataset
    from penstock.sources.files import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
    from penstock.sources.hdf5 import HDF5Dataset
    from penstock.sources.index import index
    from penstock.sources.json_lines import JSONLinesDataset
    from penstock.sources.prefetch import prefetch
    from penstock.sources.tables import ArrowDataset, ParquetDataset
    from penstock.sources.tar import TarDataset
    from penstock.states import describe_state, merge_states
    from penstock.structure import TensorSpec

# The modules of public names that are not array operations. A module is loaded when one of its
# names is first accessed (PEP 562). Keep the imports above in sync: type checkers read those.
_HOMES = {
    "penstock._core": ("build_info",),
    "penstock": ("experimental", "metrics", "random", "remote"),
    "penstock.adapters.gather": ("gather_exact",),
    "penstock.data_loader": ("DataLoader", "default_collate", "get_worker_info"),
    "penstock.dataset": ("AUTOTUNE", "Dataset", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY"),
    "penstock.errors": (
        *("DataError", "ErrorInfo", "OutOfRangeError", "StateError", "TraceError", "WorkerError"),
    ),
    "penstock.exclusions": ("ignored",),
    "penstock.functions": ("numpy_function", "py_function"),
    "penstock.iterator": ("Iterator",),
    "penstock.meter": ("progress",),
    "penstock.ops": ("image", "io", "strings"),
    "penstock.ops.c_function": ("cfunction",),
    "penstock.ops.native": ("native",),
    "penstock.options": ("Options", "ThreadingOptions"),
    "penstock.profiling": ("LoopProfile", "Profile", "profile"),
    "penstock.random": ("set_seed",),
    "penstock.sources.array_record": ("ArrayRecordDataset",),
    "penstock.sources.arrays": ("NumpyDataset",),
    "penstock.sources.files": ("FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"),
    "penstock.sources.hdf5": ("HDF5Dataset",),
    "penstock.sources.index": ("index",),
    "penstock.sources.json_lines": ("JSONLinesDataset",),
    "penstock.sources.prefetch": ("prefetch",),
    "penstock.sources.tables": ("ArrowDataset", "ParquetDataset"),
    "penstock.sources.tar": ("TarDataset",),
    "penstock.states": ("describe_state", "merge_states"),
    "penstock.structure": ("TensorSpec",),
}
__version__: str = build_info()["version"]

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "ArrayRecordDataset",
    "ArrowDataset",
    "DataError",
    "DataLoader",
    "Dataset",
    "ErrorInfo",
    "FixedLengthRecordDataset",
    "HDF5Dataset",
    "Iterator",
    "JSONLinesDataset",
    "LoopProfile",
    "NumpyDataset",
    "Options",
    "OutOfRangeError",
    "ParquetDataset",
    "Profile",
    "StateError",
    "TFRecordDataset",
    "TarDataset",
    "TensorSpec",
    "TextLineDataset",
    "ThreadingOptions",
    "TraceError",
    "WorkerError",
    "build_info",
    "cast",
    "cfunction",
    "clip_by_value",
    "concat",
    "default_collate",
    "describe_state",
    "expand_dims",
    "experimental",
    "fill",
    "gather",
    "gather_exact",
    "get_worker_info",
    "ignored",
    "image",
    "index",
    "io",
    "merge_states",
    "metrics",
    "native",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "prefetch",
    "profile",
    "progress",
    "py_function",
    "random",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "remote",
    "reshape",
    "set_seed",
    "shape",
    "squeeze",
    "stack",
    "strings",
    "tile",
    "transpose",
    "where",
    "zeros",
    "zeros_like",
]

_HOME = dict.fromkeys(__all__, "penstock.ops.array")
_HOME |= {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # otherwise type checkers would accept any name

    def __getattr__(name):
        home = _HOME.get(name)
        if home is None:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        if home == __name__:
            return import_module(f"{home}.{name}")  # this also sets the attribute
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
