"""Every public name of tf.data exists, or the guide explains why not."""

import re
import subprocess
import sys
from fnmatch import filter as filter_names
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import penstock as ps
import penstock.compat.tf as tf
import penstock.compat.v1 as v1

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "migrating.md").read_text()

MODULES = {
    "tf.data": """
AUTOTUNE INFINITE_CARDINALITY UNKNOWN_CARDINALITY Dataset DatasetSpec FixedLengthRecordDataset
Iterator IteratorSpec NumpyIterator Options TFRecordDataset TextLineDataset ThreadingOptions
""",
    "tf.data.experimental": """
AutoShardPolicy AutotuneAlgorithm AutotuneOptions Counter CsvDataset DatasetInitializer
DistributeOptions ExternalStatePolicy OptimizationOptions Optional RandomDataset Reducer SHARD_HINT
ServiceOptions SqlDataset TFRecordWriter ThreadingOptions assert_cardinality at
bucket_by_sequence_length cardinality choose_from_datasets copy_to_device dense_to_ragged_batch
dense_to_sparse_batch distributed_save enable_debug_mode enumerate_dataset from_list from_variant
get_model_proto get_next_as_optional get_single_element get_structure group_by_reducer
group_by_window ignore_errors index_table_from_dataset load make_batched_features_dataset
make_csv_dataset make_saveable_from_iterator map_and_batch pad_to_cardinality parallel_interleave
parse_example_dataset prefetch_to_device rejection_resample sample_from_datasets save scan
shuffle_and_repeat snapshot table_from_dataset take_while to_variant unbatch unique
""",
    "tf.data.experimental.service": """
CrossTrainerCache DispatchServer DispatcherConfig ShardingPolicy WorkerConfig WorkerServer
distribute from_dataset_id register_dataset
""",
    "tf.data.Dataset": """
apply as_numpy_iterator batch bucket_by_sequence_length cache cardinality choose_from_datasets
concatenate counter element_spec enumerate filter fingerprint flat_map from_generator
from_tensor_slices from_tensors get_single_element group_by_window ignore_errors interleave
list_files load map options padded_batch prefetch ragged_batch random range rebatch reduce
rejection_resample repeat sample_from_datasets save scan shard shuffle skip snapshot sparse_batch
take take_while unbatch unique window with_options zip
""",
}
NAMES = [(module, name) for module, names in MODULES.items() for name in names.split()]
# Rows of the guide for missing names, except those that this package provides.
NONE = re.findall(r"^\| `([\w.*]+)` \| none: (?!.*`penstock\.compat\.tf` has)", PAGE, re.MULTILINE)


def found(module, name):
    thing = tf
    for part in module.split(".")[1:]:
        thing = getattr(thing, part, None)
    return hasattr(thing, name)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_is_there_or_the_guide_says_why_not(module, name):
    full = f"{module}.{name}".removeprefix("tf.data.")
    assert found(module, name) != any(fnmatchcase(full, none) for none in NONE)


def test_the_guide_leaves_out_only_names_of_tensorflow():
    known = [f"{module}.{name}".removeprefix("tf.data.") for module, name in NAMES]
    members = {"IteratorSpec.*", "experimental.DatasetInitializer.*"}
    assert {none for none in NONE if not filter_names(known, none)} == members


@pytest.mark.parametrize("module", ["image", "io", "strings"])
def test_operations_of_penstock_are_there(module):
    ours, theirs = getattr(ps, module), getattr(tf, module)
    assert {name for name in ours.__all__ if not hasattr(theirs, name)} == set()


def test_the_experimental_names_of_penstock_are_there():
    assert {n for n in ps.experimental.__all__ if not hasattr(tf.data.experimental, n)} == set()


def test_v1_has_the_names_of_tf():
    assert {n for n in dir(tf) if not hasattr(v1, n)} == set()


def test_importing_takes_in_nothing_but_numpy():
    code = """
import sys
import penstock.compat.v1, penstock.compat.tf
heavy = {"PIL", "matplotlib", "torch", "jax", "tensorflow", "pandas", "keras"}
print(*sorted(heavy & {name.partition(".")[0] for name in sys.modules}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_penstock_itself_does_not_import_it():
    code = "import sys, penstock; print('penstock.compat' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
