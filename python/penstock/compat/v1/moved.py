"""TensorFlow 1's names, and functions with other parameter names."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat import tf as _tf
from penstock.compat.advice import missing
from penstock.compat.graph import deferred
from penstock.compat.listing import listing
from penstock.compat.old_parameters import parameters_of
from penstock.compat.tensor import array, tensor

# By current module: names that tf itself had, either the same or another name.
_MOVED = {
    "debugging": {"verify_tensor_all_finite": "check_numerics", "is_numeric_tensor": ""},
    "io": {
        **dict.fromkeys(("decode_base64", "decode_compressed", "decode_csv"), ""),
        **dict.fromkeys(("decode_json_example", "decode_raw", "encode_base64"), ""),
        **dict.fromkeys(("FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature"), ""),
        **dict.fromkeys(("matching_files", "parse_example", "parse_single_example"), ""),
        **dict.fromkeys(("parse_single_sequence_example", "parse_tensor", "read_file"), ""),
        **dict.fromkeys(("serialize_tensor", "write_file"), ""),
        "FixedLengthFeature": "FixedLenFeature",
        "SparseFeature": "",
    },
    "linalg": {
        **dict.fromkeys(("cholesky", "cholesky_solve", "cross", "global_norm"), ""),
        **dict.fromkeys(("matrix_transpose", "qr", "svd", "trace"), ""),
        "diag": "tensor_diag",
        "diag_part": "tensor_diag_part",
        "matrix_band_part": "band_part",
        "matrix_determinant": "det",
        "matrix_diag": "diag",
        "matrix_diag_part": "diag_part",
        "matrix_inverse": "inv",
        "matrix_set_diag": "set_diag",
        "matrix_solve": "solve",
        "matrix_solve_ls": "lstsq",
        "matrix_triangular_solve": "triangular_solve",
        "self_adjoint_eig": "eigh",
        "self_adjoint_eigvals": "eigvalsh",
    },
    "math": {
        **dict.fromkeys(("accumulate_n", "angle", "betainc", "bincount", "ceil", "conj"), ""),
        **dict.fromkeys(("confusion_matrix", "count_nonzero", "cumprod", "digamma", "erf"), ""),
        **dict.fromkeys(("erfc", "expm1", "floordiv", "igamma", "igammac", "imag"), ""),
        **dict.fromkeys(("invert_permutation", "is_finite", "is_inf", "is_nan"), ""),
        **dict.fromkeys(("is_non_decreasing", "is_strictly_increasing", "lbeta"), ""),
        **dict.fromkeys(("lgamma", "log", "log1p", "logical_xor", "mod", "polygamma"), ""),
        **dict.fromkeys(("real", "reciprocal", "rint", "rsqrt", "segment_max"), ""),
        **dict.fromkeys(("segment_mean", "segment_min", "segment_prod", "segment_sum"), ""),
        **dict.fromkeys(("squared_difference", "unsorted_segment_max"), ""),
        **dict.fromkeys(("unsorted_segment_mean", "unsorted_segment_min"), ""),
        **dict.fromkeys(("unsorted_segment_prod", "unsorted_segment_sqrt_n"), ""),
        **dict.fromkeys(("unsorted_segment_sum", "zeta"), ""),
        "arg_max": "argmax",
        "arg_min": "argmin",
        "div": "floordiv",
        "div_no_nan": "divide_no_nan",
        "floor_div": "floordiv",
        **dict.fromkeys(("floormod", "log_sigmoid"), ""),
    },
    "errors": {"OpError": ""},
    "image": {"random_crop": ""},
    "random": {
        "multinomial": "categorical",
        "random_gamma": "gamma",
        "random_normal": "normal",
        "random_shuffle": "shuffle",
        "random_uniform": "uniform",
        "set_random_seed": "set_seed",
        "truncated_normal": "",
    },
    "signal": dict.fromkeys(("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d"), ""),
    "sparse": {"sparse_tensor_to_dense": "to_dense"},
    "strings": {
        **dict.fromkeys(("reduce_join", "regex_replace", "substr"), ""),
        "string_join": "join",
        "string_strip": "strip",
        "string_to_hash_bucket": "to_hash_bucket",
        "string_to_hash_bucket_fast": "to_hash_bucket_fast",
        "string_to_hash_bucket_strong": "to_hash_bucket_strong",
        "string_to_number": "to_number",
    },
}
# Functions with the same parameter order, but other names.
_AT_TOP = {
    "lin_space": "linspace",
    "reverse_v2": "reverse",
    "tensor_scatter_add": "tensor_scatter_nd_add",
    "tensor_scatter_sub": "tensor_scatter_nd_sub",
    "tensor_scatter_update": "tensor_scatter_nd_update",
    "where_v2": "where",
}


def old(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    """Return a function with TensorFlow 1's parameters, and lazy results for lazy arguments.

    Parameters
    ----------
    function : callable
        The current function.
    path : str
        Its name in TensorFlow 1, without ``tf.``.
    """
    parameters = parameters_of(path, function)
    if parameters is None:
        return deferred(function)  # type: ignore[no-any-return]
    arguments = parameters.arguments

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = arguments(path, args, kwargs)
        return function(*args, **kwargs)

    call.__signature__ = parameters.signature  # type: ignore[attr-defined]
    return deferred(call)  # type: ignore[no-any-return]


def names() -> dict[str, Any]:
    """Return the names that tf itself had, with their functions."""
    found = {name: _old_or_class(vars(_tf)[now], name) for name, now in _AT_TOP.items()}
    for module, moved in _MOVED.items():
        held = vars(vars(_tf)[module])
        found.update({name: _old_or_class(held[now or name], name) for name, now in moved.items()})
    for name in ("bfloat16", "complex64", "complex128", "double", "float", "int32", "int64"):
        found[f"to_{name}"] = _to(name)
    return found


def _old_or_class(thing: Any, path: str) -> Any:
    return thing if isinstance(thing, type) else old(thing, path)


def _to(name: str) -> Callable[..., Any]:
    def call(x: Any, name: str | None = None) -> Any:
        return vars(_tf)["cast"](x, dtype)

    dtype = _tf.as_dtype(name)
    call.__name__ = call.__qualname__ = f"to_{name}"
    call.__doc__ = f"Return values as {dtype.name}."
    return deferred(call)  # type: ignore[no-any-return]


def waiting(module: types.ModuleType, more: dict[str, Any]) -> types.ModuleType:
    """Return a copy of a current module with lazy versions of its functions, and more names."""
    made = types.ModuleType(module.__name__.replace(".tf.", ".v1."), module.__doc__)
    named = {name: getattr(module, name) for name in dir(module)} | more
    path = module.__name__.rpartition(".")[2]
    for name, thing in named.items():
        waits = callable(thing) and not isinstance(thing, type)
        made.__dict__[name] = old(thing, f"{path}.{name}") if waits else thing
    shown = [name for name in dir(made) if not name.startswith("_")]
    made.__dict__["__dir__"] = lambda: shown
    made.__dict__["__getattr__"] = missing(module.__name__)
    return made


@deferred
def random_poisson(
    lam: Any, shape: Any, dtype: Any = np.float32, seed: int | None = None, name: Any = None
) -> Any:
    """Draw numbers of shape `shape` from each Poisson distribution with rate `lam`."""
    return vars(_tf.random)["poisson"](shape, lam, dtype, seed)


@deferred
def setdiff1d(x: Any, y: Any, index_dtype: Any = np.int32, name: str | None = None) -> Any:
    """Return the values of `x` that are not in `y`, and their indices."""
    x, y = array(x), array(y)
    kept = np.flatnonzero(~np.isin(x, y))
    return tensor(x[kept]), tensor(kept, index_dtype)


@deferred
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Return the rows at indices, for each batch."""
    axes = np.ndim(array(indices)) - 1
    return vars(_tf)["gather"](params, indices, axis=axes, batch_dims=axes)


@deferred
def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Print `data` to standard error, and return `input_`."""
    vars(_tf)["print"](*([message] if message else []), *data)
    return tensor(input_)


def assign(
    ref: Any,
    value: Any,
    validate_shape: Any = None,
    use_locking: Any = None,
    name: str | None = None,
) -> Any:
    """Assign a value to a variable."""
    return ref.assign(value)


def assign_add(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Add to the value of a variable."""
    return ref.assign_add(value)


def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Subtract from the value of a variable."""
    return ref.assign_sub(value)


@deferred
def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Call one of two functions; without `strict`, unpack a list with a single result."""
    made = vars(_tf)["cond"](pred, true_fn or fn1, false_fn or fn2)
    return made[0] if not strict and isinstance(made, (list, tuple)) and len(made) == 1 else made


@deferred
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Call `body` repeatedly with its results, as long as `cond` is true for them.

    Without `return_same_structure`, a single variable is returned without its list.
    """
    made = vars(_tf)["while_loop"](cond, body, loop_vars, maximum_iterations=maximum_iterations)
    return made if return_same_structure or len(made) != 1 else made[0]


def _block_shape(block_size: Any, block_shape: Any) -> Any:
    given = block_size if block_shape is None else block_shape
    return [given] * 2 if np.ndim(given) == 0 else given


@deferred
def batch_to_space(
    input: Any,
    crops: Any,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Combine the images of a batch; see `penstock.compat.tf.batch_to_space`."""
    return vars(_tf)["batch_to_space"](input, _block_shape(block_size, block_shape), crops)


@deferred
def space_to_batch(
    input: Any,
    paddings: Any,
    block_size: Any = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Divide images into a batch; see `penstock.compat.tf.space_to_batch`."""
    return vars(_tf)["space_to_batch"](input, _block_shape(block_size, block_shape), paddings)


@deferred
def strings_split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Split strings at a separator into a sparse or ragged tensor.

    Raises
    ------
    ValueError
        If `result_type` is unknown.
    """
    given = array(source if input is None else input, "string")
    rows = vars(_tf.strings)["split"](given[None] if given.ndim == 0 else given, sep, maxsplit)
    return of_kind(result_type, rows)


def of_kind(result_type: str, rows: Any) -> Any:
    """Return a ragged tensor as the type `result_type`."""
    if result_type not in ("RaggedTensor", "SparseTensor"):
        raise ValueError(
            f"result_type must be 'RaggedTensor' or 'SparseTensor', got {result_type!r}"
        )
    return rows.to_sparse() if result_type == "SparseTensor" else rows


OWN = {
    each.__name__: each
    for each in (
        *(random_poisson, setdiff1d, batch_gather, Print, assign, assign_add, assign_sub),
        *(cond, while_loop, batch_to_space, space_to_batch),
    )
}

__dir__ = listing(globals())
