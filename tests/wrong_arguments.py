"""One valid call of every public callable, by keyword, for tests that make one argument wrong."""

import importlib.util
import inspect
import tarfile
from typing import NamedTuple

import numpy as np

import penstock as ps
from of_contracts import call_of, contract_of
from penstock import _core

# Names that need libraries other than NumPy: without them they have no call.
LIBRARIES = {
    "ArrowDataset": ("pyarrow",),
    "ArrayRecordDataset": ("array_record",),
    "HDF5Dataset": ("h5py",),
    "ParquetDataset": ("pyarrow",),
    "Dataset.from_arrow": ("pyarrow",),
    "Dataset.from_pandas": ("pandas",),
    "Dataset.from_polars": ("polars",),
    "Dataset.from_huggingface": ("datasets",),
    "Dataset.write_parquet": ("pyarrow",),
}
LACKING = {
    name for name, needs in LIBRARIES.items() if not all(map(importlib.util.find_spec, needs))
}
RANGE = ps.Dataset.range(4)
ROWS = ps.Dataset.from_tensor_slices(np.ones((4, 3), np.float32))
LOADER = ps.DataLoader([1, 2, 3])
# Objects for the calls of methods.
MAKES = {
    ps.Iterator: lambda: iter(RANGE),
    ps.DataLoader: lambda: ps.DataLoader([1, 2, 3]),
    ps.Options: ps.Options,
}
STATE = iter(ps.Dataset.range(3)).get_state()
IMAGE = np.full((6, 8, 3), 100, np.uint8)
FLOATS = np.full((6, 8, 3), 0.5, np.float32)
NUMBERS = np.arange(6.0).reshape(2, 3)
JPEG = ps.io.encode_jpeg(IMAGE)
PNG = ps.io.encode_png(IMAGE)
EXAMPLE = ps.io.make_example({"a": np.array([1, 2])})
SEQUENCE = ps.io.make_sequence_example({"a": np.array([1])}, {"b": [np.array([1]), np.array([2])]})
FEATURES = {"a": ps.io.FixedLenFeature((2,), np.int64)}
CONTEXT = {"a": ps.io.FixedLenFeature((1,), np.int64)}
LISTS = {"b": ps.io.FixedLenSequenceFeature((1,), np.int64)}


class Point(NamedTuple):
    """A namedtuple as element structure."""

    x: int


def same(x):
    return x


def zero(x):
    return np.int64(0)


def nothing():
    return None


def yes(x):
    return True


def add(a, b):
    return a + b


def single(x):
    return ps.Dataset.from_tensors(x)


def window(key, ds):
    return ds.batch(2)


def one(x):
    return 1


def keep(state, x):
    return state, x


def shard_zero(x):
    return np.int64(0)


def reader(datasets):
    return datasets.flat_map(same)


def values():
    return iter(range(3))


def values_up_to(n):
    return iter(range(n))


class Rows:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return np.float32(i)


def make_files(folder):
    """Write the input files of the calls."""
    (folder / "lines.txt").write_bytes(b"ab\ncd\n")
    (folder / "rows.csv").write_text("x,y\n1,2\n3,4\n")
    (folder / "numbers.csv").write_text("1\n2\n")
    (folder / "rows.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
    with ps.io.TFRecordWriter(folder / "examples.tfrecord") as writer:
        for _ in range(3):
            writer.write(EXAMPLE)
    RANGE.save(folder / "saved")
    np.savez(folder / "rows.npz", x=np.arange(3))
    for name in ("0.png", "1.png"):
        ps.io.write_file(folder / "images" / "a" / name, PNG)
    with tarfile.open(folder / "samples.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("0.txt"))
    indexed = ("lines.txt", "examples.tfrecord", "numbers.csv", "samples.tar", "rows.jsonl")
    ps.index([folder / name for name in indexed])
    import sqlite3

    with sqlite3.connect(folder / "rows.db") as base:
        base.execute("create table t (x integer)")
        base.execute("insert into t values (1)")
    base.close()


def dataset_calls(folder):
    """Return the arguments of sources and of a dataset's methods; `on` is the dataset."""
    lines, records, archive = (
        folder / name for name in ("lines.txt", "examples.tfrecord", "samples.tar")
    )
    errors = {"on_error": "skip", "max_errors": 3}
    bucket = {
        "element_length_func": one,
        "bucket_boundaries": [2, 4],
        "bucket_batch_sizes": [2, 2, 2],
    }
    padded = {"padded_shapes": [3], "padding_values": np.float32(0)}
    rows = {"on": ROWS}
    written = {"shards": 2, "compression": "", "progress": False}
    rows_of_fields = ps.Dataset.from_tensor_slices({"txt": ["a", "b"]})
    records_of_bytes = ps.Dataset.from_tensor_slices([b"a", b"b"])
    files = {"compression_type": "", "buffer_size": 100, "num_parallel_reads": 1, **errors}
    limited = {**files, "max_record_bytes": 10**6}
    return {
        "apply": {"transformation_func": same},
        "batch": {"batch_size": 2, "drop_remainder": True, "num_parallel_calls": 1}
        | {"deterministic": True},
        "bucket_by_sequence_length": {**rows, **bucket, **padded}
        | {"pad_to_bucket_boundary": False, "no_padding": False, "drop_remainder": False},
        "cache": {"filename": folder / "cache", "structures": [Point]},
        "choose_from_datasets": {"datasets": [RANGE, RANGE], "stop_on_empty_dataset": True}
        | {"choice_dataset": ps.Dataset.range(2)},
        "concatenate": {"dataset": RANGE},
        "counter": {"start": 1, "step": 1, "dtype": np.int64},
        "enumerate": {"start": 1},
        "filter": {"predicate": yes, "num_parallel_calls": 1, **errors, "max_retries": 1}
        | {"deterministic": True, "executor": "process", "worker_timeout": 60.0}
        | {"worker_init": nothing, "worker_teardown": nothing},
        "flat_map": {"map_func": single, "output_signature": ps.TensorSpec((), np.int64), **errors},
        "from_generator": {"generator": values_up_to, "args": (3,), **errors}
        | {"output_types": np.int64, "output_shapes": (), "executor": "process"}
        | {"worker_init": nothing, "worker_teardown": nothing},
        "from_generator (signature)": {"generator": values}
        | {"output_signature": ps.TensorSpec((), np.int64)},
        "from_indexable": {"obj": Rows(), "num_parallel_calls": 1, "deterministic": True}
        | {"output_signature": ps.TensorSpec((), np.float32)},
        "from_tensor_slices": {"tensors": [1, 2]},
        "from_tensors": {"tensors": [1, 2]},
        "get_single_element": {"on": RANGE.take(1)},
        "global_shuffle": {"seed": 1, "reshuffle_each_iteration": True},
        "group_by_window": {"key_func": zero, "reduce_func": window, "window_size": 2},
        "group_by_window (function)": {"key_func": zero, "reduce_func": window}
        | {"window_size_func": one},
        "ignore_errors": {"log_warning": True, "max_errors": 3},
        "from_image_folder": {"path": folder / "images", "image_size": 2, "labels": "inferred"}
        | {"label_mode": "int", "class_names": ["a"], "color_mode": "rgb", "batch_size": 1}
        | {"shuffle": True, "seed": 1, "validation_split": 0.5, "subset": "both"}
        | {"interpolation": "bilinear", "crop_to_aspect_ratio": True, "follow_links": False}
        | errors,
        "from_image_folder (padded)": {"path": folder / "images", "pad_to_aspect_ratio": True},
        "interleave": {"map_func": single, "cycle_length": 2, "block_length": 1, **errors}
        | {"num_parallel_calls": 1, "deterministic": True, "buffer_output_elements": 1}
        | {"prefetch_input_elements": 1, "output_signature": ps.TensorSpec((), np.int64)},
        "list_files": {
            "file_pattern": str(lines),
            "shuffle": True,
            "seed": 1,
            "include_directories": True,
        },
        "load": {"path": folder / "saved", "element_spec": ps.TensorSpec((), np.int64)}
        | {"compression": None, "reader_func": reader, "wait": False}
        | {"structures": [Point], "max_record_bytes": 1000},
        "map": {"map_func": same, "num_parallel_calls": 1, "deterministic": True, **errors}
        | {"executor": "process", "worker_timeout": 60.0, "max_retries": 1}
        | {"worker_init": nothing, "worker_teardown": nothing}
        | {"synchronous": None, "use_unbounded_threadpool": False}
        | {"output_signature": ps.TensorSpec((), np.int64)},
        "pack": {**rows, "length": 3, "strategy": "first_fit", "open_packs": 1, "too_long": "error"}
        | {"padding_values": np.float32(0), "drop_remainder": False},
        "padded_batch": {**rows, "batch_size": 2, "drop_remainder": True, **padded},
        "prefetch": {"buffer_size": 2},
        "ragged_batch": {**rows, "batch_size": 2, "drop_remainder": True}
        | {"row_splits_dtype": np.int64},
        "random": {"seed": 1, "rerandomize_each_iteration": True},
        "range": {"args": [3], "output_type": np.int64},
        "rebatch": {**rows, "batch_size": 2, "drop_remainder": True},
        "reduce": {"initial_state": np.int64(0), "reduce_func": add},
        "rejection_resample": {"class_func": zero, "target_dist": [1.0], "initial_dist": [1.0]}
        | {"seed": 1},
        "repeat": {"count": 2},
        "sample_from_datasets": {"datasets": [RANGE, RANGE], "weights": [0.5, 0.5], "seed": 1}
        | {"stop_on_empty_dataset": True, "rerandomize_each_iteration": True},
        "distribute": {"engine": "local", "num_workers": 1, "split": 2}
        | {"deterministic": True, "lease_timeout": 9.0}
        | {"shared": True, "name": "job", "num_consumers": 1, "consumer_index": 0},
        "save": {
            "path": folder / "written",
            "compression": None,
            "shard_func": shard_zero,
            "progress": False,
        }
        | {"checkpoint_args": None},
        "scan": {"initial_state": np.int64(0), "scan_func": keep},
        "select": {"indices": [1, 0]},
        "select (function)": {"indices": same, "count": 2},
        "shard": {"num_shards": 2, "index": 1},
        "shard_evenly": {"num_shards": 2, "index": 1, "remainder": "pad", "seed": 1}
        | {"mask_key": "valid", "by": "elements", "on": RANGE.map(lambda x: {"x": x})}
        | {"evaluation": False},
        "shuffle": {"buffer_size": 2, "seed": 1, "reshuffle_each_iteration": True},
        "skip": {"count": 1},
        "snapshot": {"path": folder / "snapshot", "compression": "AUTO", "reader_func": reader}
        | {"shard_func": shard_zero, "structures": [Point], "max_record_bytes": 1000},
        "show": {"n": 1},
        "take": {"count": 1},
        "take_while": {"predicate": yes},
        "window": {"size": 2, "shift": 1, "stride": 1, "drop_remainder": True},
        "with_options": {"options": ps.Options()},
        "write_jsonl": {**written, "path": folder / "written.jsonl"},
        "write_tar": {**written, "path": folder / "written.tar", "on": rows_of_fields},
        "write_tfrecords": {**written, "path": folder / "written.tfrecord", "on": records_of_bytes},
        "zip": {"args": [RANGE, RANGE]},
        "zip (datasets)": {"datasets": (RANGE, RANGE)},
        "NumpyDataset": {"filenames": [str(folder / "rows.npz")], "arrays": "x"},
        "TarDataset": {"filenames": [str(archive)], "fields": "txt", "decode": True, **limited},
        "TarDataset (indexed)": {"filenames": [str(archive)], "indexed": True},
        "TextLineDataset": {"filenames": [str(lines)], "num_parallel_calls": 1, **limited},
        "TextLineDataset (indexed)": {"filenames": [str(lines)], "indexed": True},
        "TFRecordDataset": {"filenames": [str(records)], **limited},
        "TFRecordDataset (indexed)": {"filenames": [str(records)], "indexed": str(folder)},
        "JSONLinesDataset": {"filenames": [str(folder / "rows.jsonl")], **limited}
        | {"signature": {"x": ps.TensorSpec((), np.int64)}, "null_values": {"x": 0}}
        | {"num_parallel_calls": 1},
        "JSONLinesDataset (indexed)": {"filenames": [str(folder / "rows.jsonl")], "indexed": True},
        "FixedLengthRecordDataset": {"filenames": [str(lines)], **files}
        | {"record_bytes": 1, "header_bytes": 0, "footer_bytes": 0},
        "FixedLengthRecordDataset (indexed)": {"filenames": [str(lines)], "record_bytes": 1}
        | {"indexed": True},
    }


def array_calls_of_files(folder):
    """Return arrays and records by position, except those with missing libraries."""
    crops = {"keys": ["x"], "crop_shape": [2], "crop_stride": [1], "num_parallel_calls": 1}
    calls = {"from_zarr": {"store": {"x": np.arange(5)}, **crops}}
    if "HDF5Dataset" not in LACKING:
        import h5py

        with h5py.File(folder / "rows.h5", "w") as file:
            file["x"] = np.arange(5)
        calls["HDF5Dataset"] = {"filenames": [str(folder / "rows.h5")], **crops}
    if "ArrayRecordDataset" not in LACKING:
        from array_record.python.array_record_module import ArrayRecordWriter

        writer = ArrayRecordWriter(str(folder / "rows.array_record"), "group_size:1")
        writer.write(b"record")
        writer.close()
        files = {"filenames": [str(folder / "rows.array_record")], "num_parallel_calls": 1}
        calls["ArrayRecordDataset"] = files
    return calls


def table_calls(folder):
    """Return sources of tables, except those with missing libraries."""
    numbers = {"n": [1, 2, 3], "s": ["a", "b", "c"]}
    calls = {}
    if "Dataset.from_arrow" not in LACKING:
        import pyarrow.feather
        import pyarrow.parquet

        table = pyarrow.table(numbers)
        pyarrow.parquet.write_table(table, folder / "rows.parquet")
        pyarrow.feather.write_feather(table, folder / "rows.feather")
        calls["from_arrow"] = {"table": table, "null_values": {"n": 0}}
        calls["write_parquet"] = {"shards": 2, "compression": "", "progress": False}
        calls["write_parquet"] |= {"path": folder / "written.parquet", "row_group_size": 2}
        calls["write_parquet"] |= {"on": ps.Dataset.from_tensor_slices(numbers)}
        files = {"columns": ["n"], "batch_size": 2, "filters": [("n", ">", 1)]}
        files |= {"num_parallel_reads": 1, "drop_remainder": False, "null_values": {"n": 0}}
        files |= {"on_error": "skip", "max_errors": 3}
        calls["ParquetDataset"] = {"filenames": [str(folder / "rows.parquet")], **files}
        calls["ArrowDataset"] = {"filenames": [str(folder / "rows.feather")], **files}
    if "Dataset.from_pandas" not in LACKING:
        import pandas

        calls["from_pandas"] = {"df": pandas.DataFrame(numbers)}
    if "Dataset.from_polars" not in LACKING:
        import polars

        calls["from_polars"] = {"df": polars.DataFrame(numbers)}
    if "Dataset.from_huggingface" not in LACKING:
        import datasets

        rows = datasets.Dataset.from_dict(numbers)
        calls["from_huggingface"] = {"ds": rows, "null_values": {"n": 0}}
    return calls | array_calls_of_files(folder)


def experimental_calls(folder):
    """Return functions of `ps.experimental`; a result that is a transformation is applied."""
    lines, records = folder / "rows.csv", folder / "examples.tfrecord"
    bucket = {
        "element_length_func": one,
        "bucket_boundaries": [2, 4],
        "bucket_batch_sizes": [2, 2, 2],
        "padded_shapes": [3],
        "padding_values": np.float32(0),
        "pad_to_bucket_boundary": False,
        "no_padding": False,
        "drop_remainder": False,
        "on": ROWS,
    }
    csv = {"field_delim": ",", "use_quote_delim": True, "na_value": ""}
    epochs = {"num_epochs": 1, "shuffle": True, "shuffle_buffer_size": 2, "shuffle_seed": 1}
    return {
        "Counter": {"start": 1, "step": 1, "dtype": np.int64},
        "CsvDataset": {"filenames": [str(lines)], "record_defaults": [np.int64], **csv}
        | {"compression_type": "", "buffer_size": 100, "header": True, "select_cols": [0]}
        | {"max_record_bytes": 10**6, "num_parallel_calls": 1},
        "CsvDataset (exclude)": {"filenames": [str(lines)], "record_defaults": [np.int64]}
        | {"header": True, "exclude_cols": [0]},
        "CsvDataset (indexed)": {"filenames": str(folder / "numbers.csv"), "indexed": True}
        | {"record_defaults": [np.int64]},
        "RandomDataset": {"seed": 1, "rerandomize_each_iteration": True},
        "Reducer": {"init_func": zero, "reduce_func": keep, "finalize_func": same},
        "SqlDataset": {"driver_name": "sqlite", "data_source_name": str(folder / "rows.db")}
        | {"query": "select x from t", "output_types": (np.int64,)},
        "TFRecordWriter": {"filename": str(folder / "out"), "compression_type": ""},
        "assert_cardinality": {"expected_cardinality": 4},
        "at": {"dataset": RANGE, "index": 1},
        "bucket_by_sequence_length": bucket,
        "cardinality": {"dataset": RANGE},
        "choose_from_datasets": {"datasets": [RANGE, RANGE], "stop_on_empty_dataset": True}
        | {"choice_dataset": ps.Dataset.range(2)},
        "copy_to_device": {"target_device": "/cpu:0", "source_device": "/cpu:0"},
        "count": {"dataset": RANGE},
        "dense_to_ragged_batch": {"batch_size": 2, "drop_remainder": True}
        | {"row_splits_dtype": np.int64, "on": ROWS},
        "enumerate_dataset": {"start": 1},
        "from_list": {"elements": [1, 2]},
        "get_single_element": {"dataset": RANGE.take(1)},
        "get_structure": {"dataset_or_iterator": RANGE},
        "group_by_reducer": {"key_func": zero}
        | {"reducer": ps.experimental.Reducer(lambda key: 0, add, same)},
        "group_by_window": {"key_func": zero, "reduce_func": window, "window_size": 2},
        "group_by_window (function)": {"key_func": zero, "reduce_func": window}
        | {"window_size_func": one},
        "ignore_errors": {"log_warning": True},
        "load": {"path": folder / "saved", "element_spec": ps.TensorSpec((), np.int64)}
        | {"compression": None, "reader_func": reader},
        "make_batched_features_dataset": {"file_pattern": str(records), "batch_size": 2}
        | {"features": FEATURES, "label_key": "a", "reader": None, "reader_args": None, **epochs}
        | {"prefetch_buffer_size": 1, "reader_num_threads": 1, "parser_num_threads": 1}
        | {"sloppy_ordering": False, "drop_final_batch": False},
        "make_csv_dataset": {"file_pattern": str(lines), "batch_size": 2, **csv, **epochs}
        | {"column_names": ["x", "y"], "column_defaults": [np.int64], "label_name": "x"}
        | {"select_columns": ["x"], "header": True, "prefetch_buffer_size": 1}
        | {"num_parallel_reads": 1, "sloppy": False, "num_rows_for_inference": 3}
        | {"compression_type": "", "ignore_errors": True, "encoding": "utf-8"}
        | {"max_record_bytes": 10**6, "num_parallel_calls": 1},
        "map_and_batch": {"map_func": same, "batch_size": 2, "drop_remainder": True}
        | {"num_parallel_calls": 1},
        "map_and_batch (batches)": {"map_func": same, "batch_size": 2, "num_parallel_batches": 1},
        "pad_to_cardinality": {"cardinality": 6, "mask_key": "valid"}
        | {"on": RANGE.map(lambda x: {"x": x})},
        "parallel_interleave": {"map_func": single, "cycle_length": 2, "block_length": 1}
        | {"sloppy": False, "buffer_output_elements": 1, "prefetch_input_elements": 1},
        "parse_example_dataset": {"features": FEATURES, "num_parallel_calls": 1}
        | {"deterministic": True, "on": ps.Dataset.from_tensors([EXAMPLE])},
        "prefetch_to_device": {"device": "/cpu:0", "buffer_size": 1},
        "rejection_resample": {"class_func": zero, "target_dist": [1.0], "initial_dist": [1.0]}
        | {"seed": 1},
        "sample_from_datasets": {"datasets": [RANGE, RANGE], "weights": [0.5, 0.5], "seed": 1}
        | {"stop_on_empty_dataset": True},
        "save": {"dataset": RANGE, "path": folder / "written", "compression": None}
        | {"shard_func": shard_zero, "checkpoint_args": None},
        "scan": {"initial_state": np.int64(0), "scan_func": keep},
        "shuffle_and_repeat": {"buffer_size": 2, "count": 1, "seed": 1},
        "snapshot": {"path": folder / "snapshot", "compression": "AUTO", "reader_func": reader}
        | {"shard_func": shard_zero},
        "take_while": {"predicate": yes},
        "get_next_as_optional": {"iterator": iter(RANGE)},
        "Optional": {"value": 1, "element_spec": None},
    }


def image_calls():
    """Return functions of `ps.image`."""
    jpeg = {"contents": JPEG, "channels": 3, "ratio": 1, "fancy_upscaling": True}
    jpeg |= {"try_recover_truncated": False, "acceptable_fraction": 1, "dct_method": ""}
    jpeg |= {"max_pixels": 1000}
    box = {"offset_height": 0, "offset_width": 0, "target_height": 3, "target_width": 3}
    size = {"target_height": 9, "target_width": 9}
    image, floats = {"image": IMAGE}, {"image": FLOATS}
    return {
        "adjust_brightness": {**floats, "delta": 0.1},
        "adjust_contrast": {"images": FLOATS, "contrast_factor": 2.0},
        "adjust_gamma": {**floats, "gamma": 2.0, "gain": 1.0},
        "adjust_hue": {**floats, "delta": 0.1},
        "adjust_saturation": {**floats, "saturation_factor": 2.0},
        "central_crop": {**image, "central_fraction": 0.5},
        "convert_image_dtype": {**image, "dtype": np.float32, "saturate": True},
        "crop_and_resize": {"image": FLOATS[None], "boxes": [[0.0, 0.0, 1.0, 1.0]]}
        | {"box_indices": [0], "crop_size": [3, 3], "method": "bilinear"}
        | {"extrapolation_value": 0.0},
        "crop_to_bounding_box": {**image, **box},
        "decode_and_crop_jpeg": {**jpeg, "crop_window": [0, 0, 2, 2]},
        "decode_image": {"contents": JPEG, "channels": 3, "dtype": np.uint8, "max_pixels": 1000}
        | {"expand_animations": True, "ratio": 1},
        "decode_jpeg": jpeg,
        "decode_png": {"contents": PNG, "channels": 3, "dtype": np.uint8, "max_pixels": 1000},
        "encode_jpeg": {**image, "format": "rgb", "quality": 90, "progressive": False}
        | {"optimize_size": False, "chroma_downsampling": True, "density_unit": "in"}
        | {"x_density": 300, "y_density": 300, "xmp_metadata": ""},
        "encode_png": {**image, "compression": 1},
        "extract_jpeg_shape": {"contents": JPEG, "output_type": np.int32},
        "flip_left_right": image,
        "flip_up_down": image,
        "grayscale_to_rgb": {"images": FLOATS[..., :1]},
        "hsv_to_rgb": {"images": FLOATS},
        "is_jpeg": {"contents": JPEG},
        "normalize": {**image, "mean": [1.0, 1.0, 1.0], "std": [1.0, 1.0, 1.0]},
        "pad_to_bounding_box": {**image, **box, **size},
        "per_image_standardization": image,
        "random_brightness": {**floats, "max_delta": 0.1, "seed": 1},
        "random_contrast": {**floats, "lower": 0.1, "upper": 0.2, "seed": 1},
        "random_crop": {"value": IMAGE, "size": [3, 3, 3], "seed": 1},
        "random_flip_left_right": {**image, "seed": 1},
        "random_flip_up_down": {**image, "seed": 1},
        "random_hue": {**floats, "max_delta": 0.1, "seed": 1},
        "random_resized_crop": {**image, "size": [3, 3], "scale": (0.1, 1), "ratio": (1, 1)}
        | {"method": "bilinear", "antialias": True, "seed": 1, "dtype": "uint8"},
        "random_saturation": {**floats, "lower": 0.1, "upper": 0.2, "seed": 1},
        "resize": {"images": IMAGE, "size": [3, 3], "method": "bilinear"}
        | {"preserve_aspect_ratio": True, "antialias": True},
        "resize_with_crop_or_pad": {**image, **size},
        "resize_with_pad": {**image, **size, "method": "bilinear", "antialias": True},
        "rgb_to_grayscale": {"images": FLOATS},
        "rgb_to_hsv": {"images": FLOATS},
        "rot90": {**image, "k": 1},
        "transpose": image,
    }


def io_calls(folder):
    """Return functions of `ps.io` that are not also in `ps.image`."""
    parse = {"context_features": CONTEXT, "sequence_features": LISTS}
    return {
        "FixedLenFeature": {"shape": (1,), "dtype": np.int64, "default_value": 0},
        "FixedLenSequenceFeature": {"shape": (1,), "dtype": np.int64, "allow_missing": True}
        | {"default_value": 0},
        "RaggedFeature": {"dtype": np.int64, "value_key": "a", "partitions": ()}
        | {"row_splits_dtype": np.int32, "validate": False},
        "TFRecordOptions": {"compression_type": "GZIP", "compression_level": 3},
        "TFRecordWriter": {"path": folder / "out", "options": None},
        "VarLenFeature": {"dtype": np.int64},
        "decode_base64": {"input": b"YWI="},
        "decode_csv": {"records": b"1,2", "record_defaults": [np.int64, np.int64]}
        | {"field_delim": ",", "use_quote_delim": True, "na_value": "", "select_cols": [0, 1]},
        "decode_raw": {"input_bytes": b"ab", "out_type": np.uint8, "little_endian": True}
        | {"fixed_length": 2},
        "encode_base64": {"input": b"ab", "pad": True},
        "make_example": {"features": {"a": np.array([1])}},
        "make_sequence_example": {"context": {"a": np.array([1])}}
        | {"feature_lists": {"b": [np.array([1])]}},
        "matching_files": {"pattern": str(folder / "*.txt")},
        "parse_example": {"serialized": [EXAMPLE], "features": FEATURES, "example_names": None},
        "parse_sequence_example": {"serialized": [SEQUENCE], "example_names": None, **parse},
        "parse_single_example": {"serialized": EXAMPLE, "features": FEATURES}
        | {"example_names": None},
        "parse_single_sequence_example": {"serialized": SEQUENCE, "example_name": None, **parse},
        "read_file": {"filename": str(folder / "lines.txt")},
        "write_file": {"filename": str(folder / "out"), "contents": b"x"},
    }


def array_calls():
    """Return penstock's array functions."""
    reduced = {"input_tensor": NUMBERS, "axis": 0, "keepdims": True}
    truth = {**reduced, "input_tensor": NUMBERS > 1}
    return {
        "cast": {"x": NUMBERS, "dtype": np.float32},
        "clip_by_value": {"t": NUMBERS, "clip_value_min": 1.0, "clip_value_max": 2.0},
        "concat": {"values": [NUMBERS, NUMBERS], "axis": 0},
        "expand_dims": {"input": NUMBERS, "axis": 0},
        "fill": {"dims": [2], "value": 1},
        "gather": {"params": NUMBERS, "indices": [0], "axis": 1, "batch_dims": 0}
        | {"validate_indices": None},
        "one_hot": {"indices": [0, 1], "depth": 2, "on_value": 1, "off_value": 0, "axis": -1}
        | {"dtype": np.int64},
        "ones": {"shape": [2], "dtype": np.int64},
        "ones_like": {"input": NUMBERS, "dtype": np.int64},
        "pad": {"tensor": NUMBERS, "paddings": [[0, 1], [0, 1]], "mode": "CONSTANT"}
        | {"constant_values": 0},
        "reduce_all": truth,
        "reduce_any": truth,
        "reduce_max": reduced,
        "reduce_mean": reduced,
        "reduce_min": reduced,
        "reduce_sum": reduced,
        "reshape": {"tensor": NUMBERS, "shape": [3, 2]},
        "shape": {"input": NUMBERS, "out_type": np.int64},
        "squeeze": {"input": NUMBERS[None], "axis": 0},
        "stack": {"values": [NUMBERS, NUMBERS], "axis": 0},
        "tile": {"input": NUMBERS, "multiples": [1, 2]},
        "transpose": {"a": NUMBERS, "perm": [1, 0]},
        "where": {"condition": NUMBERS > 1, "x": NUMBERS, "y": NUMBERS},
        "zeros": {"shape": [2], "dtype": np.int64},
        "zeros_like": {"input": NUMBERS, "dtype": np.int64},
    }


def other_calls(folder):
    """Return the other public names at the top level."""
    return {
        "DataLoader": {"dataset": [1, 2, 3], "batch_size": 2, "shuffle": True, "num_workers": 1}
        | {"collate_fn": same, "pin_memory": False, "drop_last": False, "timeout": 0}
        | {"worker_init_fn": one, "prefetch_factor": 2, "persistent_workers": True}
        | {"multiprocessing_context": None, "pin_memory_device": "", "in_order": True}
        | {"generator": None, "worker_method": "thread"},
        "DataLoader (sampler)": {"dataset": [1, 2, 3], "sampler": [0, 1]},
        "DataLoader (batch_sampler)": {"dataset": [1, 2, 3], "batch_sampler": [[0, 1]]},
        "TensorSpec": {"shape": (1,), "dtype": np.int64},
        "describe_state": {"state": STATE, "dataset": ps.Dataset.range(3)},
        "ignored": {"value": [1]},
        "merge_states": {"states": [STATE]},
        "default_collate": {"batch": [1, 2]},
        "gather_exact": {"values": [1, 2], "mask": np.array([True, False]), "group": None},
        "index": {"filenames": [str(folder / "rows.csv")], "index_dir": str(folder / "index")}
        | {"format": "csv", "header": False, "field_delim": ",", "use_quote_delim": True}
        | {"max_record_bytes": 1000, "num_parallel_reads": 1, "progress": False},
        "native": {"function": same, "check": 2},
        "numpy_function": {"func": np.negative, "inp": [NUMBERS], "Tout": np.float64}
        | {"stateful": True},
        "prefetch": {"iterable": values, "buffer_size": 2, "executor": "process"}
        | {"worker_init": nothing, "worker_teardown": nothing},
        "progress": {"iterable": [1, 2], "description": "a"},
        "py_function": {"func": np.negative, "inp": [NUMBERS], "Tout": np.float64},
        "set_seed": {"seed": None},
    }


def string_calls():
    """Return functions of `ps.strings`."""
    text = {"input": "ab"}
    return {
        "as_string": {"input": 1.5, "precision": 2, "scientific": False, "shortest": False}
        | {"width": 5, "fill": "0"},
        "join": {"inputs": ["a", "b"], "separator": "-"},
        "length": {**text, "unit": "BYTE"},
        "lower": {**text, "encoding": ""},
        "reduce_join": {"inputs": ["a", "b"], "axis": 0, "keepdims": True, "separator": "-"},
        "regex_full_match": {**text, "pattern": "a"},
        "regex_replace": {**text, "pattern": "a", "rewrite": "b", "replace_global": True},
        "split": {**text, "sep": "a", "maxsplit": 1, "ragged": None},
        "strip": text,
        "substr": {**text, "pos": 0, "len": 1, "unit": "BYTE"},
        "to_hash_bucket_fast": {**text, "num_buckets": 3},
        "to_number": {"input": "1", "out_type": np.float32},
        "unicode_decode": {**text, "input_encoding": "UTF-8", "errors": "replace"}
        | {"replacement_char": 65533, "ragged": None},
        "upper": {**text, "encoding": ""},
    }


def random_calls():
    """Return functions of `ps.random`."""
    number = {"shape": [2], "dtype": np.float32, "seed": 1}
    return {
        "key": {"seed": 1},
        "normal": {**number, "mean": 0.0, "stddev": 1.0},
        "set_seed": {"seed": None},
        "shuffle": {"value": [1, 2], "seed": 1},
        "uniform": {**number, "minval": 0, "maxval": 1},
    }


def iterator_calls():
    """Return methods of an iterator."""
    it = iter(RANGE)
    next(it)
    return {"set_state": {"state": it.get_state(), "strict": True}}


def loader_calls():
    """Return methods of a DataLoader."""
    return {"load_state_dict": {"state": LOADER.state_dict(), "strict": True}}


def option_calls():
    """Return methods of options."""
    return {"merge": {"options": ps.Options()}, "conflicts": {"other": ps.Options()}}


def optional_calls():
    """Return static methods of `ps.experimental.Optional`."""
    return {
        "from_value": {"value": 1},
        "empty": {"element_spec": ps.TensorSpec((), np.int64)},
    }


def calls(folder):
    """Return every valid call: the callable and its arguments, by name."""
    methods = dataset_calls(folder)
    # A transformation without an entry here is called like in its contract.
    more = [kind for kind in _core.stage_traits() if hasattr(ps.Dataset, kind)]
    methods |= {
        kind: call_of(kind) for kind in more if kind not in methods and contract_of(kind).apply
    }
    groups = {
        ps.Dataset: methods | table_calls(folder),
        ps.experimental: experimental_calls(folder),
        ps.image: image_calls(),
        ps.io: io_calls(folder),
        ps: array_calls() | other_calls(folder),
        ps.strings: string_calls(),
        ps.random: random_calls(),
        ps.Iterator: iterator_calls(),
        ps.DataLoader: loader_calls(),
        ps.Options: option_calls(),
        ps.experimental.Optional: optional_calls(),
    }
    return {
        f"{where.__name__.removeprefix('penstock.')}.{name}": (
            where,
            name,
            without_options(where, name) | arguments,
        )
        for where, group in groups.items()
        for name, arguments in group.items()
    }


def without_options(where, name):
    """Return storage_options=None for a call that takes it, because its files are local."""
    thing = getattr(where, name.split(" ")[0], None) or getattr(ps, name.split(" ")[0])
    takes = "storage_options" in inspect.signature(thing).parameters
    return {"storage_options": None} if takes and name != "configure" else {}


def call(where, name, arguments):
    """Make the call, and take several elements of its result."""
    name = name.split(" ")[0]
    arguments = dict(arguments)
    on = arguments.pop("on", RANGE)
    if where in MAKES:
        where = MAKES[where]()
    if where is ps.Dataset:
        where = on if hasattr(on, name) else ps
    positional = arguments.pop("args", ()) if name in ("range", "zip") else ()
    made = getattr(where, name)(*positional, **arguments)
    if callable(made) and where is ps.experimental:
        made = on.apply(made)
    if isinstance(made, (ps.Dataset, ps.DataLoader)) or name == "prefetch":
        for _ in zip(range(3), made, strict=False):
            pass
    return made
