"""The checks of public functions' parameters: by name, with few exceptions by function."""

from __future__ import annotations

from penstock.arguments import checks
from penstock.arguments.checks import Check, whole

_count = whole(1)
_size = whole(0)
_bytes = whole(0, also=" bytes")
_any = whole()

_TRUTHS = """
    allow_missing antialias chroma_downsampling crop_to_aspect_ratio deterministic drop_final_batch
    drop_last drop_remainder evaluation expand_animations fancy_upscaling follow_links header
    ignore_errors in_order keepdims little_endian log_warning no_padding optimize_size pad
    pad_to_aspect_ratio pad_to_bucket_boundary persistent_workers pin_memory preserve_aspect_ratio
    progressive ragged replace_global rerandomize_each_iteration reshuffle_each_iteration saturate
    scientific sharded shortest shuffle sloppy sloppy_ordering stateful stop_on_empty_dataset strict
    synchronous try_recover_truncated use_quote_delim use_unbounded_threadpool validate
    validate_indices wait
"""
_FUNCTIONS = """
    class_func collate_fn element_length_func finalize_func func generator init_func key_func
    map_func predicate reader_func reduce_func scan_func shard_func transformation_func
    window_size_func worker_init_fn
"""
_COUNTS = """
    batch_size block_length buffer_output_elements max_pixels max_record_bytes num_buckets
    num_rows_for_inference num_shards open_packs record_bytes shuffle_buffer_size size stride
    shift prefetch_factor length shards row_group_size
"""

RESIZE_METHODS = (
    *("bilinear", "nearest", "bicubic", "area"),
    *("lanczos3", "lanczos5", "gaussian", "mitchellcubic"),
)
_RESIZING = ("random_crop", "random_resized_crop", "resize", "resize_with_pad")

# By parameter name.
_KINDS: dict[str, Check] = {
    **dict.fromkeys(_TRUTHS.split(), checks.truth),
    **dict.fromkeys(_FUNCTIONS.split(), checks.function),
    **dict.fromkeys(_COUNTS.split(), _count),
    "max_errors": checks.or_none(_count),
    "max_retries": checks.or_none(whole(0, 2**31 - 1)),
    "pin_memory_device": checks.text,
    "replacement_char": whole(0, 0x10FFFF),
    "example_name": checks.texts,
    "example_names": checks.texts,
    "axis": checks.wholes,
    "buffer_size": _count,
    "cardinality": _any,
    "expected_cardinality": _any,
    "precision": _any,
    "width": _any,
    "quality": _any,
    "channels": _any,
    "x_density": _any,
    "y_density": _any,
    "compression_level": _any,
    "batch_dims": _any,
    "acceptable_fraction": checks.number,
    "lower": checks.real,
    "upper": checks.real,
    "compression_type": checks.text,
    "label_key": checks.text,
    "label_name": checks.text,
    "reader": checks.function,
    "reader_args": checks.sequence,
    "column_defaults": checks.sequence,
    "column_names": checks.sequence,
    "select_columns": checks.sequence,
    "values": checks.sequence,
    "multiples": checks.wholes,
    "perm": checks.wholes,
    "progress": checks.or_none(checks.truth),
    "indexed": checks.truth_or_path,
    "index_dir": checks.or_none(checks.path),
    "cycle_length": whole(1, checks.MOST_THREADS),
    "num_workers": whole(0, checks.MOST_THREADS),
    "header_bytes": _size,
    "footer_bytes": _size,
    "index": _any,
    "prefetch_input_elements": _size,
    "prefetch_buffer_size": checks.ahead,
    "count": _any,
    "num_epochs": _any,
    "seed": _any,
    "shuffle_seed": _any,
    "start": _any,
    "step": _any,
    "num_parallel_calls": checks.threads,
    "num_parallel_batches": checks.threads,
    "num_parallel_reads": checks.threads,
    "parser_num_threads": checks.threads,
    "reader_num_threads": checks.threads,
    "name": checks.text,
    "encoding": checks.text,
    "field_delim": checks.character,
    "input_encoding": checks.text,
    "mask_key": checks.text,
    "mode": checks.text,
    "na_value": checks.text,
    "query": checks.text,
    "pattern": checks.text_or_bytes,
    "driver_name": checks.text,
    "color_mode": checks.one_of("grayscale", "rgb", "rgba"),
    "label_mode": checks.or_none(checks.one_of("int", "categorical", "binary")),
    "subset": checks.or_none(checks.one_of("training", "validation", "both")),
    "class_names": checks.or_none(checks.names),
    "validation_split": checks.or_none(checks.real),
    "image_size": checks.or_none(checks.wholes),
    "dtype": checks.dtype,
    "out_type": checks.dtype,
    "output_type": checks.dtype,
    "row_splits_dtype": checks.dtype,
    "Tout": checks.nested_dtypes,
    "output_types": checks.nested_dtypes,
    "element_spec": checks.specification,
    "structures": checks.or_none(checks.sequence),
    "output_signature": checks.specification,
    "signature": checks.specification,
    "features": checks.mapping,
    "columns": checks.or_none(checks.sequence),
    "crop_shape": checks.or_none(checks.size_or_sizes),
    "crop_stride": checks.or_none(checks.size_or_sizes),
    "null_values": checks.or_none(checks.mapping),
    "context": checks.mapping,
    "context_features": checks.mapping,
    "feature_lists": checks.mapping,
    "sequence_features": checks.mapping,
    "bucket_boundaries": checks.sequence,
    "bucket_batch_sizes": checks.sequence,
    "datasets": checks.sequence,
    "exclude_cols": checks.sequence,
    "inp": checks.sequence,
    "record_defaults": checks.sequence,
    "select_cols": checks.sequence,
    "choice_dataset": checks.dataset,
    "dataset": checks.dataset,
    "storage_options": checks.or_none(checks.mapping),
    "seconds": checks.seconds,
    "timeout": checks.seconds,
    "executor": checks.or_none(checks.one_of("thread", "process", "auto")),
    "worker_method": checks.one_of("thread", "process"),
    "worker_timeout": checks.or_none(checks.seconds),
    "worker_init": checks.or_none(checks.function),
    "worker_teardown": checks.or_none(checks.function),
}

# Exceptions, by function and parameter name.
_OTHERWISE: dict[tuple[str, str], Check | None] = {
    ("DataLoader", "num_workers"): None,
    ("distribute", "engine"): checks.one_of("ray", "local"),
    ("distribute", "num_workers"): whole(1, checks.MOST_THREADS),
    ("distribute", "split"): checks.word_or("auto", _count),
    ("distribute", "lease_timeout"): checks.seconds,
    ("distribute", "deterministic"): checks.truth,
    ("distribute", "shared"): checks.truth,
    ("distribute", "num_consumers"): checks.or_none(_count),
    ("distribute", "consumer_index"): checks.or_none(whole(0)),
    ("DataLoader", "batch_size"): None,
    ("DataLoader", "dataset"): None,
    ("DataLoader", "generator"): None,
    ("DataLoader", "shuffle"): checks.truth,
    ("TFRecordDataset", "buffer_size"): _bytes,
    ("TextLineDataset", "buffer_size"): _bytes,
    ("FixedLengthRecordDataset", "buffer_size"): _bytes,
    ("CsvDataset", "buffer_size"): _bytes,
    ("JSONLinesDataset", "buffer_size"): _bytes,
    ("ParquetDataset", "batch_size"): checks.or_none(_count),
    ("ArrowDataset", "batch_size"): checks.or_none(_count),
    ("TarDataset", "buffer_size"): _bytes,
    ("cache", "filename"): None,
    ("from_generator", "generator"): None,
    ("gather_exact", "values"): None,
    ("from_generator", "executor"): checks.or_none(checks.one_of("thread", "process")),
    ("prefetch", "executor"): checks.one_of("thread", "process"),
    ("set_seed", "seed"): None,
    ("empty", "element_spec"): checks.or_none(checks.specification),
    ("decode_csv", "record_defaults"): checks.sequence,
    ("default_collate", "batch"): checks.sequence,
    ("list_files", "include_directories"): checks.truth,
    ("show", "n"): _size,
    ("shuffle", "buffer_size"): checks.count_or_all,
    ("prefetch", "buffer_size"): checks.or_none(checks.ahead),
    ("prefetch_to_device", "buffer_size"): checks.ahead,
    ("rebatch", "batch_size"): checks.wholes,
    ("zip", "datasets"): checks.datasets,
    ("cardinality", "dataset"): checks.dataset,
    ("decode_jpeg", "ratio"): checks.word_or("auto", _any),
    ("decode_and_crop_jpeg", "ratio"): checks.word_or("auto", _any),
    ("decode_image", "ratio"): checks.word_or("auto", whole(1, 1)),
    ("encode_png", "compression"): _any,
    ("from_generator", "args"): checks.sequence,
    ("from_image_folder", "interpolation"): checks.one_of(*RESIZE_METHODS),
    ("load", "compression"): checks.text,
    ("save", "compression"): checks.text,
    ("snapshot", "compression"): checks.or_none(checks.text),
    ("index", "format"): checks.or_none(
        checks.one_of("tfrecord", "text", "json_lines", "csv", "tar")
    ),
    ("index", "num_parallel_reads"): checks.or_none(_count),
    **{
        (f"write_{form}", "compression"): checks.or_none(checks.text)
        for form in ("tfrecords", "tar", "jsonl", "parquet")
    },
    ("cfunction", "signature"): None,
    ("matching_files", "pattern"): None,
    ("read_file", "filename"): None,
    ("shuffle", "reshuffle_each_iteration"): checks.or_none(checks.truth),
    ("to_jax", "pad"): None,
    ("to_jax", "prefetch"): checks.word_or("auto", _size),
    ("to_jax", "global_batch"): checks.or_none(_count),
    ("to_keras", "prefetch"): checks.ahead,
    ("to_torch", "prefetch"): checks.ahead,
    ("to_torch_iterable", "prefetch"): checks.ahead,
    **{
        (shards, "remainder"): checks.one_of("drop", "pad", "repeat")
        for shards in ("shard_evenly", "shard_for_jax", "shard_for_torch")
    },
    **{
        (shards, "by"): checks.one_of("elements", "files")
        for shards in ("shard_evenly", "shard_for_jax", "shard_for_torch")
    },
    ("from_tensor_slices", "tensors"): checks.anything,
    ("from_tensors", "tensors"): checks.anything,
    ("make_csv_dataset", "num_rows_for_inference"): checks.or_none(_count),
    ("parallel_interleave", "sloppy"): checks.or_none(checks.truth),
    ("random_brightness", "max_delta"): checks.number,
    ("random_hue", "max_delta"): checks.number,
    ("reshape", "shape"): checks.wholes,
    ("ones", "shape"): checks.size_or_sizes,
    ("zeros", "shape"): checks.size_or_sizes,
    ("normal", "shape"): checks.wholes,
    ("uniform", "shape"): checks.wholes,
    ("fill", "dims"): checks.wholes,
    ("strings.join", "inputs"): checks.sequence,
    ("strings.as_string", "fill"): checks.text,
    ("pack", "length"): None,
    ("TensorSpec", "shape"): None,
    ("parse_example_dataset", "features"): checks.or_none(checks.mapping),
    ("parse_example_dataset", "num_parallel_calls"): checks.or_none(checks.threads),
    ("make_csv_dataset", "column_names"): checks.or_none(checks.names),
    ("key", "seed"): checks.whole_of_any_size,
    ("counter", "start"): None,
    ("counter", "step"): None,
    ("profile", "step"): None,  # a function, or seconds
    ("Counter", "start"): None,
    ("Counter", "step"): None,
    ("make_csv_dataset", "encoding"): checks.encoding,
    ("FixedLenFeature", "shape"): checks.shape,
    ("FixedLenSequenceFeature", "shape"): checks.shape,
    ("RaggedFeature", "partitions"): checks.sequence,
    ("RaggedFeature", "value_key"): checks.text_or_bytes,
    ("TFRecordWriter", "filename"): checks.path,
    ("write_file", "filename"): checks.path,
    **{(image, "size"): None for image in _RESIZING},
    ("make_csv_dataset", "num_parallel_reads"): checks.threads,
}

_NUMBERS = """
    a clip_value_max clip_value_min contrast_factor delta gain gamma image images input_tensor
    saturation_factor boxes box_indices central_fraction crop_size crop_window extrapolation_value
    initial_dist k offset_height offset_width paddings size target_dist target_height target_width
    weights
"""
_ARRAYS = """
    condition constant_values contents depth indices input input_bytes inputs len maxval mean minval
    off_value on_value params pos records rewrite sep separator serialized std stddev t tensor
    tensors value x y
"""

# Applied only after a function has failed: anything that can be converted to an array.
_DATA: dict[str, Check] = {
    **dict.fromkeys(_NUMBERS.split(), checks.numbers),
    **dict.fromkeys(_ARRAYS.split(), checks.array),
    "file_pattern": checks.paths,
    "filename": checks.paths,
    "padding_values": checks.nested_arrays,
    "ratio": checks.numbers,
    "scale": checks.numbers,
}


def check_of(stage: str, name: str) -> Check | None:
    """Return the check of a function's parameter, or None if any value may be valid."""
    if (stage, name) in _OTHERWISE:
        return _OTHERWISE[stage, name]
    return _KINDS.get(name)


def data_of(stage: str, name: str) -> Check | None:
    """Return the check of an array parameter, which is applied after the function has failed."""
    return None if _OTHERWISE.get((stage, name)) else _DATA.get(name)
