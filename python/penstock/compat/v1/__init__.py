"""TensorFlow 1's names for input pipelines: ``import penstock.compat.v1 as tf``.

It contains everything in `penstock.compat.tf`, the older names, and sessions that compute the
elements of iterators.
"""

from __future__ import annotations

import importlib.util
import types
from typing import TYPE_CHECKING, Any

from penstock.compat import tf as _tf
from penstock.compat.advice import missing
from penstock.compat.graph import Lazy, Placeholder
from penstock.compat.listing import listing
from penstock.compat.session import Session
from penstock.compat.v1 import (
    contrib,
    data,
    debugging,
    gfile,
    image,
    logging,
    nn,
    python_io,
    train,
)
from penstock.compat.v1 import graphs as _graphs
from penstock.compat.v1 import moved as _moved

_OLD_NAMES: dict[str, dict[str, Any]] = {
    "strings": {"split": _moved.strings_split},
    "io": {
        "TFRecordCompressionType": python_io.TFRecordCompressionType,
        "tf_record_iterator": python_io.tf_record_iterator,
    },
    "random": {
        "multinomial": vars(_tf.random)["categorical"],
        "poisson": _moved.random_poisson,
        "set_random_seed": vars(_tf.random)["set_seed"],
    },
}
_names = set(dir(_tf))
for _name in sorted(_names):
    if _name in globals():
        continue
    _thing = getattr(_tf, _name)
    if _name in ("autograph", "bitwise", "io", "linalg", "math", "random", "sparse", "strings"):
        globals()[_name] = _moved.waiting(_thing, _OLD_NAMES.get(_name, {}))
    elif callable(_thing) and not isinstance(_thing, type) and _name != "is_tensor":
        globals()[_name] = _moved.old(_thing, _name)
    else:
        globals()[_name] = _thing
globals().update(_moved.names())
globals().update(_moved.OWN)
for _name in _graphs.NAMES:
    globals()[_name] = vars(_graphs)[_name]
for _name in debugging.AT_TOP:
    globals()[_name] = vars(debugging)[_name]
for _name in _tf.version.__all__:
    globals()[_name] = getattr(_tf.version, _name)
py_func = _tf.functions.numpy_function
InteractiveSession = Session


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = " ",
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Split strings at a separator.

    Parameters
    ----------
    source : sequence of str or bytes
        The strings.
    sep, delimiter : str or bytes
        The separator, under its newer and older name.
    skip_empty : bool
        Whether to omit empty parts.
    result_type : "SparseTensor" or "RaggedTensor"
        The kind of the result.
    name : str, optional
        A label without effect.

    Returns
    -------
    SparseTensor or RaggedTensor
        A row of parts for each string.

    Examples
    --------
    >>> import penstock.compat.v1 as tf
    >>> tf.string_split(["a/b"], "/").values.numpy()
    array([b'a', b'b'], dtype=object)
    """
    cut = _tf.strings.split(source, delimiter if sep is None else sep)
    rows = [[part for part in row.tolist() if part or not skip_empty] for row in cut]
    return _moved.of_kind(result_type, _tf.ragged.constant(rows, "string", ragged_rank=1))


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Placeholder:
    """Return a value that is passed to `Session.run`."""
    return Placeholder(dtype, shape, None, name)


def placeholder_with_default(input: Any, shape: Any = None, name: str | None = None) -> Placeholder:
    """Return a value that may be passed to `Session.run`, and is `input` by default."""
    return Placeholder(_tf.convert_to_tensor(input).dtype, shape, input, name)  # type: ignore[attr-defined]


def global_variables_initializer(name: str | None = None) -> Lazy:
    """Return an operation without effect: there are no variables."""
    return Lazy(lambda run: None)


tables_initializer = local_variables_initializer = global_variables_initializer


def enable_eager_execution(*args: Any, **kwargs: Any) -> None:
    """Do nothing: functions run immediately, and datasets can be iterated."""


enable_v2_behavior = disable_eager_execution = disable_v2_behavior = enable_eager_execution
enable_tensor_equality = disable_tensor_equality = enable_v2_tensorshape = enable_eager_execution
disable_v2_tensorshape = enable_resource_variables = enable_eager_execution
disable_resource_variables = enable_eager_execution
__version__ = _tf.__version__

__all__ = [
    *sorted(_names | {*_moved.names(), *_moved.OWN, *_graphs.NAMES, *debugging.AT_TOP}),
    *_tf.version.__all__,
    "InteractiveSession",
    "Placeholder",
    "Session",
    "contrib",
    "data",
    "debugging",
    "enable_eager_execution",
    "gfile",
    "global_variables_initializer",
    "image",
    "logging",
    "nn",
    "placeholder",
    "python_io",
    "string_split",
    "train",
]

_listed = listing(globals())


def __dir__() -> list[str]:
    return [*_listed(), *(["app", "flags"] if importlib.util.find_spec("absl") else [])]


if not TYPE_CHECKING:  # otherwise type checkers would accept any name
    _absent = missing(__name__)

    def __getattr__(name: str) -> Any:
        """Return `app` and `flags` of the package absl, if it is installed."""
        if name in ("app", "flags") and importlib.util.find_spec("absl"):
            flags = importlib.import_module("absl.flags")
            run = importlib.import_module("absl.app").run
            return flags if name == "flags" else types.SimpleNamespace(flags=flags, run=run)
        return _absent(name)
