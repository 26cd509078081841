"""Functions of tf for ragged and sparse tensors, corresponding to those for arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from penstock.compat.composite import Composite, kind_among
from penstock.compat.ragged import RaggedTensor, arrays, reduce
from penstock.compat.ragged.broadcast import elementwise, map_flat_values
from penstock.compat.sparse.tensor import SparseTensor, map_values
from penstock.compat.tensor import tensor

Handler = Callable[..., Any]
"""A handler takes the function for arrays, then the function's arguments."""

# Element-wise functions. Several ragged arguments must have the same rows.
_OF_ONE = """
abs acos acosh angle as_string asin asinh atan atanh bitcast cast ceil check_numerics
clip_by_value conj cos cosh decode_base64 decode_compressed decode_raw digamma encode_base64 erf
erfc erfcinv erfinv exp expm1 floor gelu imag is_finite is_inf is_nan leaky_relu lgamma log log1p
log_sigmoid logical_not ndtri negative ones_like real reciprocal reciprocal_no_nan relu relu6 rint
round rsqrt saturate_cast sigmoid sign silu sin sinh softplus softsign sqrt square swish tan tanh
zeros_like
"""
_OF_ONE_STRING = """
as_string bytes_split length lower regex_full_match regex_replace split strip substr to_hash_bucket
to_hash_bucket_fast to_hash_bucket_strong to_number unicode_decode unicode_script unicode_split
unicode_transcode upper
"""
# Binary element-wise functions. Operands are broadcast to the same rows.
_OF_TWO = """
add atan2 bitwise_and bitwise_or bitwise_xor divide divide_no_nan equal floordiv floormod greater
greater_equal less less_equal logical_and logical_or logical_xor maximum minimum mod multiply
multiply_no_nan not_equal pow squared_difference subtract truediv xdivy xlog1py xlogy
"""
_OF_ARRAYS = """
add_n boolean_mask concat expand_dims gather identity is_tensor map_fn one_hot rank reshape reverse
shape size split squeeze stack tile where
"""
_OF_AXES = "count_nonzero cumsum reduce_mean reduce_std reduce_variance"
_REDUCED = "reduce_all reduce_any reduce_max reduce_min reduce_prod reduce_sum"

_SPARSE: dict[str, Handler] = {
    **dict.fromkeys(_OF_ONE.split(), map_values),
    "identity": lambda function, value, name=None: value,
    "is_tensor": lambda function, value: True,
    "rank": lambda function, value, name=None: tensor(len(value.shape), "int32"),
    "shape": lambda function, value, out_type="int32", name=None: tensor(
        value.dense_shape, out_type
    ),
}

# Handlers for ragged and sparse tensors, in the modules of arrays and of strings.
ARRAYS: dict[type[Composite], Mapping[str, Handler]] = {
    RaggedTensor: {
        **dict.fromkeys(_OF_ONE.split(), map_flat_values),
        **dict.fromkeys(_OF_TWO.split(), elementwise),
        **{name: getattr(arrays, name) for name in _OF_ARRAYS.split()},
        **{name: getattr(reduce, name) for name in _OF_AXES.split()},
        **{name: reduce.reducer(name) for name in _REDUCED.split()},
    },
    SparseTensor: _SPARSE,
}
STRINGS: dict[type[Composite], Mapping[str, Handler]] = {
    RaggedTensor: {
        **dict.fromkeys(_OF_ONE_STRING.split(), map_flat_values),
        "join": arrays.join,
        "reduce_join": reduce.reduce_join,
    },
    SparseTensor: {},
}

_DISPATCHING: dict[Any, Any] = {}  # one wrapper per function, whatever its names


def install(
    namespace: dict[str, Any], handlers: Mapping[type[Composite], Mapping[str, Handler]]
) -> None:
    """Extend the functions of a module to ragged and sparse tensors.

    Parameters
    ----------
    namespace : dict
        The variables of the module.
    handlers : mapping
        For each tensor class, the handlers by function name.
    """
    for name in {name for each in handlers.values() for name in each} & namespace.keys():
        function = namespace[name]
        if function not in _DISPATCHING:
            _DISPATCHING[function] = _dispatching(
                function, {kind: each[name] for kind, each in handlers.items() if name in each}
            )
        namespace[name] = _DISPATCHING[function]


def _dispatching(
    function: Callable[..., Any], by_kind: dict[type[Composite] | None, Handler]
) -> Any:
    if hasattr(function, "dispatching"):  # avoids the time of another call
        made = function.dispatching(by_kind)
        _DISPATCHING[made] = made
        return made

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if Composite.made and (handler := by_kind.get(kind_among(args, kwargs))):
            return handler(function, *args, **kwargs)
        return function(*args, **kwargs)

    _DISPATCHING[call] = call
    return call


def over_values(method: Callable[..., Any]) -> Callable[..., Any]:
    """Extend a unary method to ragged and sparse tensors, by applying it to their values."""

    @functools.wraps(method)
    def call(self: Any, keys: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(method(self, keys.flat_values, *args, **kwargs))
        if isinstance(keys, SparseTensor):
            return keys.with_values(method(self, keys.values, *args, **kwargs))
        return method(self, keys, *args, **kwargs)

    return call
