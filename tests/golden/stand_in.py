"""The stand-in for the module tensorflow when the programs run on penstock."""

from types import SimpleNamespace

import numpy as np

import penstock as ps

tf = SimpleNamespace(
    data=ps,
    TensorSpec=ps.TensorSpec,
    bool=np.bool_,
    int32=np.int32,
    int64=np.int64,
    float32=np.float32,
    string=bytes,
    numpy_function=ps.numpy_function,
    cast=ps.cast,
    ensure_shape=lambda x, shape: x,
    reshape=ps.reshape,
    shape=ps.shape,
    stack=ps.stack,
    strings=ps.strings,
    io=ps.io,
)
