"""TensorFlow 1's parameters of functions, where their order or names differ from today's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

_REDUCED = "input_tensor axis keepdims name reduction_indices>axis keep_dims>keepdims"
_CHECK = "x y data> summarize message name"
_OF_RANK = "data> summarize> message name"
_POOL = "value>input ksize strides padding data_format name input"
_TO_BUCKET = "string_tensor>input num_buckets name input"
_BLOCKS = "input block_size name data_format"
_ONES = "tensor>input dtype name optimize>"
_SPARSE = "sp_input axis keepdims reduction_axes>axis keep_dims>keepdims"

# Modules whose functions have the same names as others, but other parameters.
_OTHER_TENSORS = ("image", "sparse")
# By the last part of a dotted name, except in those modules. `old>new` is a renamed parameter,
# `old>` one without effect.
_PARAMETERS = {
    "Copy": "oldpath>src newpath>dst overwrite",
    "DeleteRecursively": "dirname>path",
    "Exists": "filename>path",
    "Glob": "filename>pattern",
    "IsDirectory": "dirname>path",
    "ListDirectory": "dirname>path",
    "MakeDirs": "dirname>path",
    "MkDir": "dirname>path",
    "Remove": "filename>path",
    "Rename": "oldname>src newname>dst overwrite",
    "Stat": "filename>path",
    "Walk": "top in_order>topdown",
    **dict.fromkeys(
        (
            *("assert_equal", "assert_greater", "assert_greater_equal", "assert_less"),
            *("assert_less_equal", "assert_none_equal"),
        ),
        _CHECK,
    ),
    **dict.fromkeys(
        ("assert_negative", "assert_non_negative", "assert_non_positive", "assert_positive"),
        "x data> summarize message name",
    ),
    "assert_all_finite": "t>tensor msg>message name x>tensor message",
    "assert_near": "x y rtol atol data> summarize message name",
    "assert_rank": f"x rank {_OF_RANK}",
    "assert_rank_at_least": f"x rank {_OF_RANK}",
    "assert_rank_in": f"x ranks {_OF_RANK}",
    "assert_scalar": "tensor name message",
    "arg_max": "input dimension>axis output_type name",
    "arg_min": "input dimension>axis output_type name",
    "argmax": "input axis name dimension>axis output_type",
    "argmin": "input axis name dimension>axis output_type",
    "avg_pool": _POOL,
    "avg_pool2d": _POOL,
    "boolean_mask": "tensor mask name axis",
    "confusion_matrix": "labels predictions num_classes dtype name weights",
    "constant": "value dtype shape name verify_shape>",
    "conv2d": "input filter>filters strides padding use_cudnn_on_gpu> data_format dilations name"
    " filters",
    "convert_to_tensor": "value dtype name preferred_dtype>dtype_hint dtype_hint",
    "count_nonzero": "input_tensor>input axis keepdims dtype name reduction_indices>axis"
    " keep_dims>keepdims input",
    "decode_csv": "records record_defaults field_delim use_quote_delim name na_value select_cols",
    "decode_raw": "input_bytes out_type little_endian name bytes>input_bytes",
    "depth_to_space": _BLOCKS,
    "depthwise_conv2d": "input filter strides padding rate>dilations name data_format dilations",
    "device": "device_name_or_function>device_name",
    "embedding_lookup": "params ids partition_strategy> name validate_indices> max_norm",
    "expand_dims": "input axis name dim>axis",
    "gather": "params indices validate_indices name axis batch_dims",
    "gather_nd": "params indices name batch_dims bad_indices_policy",
    "in_top_k": "predictions targets k name",
    "log_softmax": "logits axis name dim>axis",
    "max_pool": _POOL,
    "moments": "x axes shift name keep_dims>keepdims keepdims",
    "multinomial": "logits num_samples seed name output_dtype>dtype",
    "norm": "tensor ord axis keepdims name keep_dims>keepdims",
    "ones_like": _ONES,
    "pad": "tensor paddings mode name constant_values",
    "parse_example": "serialized features name example_names",
    "parse_single_example": "serialized features name example_names",
    **dict.fromkeys(
        (
            *("reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean"),
            *("reduce_min", "reduce_prod", "reduce_sum"),
        ),
        _REDUCED,
    ),
    "reduce_join": "inputs axis keep_dims>keepdims separator name reduction_indices>axis keepdims",
    "reverse_sequence": "input seq_lengths seq_axis batch_axis name seq_dim>seq_axis"
    " batch_dim>batch_axis",
    "shape": "input name out_type",
    "size": "input name out_type",
    "softmax": "logits axis name dim>axis",
    "softmax_cross_entropy_with_logits": "labels logits dim>axis name axis",
    "space_to_depth": _BLOCKS,
    "sparse.add": "a b threshold thresh>threshold",
    "sparse.concat": "axis sp_inputs name expand_nonconcat_dim>expand_nonconcat_dims"
    " concat_dim>axis expand_nonconcat_dims",
    "sparse.reduce_max": _SPARSE,
    "sparse.reduce_sum": _SPARSE,
    "sparse.split": "keyword_required> sp_input num_split axis name split_dim>axis",
    "squeeze": "input axis name squeeze_dims>axis",
    "string_to_hash_bucket": _TO_BUCKET,
    "string_to_number": "string_tensor>input out_type name input",
    "length": "input name unit",
    "to_hash_bucket": _TO_BUCKET,
    "to_number": "string_tensor>input out_type name input",
    "substr": "input pos len name unit",
    "to_graph": "entity recursive arg_values> arg_types> experimental_optional_features",
    "transpose": "a perm name conjugate",
    "tuple": "tensors name control_inputs",
    "verify_tensor_all_finite": "t>tensor msg>message name x>tensor message",
    "weighted_cross_entropy_with_logits": "labels logits pos_weight name targets>labels",
    "zeros_like": _ONES,
}


class Parameters(NamedTuple):
    """The parameters of a function in TensorFlow 1.

    Attributes
    ----------
    names : tuple of str
        The parameters in TensorFlow 1's order.
    today : dict
        The current name of each; "" for a parameter without effect.
    same : int
        The number of leading parameters that are the same today.
    signature : Signature
        The function's signature in TensorFlow 1.
    """

    names: tuple[str, ...]
    today: dict[str, str]
    same: int
    signature: inspect.Signature

    def arguments(
        self, function: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Convert the arguments of a call to those of the current function.

        Raises
        ------
        TypeError
            If there are too many arguments, or one is passed twice.
        """
        if len(args) > len(self.names):
            raise TypeError(
                f"{function}: expected at most {len(self.names)} positional arguments, got "
                f"{len(args)}"
            )
        given = [*zip(self.names[self.same :], args[self.same :], strict=False), *kwargs.items()]
        taken = dict.fromkeys(self.names[: min(self.same, len(args))])
        named: dict[str, Any] = {}
        for name, value in given:
            today = self.today.get(name, name)
            if not today or value is None:
                continue
            if today in taken or today in named:
                raise TypeError(f"{function}: got several values for argument {name!r}")
            named[today] = value
        return args[: self.same], named


def parameters_of(path: str, function: Callable[..., Any]) -> Parameters | None:
    """Return the parameters of a function in TensorFlow 1; None if they are the same today.

    Parameters
    ----------
    path : str
        Name of the function in TensorFlow 1, without ``tf.``.
    function : callable
        The current function.
    """
    module, _, last = path.rpartition(".")
    found = _PARAMETERS.get(path if module in _OTHER_TENSORS else last)
    if found is None:
        return None
    pairs = [each.partition(">") for each in found.split()]
    names = tuple(name for name, _, _ in pairs)
    today = {name: now if arrow else name for name, arrow, now in pairs}
    own = inspect.signature(function).parameters
    order = [*own]
    same = 0
    while same < min(len(names), len(order)) and names[same] == order[same]:
        same += 1
    shown: list[inspect.Parameter] = []
    optional = False
    named = [*today.values()]
    for name in names:
        default = own[today[name]].default if today[name] in own else None
        if default is _REQUIRED and (optional or named.count(today[name]) > 1):
            default = None
        optional = default is not _REQUIRED
        shown.append(inspect.Parameter(name, _BY_POSITION_OR_NAME, default=default))
    return Parameters(names, today, same, inspect.Signature(shown))


_REQUIRED = inspect.Parameter.empty
_BY_POSITION_OR_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD
