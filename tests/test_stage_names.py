"""The name of a stage, and the names of its functions, appear wherever the stage is shown."""

import functools
import inspect
import json
import pickle
import threading

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, _core


def load(x):
    if x == 2:
        raise ValueError("bad")
    return x


class Loader:
    def get(self, x):
        return x

    def __call__(self, x):
        return x


def test_names_of_functions():
    def inner(x):
        return x

    def name_of(function):
        it = iter(Dataset.range(1).map(function))
        next(it)
        return it.stats()[0]["function"]

    assert name_of(load) == "load"
    assert name_of(inner) == "inner"
    assert name_of(Loader().get) == "Loader.get"
    assert name_of(Loader()) == "Loader"
    assert name_of(functools.partial(load)) == "load"
    assert name_of(ps.native(load_native)) == "load_native"
    assert name_of(np.sqrt) == "sqrt"
    assert name_of(lambda x: x) == "<lambda>"


def load_native(x):
    return x + 1


@pytest.mark.parametrize("calls", [None, 2])
def test_note_has_both(calls):
    ds = Dataset.range(4).map(load, calls, name="decode")
    with pytest.raises(ValueError, match="bad") as caught:
        list(ds)
    assert caught.value.__notes__ == ["penstock: in stage map(load, name='decode'), element 2 (2)"]


def test_stage_without_a_function_says_its_name_once():
    ragged = Dataset.from_generator(lambda: iter([[1], [1, 2]]))
    ds = ragged.batch(2, name="rows").map(load, name="later").prefetch(1, name="ahead")
    with pytest.raises(ValueError, match="shape") as caught:
        list(ds)
    assert "batch(name='rows')" in "".join(caught.value.__notes__)
    assert "later" not in "".join(caught.value.__notes__)


def test_lambda_says_nothing():
    with pytest.raises(ZeroDivisionError) as caught:
        list(Dataset.range(1).map(lambda x: 1 // int(x)))
    assert caught.value.__notes__ == ["penstock: in stage map, element 0 (0)"]


def test_stats_and_repr():
    ds = Dataset.range(4, name="numbers").map(Loader().get, name="decode").batch(2, name="two")
    it = iter(ds)
    list(it)
    shown = [(s["kind"], s["name"], s["function"]) for s in it.stats()]
    assert shown == [
        ("batch", "two", None),
        ("map", "decode", "Loader.get"),
        ("range", "numbers", None),
    ]
    assert "name='decode'" in repr(ds)
    assert "name='numbers'" in repr(ds)


def test_tuning_moves_have_them():
    started = threading.Event()

    def slow(x):
        started.wait(0.002)
        return x

    with iter(Dataset.range(10**6).map(slow, -1, name="decode")) as it:
        for _ in it:
            if moves := it.tuning_moves():
                break
    assert (moves[0]["stage"], moves[0]["name"]) == ("parallel_map", "decode")
    assert moves[0]["function"] == "test_tuning_moves_have_them.<locals>.slow".rpartition(".")[2]


@pytest.mark.parametrize("calls", [None, 2])
def test_traces_have_them(calls):
    _core.trace_start(1000)
    try:
        list(Dataset.range(4).map(Loader().get, calls, name="decode"))
    finally:
        trace = json.loads(_core.trace_stop())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    assert "map(Loader.get, name='decode')" in {event["name"] for event in events}


def test_names_change_nothing_else():
    plain = Dataset.range(8).shuffle(8, seed=1).map(Loader().get).batch(2)
    named = (
        Dataset.range(8, name="a")
        .shuffle(8, seed=1, name="b")
        .map(Loader().get, name="c")
        .batch(2, name="d")
    )
    assert plain.fingerprint() == named.fingerprint()
    assert np.array_equal(list(plain), list(named))
    it = iter(plain)
    next(it)
    other = iter(named)
    other.set_state(it.get_state())
    assert np.array_equal(list(it), list(other))


def test_names_survive_pickling_and_moving():
    ds = pickle.loads(pickle.dumps(Dataset.range(4).take(3, name="some")))
    assert "name='some'" in repr(ds)
    rows = Dataset.from_indexable([1, 2, 3], name="rows").shuffle(3, name="mixed")
    assert "name='rows'" in repr(rows)
    assert [s["name"] for s in _stats(rows)] == ["rows", "mixed"]


def _stats(ds):
    it = iter(ds)
    list(it)
    return it.stats()


ARGS = {
    "indices": [1, 0],
    "batch_size": 2,
    "bucket_batch_sizes": [1, 1],
    "bucket_boundaries": [3],
    "buffer_size": 1,
    "class_func": lambda x: 0,
    "count": 1,
    "dataset": Dataset.range(2),
    "drop_remainder": False,
    "element_length_func": lambda x: 1,
    "index": 0,
    "initial_state": 0,
    "key_func": lambda x: 0,
    "length": 4,
    "num_shards": 1,
    "num_workers": 1,
    "predicate": lambda x: True,
    "reduce_func": lambda key, window: window,
    "scan_func": lambda s, x: (s, x),
    "size": 2,
    "target_dist": [1.0],
    "window_size": 2,
}
# Methods that create no separate stage.
NO_STAGE = {"get_single_element", "reduce", "save", "with_options", "zip"}


def named_methods():
    for name, method in inspect.getmembers(Dataset, inspect.isfunction):
        parameters = inspect.signature(method).parameters
        if name[0] != "_" and name not in NO_STAGE and {"name", "self"} <= parameters.keys():
            yield name


@pytest.mark.parametrize("method", list(named_methods()))
def test_every_transformation_shows_its_name(method, tmp_path):
    given = {"snapshot": {"path": tmp_path / "rows"}, "distribute": {"engine": "local"}}
    args = given.get(method, {})
    for parameter in inspect.signature(getattr(Dataset, method)).parameters.values():
        required = parameter.default is parameter.empty and parameter.name != "self"
        required = required and parameter.kind is not parameter.VAR_KEYWORD
        if parameter.name == "map_func":
            args["map_func"] = (
                Dataset.from_tensors if method in ("flat_map", "interleave") else lambda x: x
            )
        elif (parameter.name not in args and required) or parameter.name == "window_size":
            args[parameter.name] = ARGS[parameter.name]
    source = Dataset.range(4)
    if method in ("unbatch", "rebatch", "pack"):
        source = source.batch(2)
    ds = getattr(source, method)(**args, name="mine")
    assert "name='mine'" in repr(ds)
    if ds._node.cardinality != -1:
        assert "mine" in [stage["name"] for stage in _stats(ds)]


def test_sources_show_their_names(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a\n")
    sources = [
        Dataset.range(1, name="mine"),
        Dataset.from_tensors(1, name="mine"),
        Dataset.from_tensor_slices([1], name="mine"),
        Dataset.counter(name="mine"),
        Dataset.random(name="mine"),
        Dataset.from_generator(lambda: iter([1]), name="mine"),
        Dataset.from_indexable([1], name="mine"),
        Dataset.zip(Dataset.range(1), Dataset.range(1), name="mine"),
        Dataset.list_files(str(file), shuffle=False, name="mine"),
        ps.TextLineDataset(str(file), name="mine"),
        ps.TextLineDataset([str(file)], name="mine"),
        ps.TextLineDataset([str(file)], num_parallel_reads=1, name="mine"),
        ps.experimental.from_list([1], name="mine"),
    ]
    for ds in sources:
        assert "name='mine'" in repr(ds), ds
        assert "mine" in [stage["name"] for stage in _stats(ds.take(1))]


def test_wrong_name_is_refused():
    with pytest.raises(TypeError, match="map: name must be a str, got 3"):
        Dataset.range(3).map(load, name=3)


def test_functions_of_penstock_itself_are_not_shown(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\nb\n")
    rows = Dataset.from_tensor_slices(np.ones((4, 3)))
    csv = ps.experimental.make_csv_dataset(
        str(tmp_path / "a.csv"), 1, column_defaults=[np.int64], num_epochs=1
    )
    pipelines = {
        "a mask": rows.shard_evenly(2, 0, "pad"),
        "buckets": rows.bucket_by_sequence_length(load_length, [4], [2, 2]),
        "columns": csv,
        "fields": ps.experimental.CsvDataset(str(tmp_path / "a.csv"), [np.int64]),
        "a query": ps.experimental.SqlDataset("sqlite", str(tmp_path / "no.db"), "select 1", int),
    }
    for name, ds in pipelines.items():
        it = iter(ds)
        try:
            next(it)
        except (OSError, ps.DataError) as error:
            stage = "".join(error.__notes__).partition(",")[0]
            assert stage.removeprefix("penstock: in stage ") in {
                "map",
                "from_generator",
                "CsvDataset",
                "make_csv_dataset",
            }, name
        shown = {stage["function"] for stage in it.stats()}
        assert shown <= {None, "load_length"}, name


def load_length(row):
    return len(row)


def test_public_functions_of_penstock_are_shown(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        list(Dataset.from_tensors(str(tmp_path / "none")).map(ps.io.read_file))
    assert caught.value.__notes__[0].startswith("penstock: in stage map(read_file), element 0")


def test_folding_and_mixing_show_what_the_user_wrote():
    def fold(state, x):
        return state, 1 // int(x - 2)

    with pytest.raises(ZeroDivisionError) as caught:
        list(Dataset.range(4).scan(np.int64(0), fold, name="sum"))
    assert caught.value.__notes__ == ["penstock: in stage scan(fold, name='sum'), element 2 (0, 2)"]
    it = iter(Dataset.sample_from_datasets([Dataset.range(4).map(load), Dataset.range(4)], seed=1))
    with pytest.raises(ValueError, match="bad") as caught:
        list(it)
    assert caught.value.__notes__ == ["penstock: in stage map(load), element 2 (2)"]
    kinds = [(stage["kind"], stage["function"]) for stage in it.stats()]
    assert kinds[:2] == [("sample_from_datasets", None), ("map", "load")]
