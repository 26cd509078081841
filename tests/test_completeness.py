"""Everything public or registered has a test and a docstring."""

import inspect
import re
from pathlib import Path

import pytest

import penstock as ps
from penstock import _core, encode

TESTS = Path(__file__).resolve().parent
TEXTS = {p: p.read_text() for p in TESTS.rglob("test_*.py")}
USES = [
    p.read_text() for name in ("tests", "examples") for p in (TESTS.parent / name).rglob("*.py")
]

# Kinds with a different public name, or used only by other methods.
PUBLIC = {
    "assert_cardinality": ps.experimental.assert_cardinality,
    "at": ps.experimental.at,
    "cache_file": ps.Dataset.cache,
    "elements": ps.Dataset.window,
    "group_by_reducer": ps.experimental.group_by_reducer,
    "count": ps.experimental.count,
    "csv_record": ps.experimental.CsvDataset,
    "fixed_length_record": ps.FixedLengthRecordDataset,
    "from_list": ps.experimental.from_list,
    "numpy_rows": ps.NumpyDataset,
    "indexed_records": ps.index,
    "parallel_from_indexable": ps.Dataset.from_indexable,
    "parallel_filter": ps.Dataset.filter,
    "parallel_map": ps.Dataset.map,
    "permutation": ps.Dataset.global_shuffle,
    "random_numbers": ps.Dataset.random,
    "reduced": ps.Dataset.reduce,
    "table_rows": ps.ParquetDataset,
    "tar_sample": ps.TarDataset,
    "text_line": ps.TextLineDataset,
    "tf_record": ps.TFRecordDataset,
}


@pytest.mark.parametrize("kind", _core.stage_traits())
def test_every_kind_of_dataset_has_tests_under_the_contract(kind):
    files = [p for p in TEXTS if p.name == f"test_{kind}.py"]
    assert files, f"tests/sources or tests/transforms must have test_{kind}.py"
    assert re.search(r"class Test\w*\(\w*Contract\)|\(OfFiles\)", TEXTS[files[0]])


@pytest.mark.parametrize("kind", _core.stage_traits())
def test_every_kind_of_dataset_has_a_documented_public_name(kind):
    public = PUBLIC.get(kind) or getattr(ps.Dataset, kind, None)
    assert public is not None, f"{kind}: no public name; tell test_completeness.py"
    assert inspect.getdoc(public)


def test_what_stages_say_of_their_arguments_is_known():
    traits = _core.stage_traits().values()
    said = {form for each in traits for form in each["arguments"].values()}
    assert said == {*encode._FORMS, "function", "table"}


def is_function(thing):
    return inspect.isfunction(thing) or inspect.ismethod(thing)


def public_things():
    """Yield the public names and objects, each object under its first name."""
    seen = set()
    for name, thing in all_public_names():
        if id(thing) not in seen:
            seen.add(id(thing))
            yield name, thing


def all_public_names():
    for name in ps.__all__:
        thing = getattr(ps, name)
        if inspect.ismodule(thing):
            for inner in getattr(thing, "__all__", None) or vars(thing):
                function = getattr(thing, inner)
                own = getattr(function, "__module__", "") or ""
                if callable(function) and not inner.startswith("_") and own.startswith("penstock"):
                    yield f"{name}.{inner}", function
        elif inspect.isclass(thing):
            yield name, thing
            for inner, member in inspect.getmembers(thing):
                own = is_function(member) and member.__module__.startswith("penstock")
                if not inner.startswith("_") and own:
                    yield f"{name}.{inner}", member
        elif callable(thing):
            yield name, thing


THINGS = dict(public_things())


@pytest.mark.parametrize("name", THINGS)
def test_every_public_name_has_a_docstring(name):
    doc = inspect.getdoc(THINGS[name])
    assert doc, f"{name} has no docstring"
    # The extension module prepends a line with the signature.
    lines = [line for line in doc.splitlines() if line and not line.startswith(f"{name}(")]
    assert lines, f"{name} has no docstring"
    summary = lines[0]
    assert summary.endswith((".", ":")), f"{name}: the summary is one line that ends in a full stop"
    assert len(summary) <= 100


@pytest.mark.parametrize("name", [n for n, t in THINGS.items() if is_function(t)])
def test_every_function_with_arguments_tells_of_them_or_shows_an_example(name):
    parameters = [
        p for p in inspect.signature(THINGS[name]).parameters if p not in {"self", "name"}
    ]
    doc = inspect.getdoc(THINGS[name])
    tells = any(word in doc for word in ("Examples\n", "Parameters\n", "Raises\n", ">>>"))
    assert tells or len(parameters) <= 1, f"{name}: tell of its parameters, or show an example"
    section = re.search(r"Parameters\n-+\n(.*?)(\n\w+\n-+\n|\Z)", doc, re.DOTALL)
    if section:
        for parameter in parameters:
            assert re.search(rf"(^|[\s*,]){parameter}\b", section[1]), f"{name}: {parameter}"


@pytest.mark.parametrize("name", ps.__all__)
def test_every_public_name_is_used_in_a_test_or_example(name):
    pattern = re.compile(rf"\b{name}\b")
    assert any(pattern.search(text) for text in USES)


def test_all_is_sorted_and_complete():
    assert len(set(ps.__all__)) == len(ps.__all__)
    assert set(dir(ps)) == {*ps.__all__, "__version__"}


def test_arguments_that_tf_data_has_keep_its_order():
    wanted = {
        "map": "map_func num_parallel_calls deterministic synchronous "
        "use_unbounded_threadpool name",
        "bucket_by_sequence_length": "element_length_func bucket_boundaries bucket_batch_sizes "
        "padded_shapes padding_values pad_to_bucket_boundary no_padding drop_remainder name",
        "group_by_window": "key_func reduce_func window_size window_size_func name",
        "window": "size shift stride drop_remainder name",
        "filter": "predicate name",
        "flat_map": "map_func name",
        "interleave": "map_func cycle_length block_length num_parallel_calls deterministic name",
        "batch": "batch_size drop_remainder num_parallel_calls deterministic name",
        "padded_batch": "batch_size padded_shapes padding_values drop_remainder name",
        "ragged_batch": "batch_size drop_remainder row_splits_dtype name",
        "take_while": "predicate name",
        "unique": "name",
        "unbatch": "name",
        "rebatch": "batch_size drop_remainder name",
        "get_single_element": "name",
        "shuffle": "buffer_size seed reshuffle_each_iteration name",
        "repeat": "count name",
        "take": "count name",
        "skip": "count name",
        "shard": "num_shards index name",
        "zip": "args datasets name",
        "concatenate": "dataset name",
        "enumerate": "start name",
        "prefetch": "buffer_size name",
        "ignore_errors": "log_warning name",
        "scan": "initial_state scan_func name",
        "reduce": "initial_state reduce_func name",
        "counter": "start step dtype name",
        "random": "seed rerandomize_each_iteration name",
        "sample_from_datasets": "datasets weights seed stop_on_empty_dataset "
        "rerandomize_each_iteration",
        "choose_from_datasets": "datasets choice_dataset stop_on_empty_dataset",
        "rejection_resample": "class_func target_dist initial_dist seed name",
        "cache": "filename name",
        "from_tensors": "tensors name",
        "from_tensor_slices": "tensors name",
        "from_generator": "generator output_types output_shapes args output_signature name",
        "list_files": "file_pattern shuffle seed name",
    }
    for method, names in wanted.items():
        parameters = inspect.signature(getattr(ps.Dataset, method)).parameters.values()
        ours = [
            p.name
            for p in parameters
            if p.name != "self" and (p.kind != p.KEYWORD_ONLY or p.name in names.split())
        ]
        assert ours == names.split(), method
