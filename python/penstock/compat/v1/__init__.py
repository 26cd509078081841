"""TensorFlow 1's names for input pipelines: ``import penstock.compat.v1 as tf``.

Everything of `penstock.compat.tf`, the older names beside it, and sessions that compute the
elements of iterators.
"""

from __future__ import annotations

from typing import Any

from penstock.compat import tf as _tf
from penstock.compat.graph import Lazy, Placeholder, Session, deferred
from penstock.compat.listing import listing
from penstock.compat.tf import io as _io
from penstock.compat.v1 import contrib, data, gfile, image, nn, python_io, train

for _name in dir(_tf):
    if _name in globals():
        continue
    _thing = getattr(_tf, _name)
    _waits = callable(_thing) and not isinstance(_thing, type)
    globals()[_name] = deferred(_thing) if _waits else _thing

# What moved to tf.io and tf.math later.
for _name in (
    *("read_file", "write_file", "matching_files", "parse_example", "parse_single_example"),
    *("parse_single_sequence_example", "decode_raw", "decode_csv", "decode_base64"),
    *("encode_base64", "FixedLenFeature", "VarLenFeature", "FixedLenSequenceFeature"),
):
    globals()[_name] = vars(_io)[_name]
FixedLengthFeature = _io.FixedLenFeature  # type: ignore[attr-defined]
"""An old spelling of `FixedLenFeature`."""
for _name in ("log", "floordiv", "is_nan", "is_inf", "log1p", "logical_xor", "rsqrt", "ceil"):
    globals()[_name] = deferred(vars(_tf.math)[_name])
div = deferred(vars(_tf.math)["floordiv"])
to_float = deferred(lambda x, name=None: _tf.cast(x, "float32"))  # type: ignore[attr-defined]
to_int32 = deferred(lambda x, name=None: _tf.cast(x, "int32"))  # type: ignore[attr-defined]
to_int64 = deferred(lambda x, name=None: _tf.cast(x, "int64"))  # type: ignore[attr-defined]
py_func = _tf.numpy_function
for _name, _now in {
    "reduce_join": "reduce_join",
    "regex_replace": "regex_replace",
    "string_join": "join",
    "string_strip": "strip",
    "string_to_hash_bucket_fast": "to_hash_bucket_fast",
    "string_to_number": "to_number",
    "substr": "substr",
}.items():
    globals()[_name] = vars(_tf.strings)[_now]
sparse_tensor_to_dense = _tf.sparse.to_dense
set_random_seed = vars(_tf.random)["set_seed"]
random_uniform = vars(_tf.random)["uniform"]
random_normal = vars(_tf.random)["normal"]
random_shuffle = vars(_tf.random)["shuffle"]
InteractiveSession = Session
variable_scope = name_scope = _tf.name_scope
Assert = _tf.debugging.Assert
for _name in ("assert_equal", "assert_greater", "assert_less", "check_numerics"):
    globals()[_name] = vars(_tf.debugging)[_name]


def string_split(
    source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = " "
) -> Any:
    """Cut strings at a separator.

    Parameters
    ----------
    source : sequence of str or bytes
        The strings.
    sep, delimiter : str or bytes
        Where to cut, under the newer and the older name.
    skip_empty : bool
        Leave out empty parts.

    Returns
    -------
    SparseTensor
        A row of parts for each string.

    Examples
    --------
    >>> import penstock.compat.v1 as tf
    >>> tf.string_split(["a/b"], "/").values.numpy()
    array([b'a', b'b'], dtype=object)
    """
    cut = _tf.strings.split(source, delimiter if sep is None else sep)
    rows = [[part for part in row.tolist() if part or not skip_empty] for row in cut]
    return _tf.ragged.constant(rows, "string", ragged_rank=1).to_sparse()


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Placeholder:
    """Return a value that is given to `Session.run`."""
    return Placeholder(dtype, shape)


def global_variables_initializer() -> Lazy:
    """Return what does nothing: there are no variables."""
    return Lazy(lambda run: None)


tables_initializer = local_variables_initializer = global_variables_initializer


def enable_eager_execution(*args: Any, **kwargs: Any) -> None:
    """Do nothing: functions run at once, and datasets can be iterated."""


enable_v2_behavior = disable_eager_execution = disable_v2_behavior = enable_eager_execution

__all__ = [
    "Placeholder",
    "Session",
    "contrib",
    "data",
    "enable_eager_execution",
    "gfile",
    "global_variables_initializer",
    "image",
    "nn",
    "placeholder",
    "python_io",
    "string_split",
    "train",
]

__dir__ = listing(globals())
