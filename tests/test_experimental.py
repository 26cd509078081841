"""penstock.experimental: the names of tf.data.experimental, on top of Dataset methods."""

import inspect
import threading

import numpy as np
import pytest

import oracle
import penstock as ps
from compare import assert_same, assert_same_unordered
from contract import Boom

ex = ps.experimental


OF_TF_DATA = {
    "CsvDataset": {
        "filenames": ...,
        "record_defaults": ...,
        "compression_type": None,
        "buffer_size": None,
        "header": False,
        "field_delim": ",",
        "use_quote_delim": True,
        "na_value": "",
        "select_cols": None,
        "exclude_cols": None,
    },
    "SqlDataset": {
        "driver_name": ...,
        "data_source_name": ...,
        "query": ...,
        "output_types": ...,
    },
    "assert_cardinality": {"expected_cardinality": ...},
    "at": {"dataset": ..., "index": ...},
    "bucket_by_sequence_length": {
        "element_length_func": ...,
        "bucket_boundaries": ...,
        "bucket_batch_sizes": ...,
        "padded_shapes": None,
        "padding_values": None,
        "pad_to_bucket_boundary": False,
        "no_padding": False,
        "drop_remainder": False,
    },
    "cardinality": {"dataset": ...},
    "debug_mode": {},
    "disable_debug_mode": {},
    "enable_debug_mode": {},
    "copy_to_device": {"target_device": ..., "source_device": "/cpu:0"},
    "enumerate_dataset": {"start": 0},
    "get_next_as_optional": {"iterator": ...},
    "get_single_element": {"dataset": ...},
    "get_structure": {"dataset_or_iterator": ...},
    "group_by_reducer": {"key_func": ..., "reducer": ...},
    "group_by_window": {
        "key_func": ...,
        "reduce_func": ...,
        "window_size": None,
        "window_size_func": None,
    },
    "load": {"path": ..., "element_spec": None, "compression": None, "reader_func": None},
    "make_batched_features_dataset": {
        "file_pattern": ...,
        "batch_size": ...,
        "features": ...,
        "reader": None,
        "label_key": None,
        "reader_args": None,
        "num_epochs": None,
        "shuffle": True,
        "shuffle_buffer_size": 10000,
        "shuffle_seed": None,
        "prefetch_buffer_size": None,
        "reader_num_threads": None,
        "parser_num_threads": None,
        "sloppy_ordering": False,
        "drop_final_batch": False,
    },
    "make_csv_dataset": {
        "file_pattern": ...,
        "batch_size": ...,
        "column_names": None,
        "column_defaults": None,
        "label_name": None,
        "select_columns": None,
        "field_delim": ",",
        "use_quote_delim": True,
        "na_value": "",
        "header": True,
        "num_epochs": None,
        "shuffle": True,
        "shuffle_buffer_size": 10000,
        "shuffle_seed": None,
        "prefetch_buffer_size": None,
        "num_parallel_reads": None,
        "sloppy": False,
        "num_rows_for_inference": 100,
        "compression_type": None,
        "ignore_errors": False,
        "encoding": "utf-8",
    },
    "map_and_batch": {
        "map_func": ...,
        "batch_size": ...,
        "num_parallel_batches": None,
        "drop_remainder": False,
        "num_parallel_calls": None,
    },
    "parallel_interleave": {
        "map_func": ...,
        "cycle_length": ...,
        "block_length": 1,
        "sloppy": False,
        "buffer_output_elements": None,
        "prefetch_input_elements": None,
    },
    "parse_example_dataset": {
        "features": ...,
        "num_parallel_calls": 1,
        "deterministic": None,
    },
    "prefetch_to_device": {"device": ..., "buffer_size": None},
    "save": {
        "dataset": ...,
        "path": ...,
        "compression": None,
        "shard_func": None,
        "checkpoint_args": None,
    },
    "shuffle_and_repeat": {"buffer_size": ..., "count": None, "seed": None},
    "snapshot": {
        "path": ...,
        "compression": "AUTO",
        "reader_func": None,
        "shard_func": None,
    },
    "count": {"dataset": ...},
    "dense_to_ragged_batch": {
        "batch_size": ...,
        "drop_remainder": False,
        "row_splits_dtype": np.int64,
    },
    "pad_to_cardinality": {"cardinality": ..., "mask_key": "valid"},
    "take_while": {"predicate": ...},
    "unbatch": {},
    "unique": {},
    "ignore_errors": {"log_warning": False},
    "scan": {"initial_state": ..., "scan_func": ...},
    "Counter": {"start": 0, "step": 1, "dtype": np.int64},
    "RandomDataset": {"seed": None, "rerandomize_each_iteration": None, "name": None},
    "from_list": {"elements": ..., "name": None},
    "sample_from_datasets": {
        "datasets": ...,
        "weights": None,
        "seed": None,
        "stop_on_empty_dataset": False,
    },
    "choose_from_datasets": {
        "datasets": ...,
        "choice_dataset": ...,
        "stop_on_empty_dataset": False,
    },
    "rejection_resample": {
        "class_func": ...,
        "target_dist": ...,
        "initial_dist": None,
        "seed": None,
    },
}


@pytest.mark.parametrize("name", OF_TF_DATA)
def test_arguments_keep_the_order_and_defaults_of_tf_data(name):
    parameters = inspect.signature(getattr(ex, name)).parameters.values()
    ours = {
        p.name: ... if p.default is p.empty else p.default
        for p in parameters
        if p.kind is not p.KEYWORD_ONLY
    }
    assert list(ours.items()) == list(OF_TF_DATA[name].items())


def test_every_function_is_compared_with_tf_data():
    sources = {"CsvDataset", "RandomDataset", "SqlDataset"}
    functions = [name for name in ex.__all__ if inspect.isfunction(getattr(ex, name))]
    assert sorted(OF_TF_DATA.keys() - sources) == sorted(functions)


# --- map_and_batch ---


@pytest.mark.parametrize("how", [{}, {"num_parallel_calls": 3}, {"num_parallel_batches": 2}])
@pytest.mark.parametrize("drop", [False, True])
def test_map_and_batch_is_map_then_batch(how, drop):
    def function(x):
        return {"square": x * x, "text": str(int(x))}

    came = list(
        ps.Dataset.range(10).apply(ex.map_and_batch(function, 4, drop_remainder=drop, **how))
    )
    assert_same(came, list(ps.Dataset.range(10).map(function).batch(4, drop)))


def test_map_and_batch_runs_as_many_calls_as_asked_for():
    meeting = threading.Barrier(3)

    def function(x):
        meeting.wait(60)
        return x

    ds = ps.Dataset.range(3).apply(ex.map_and_batch(function, 3, num_parallel_calls=3))
    assert_same(list(ds), [np.arange(3)])


def test_map_and_batch_takes_one_kind_of_parallelism():
    with pytest.raises(ValueError, match=r"map_and_batch: one of .*, got 2 and 3"):
        ex.map_and_batch(str, 4, num_parallel_batches=2, num_parallel_calls=3)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"batch_size": 0}, ValueError, "batch_size must be >= 1, got 0"),
        ({"num_parallel_calls": 0}, ValueError, "num_parallel_calls must be >= 1, got 0"),
        ({"num_parallel_batches": 0}, ValueError, "num_parallel_batches must be >= 1, got 0"),
        ({"map_func": 3}, TypeError, "map_func must be callable, got 3"),
    ],
)
def test_map_and_batch_refuses_wrong_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        ps.Dataset.range(3).apply(
            ex.map_and_batch(**{"map_func": str, "batch_size": 2} | arguments)
        )


# --- shuffle_and_repeat ---


def test_shuffle_and_repeat_is_shuffle_then_repeat():
    came = list(ps.Dataset.range(7).apply(ex.shuffle_and_repeat(4, 3, seed=5)))
    assert_same(came, list(ps.Dataset.range(7).shuffle(4, seed=5).repeat(3)))
    epochs = [came[i : i + 7] for i in (0, 7, 14)]
    assert all(sorted(epoch) == list(range(7)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


def test_shuffle_and_repeat_goes_on_for_ever_unless_told():
    ds = ps.Dataset.range(3).apply(ex.shuffle_and_repeat(2))
    assert ds.cardinality() == ps.INFINITE_CARDINALITY
    with pytest.raises(ValueError, match="buffer_size must be >= 1, got 0"):
        ps.Dataset.range(3).apply(ex.shuffle_and_repeat(0))


# --- parallel_interleave ---


def some(n):
    return ps.Dataset.range(100 * n, 100 * n + n % 4)


def some_lists(n):
    return [[100 * i + j for j in range(i % 4)] for i in range(n)]


@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("cycle", [1, 2, 5])
@pytest.mark.parametrize("ahead", [None, 0, 1, 20])
@pytest.mark.parametrize("buffered", [None, 1, 50])
def test_parallel_interleave_has_the_order_of_interleave(cycle, block, ahead, buffered):
    wanted = list(oracle.interleave(some_lists(11), cycle, block))
    ds = ps.Dataset.range(11)
    assert (
        list(ds.apply(ex.parallel_interleave(some, cycle, block, False, buffered, ahead))) == wanted
    )
    sloppy = ds.apply(ex.parallel_interleave(some, cycle, block, True, buffered, ahead))
    assert_same_unordered(list(sloppy), wanted)


@pytest.mark.parametrize(
    ("sloppy", "option", "passes"),
    [(True, True, True), (False, False, False), (None, False, True), (None, None, False)],
)
def test_sloppy_passes_over_a_dataset_that_is_not_ready(sloppy, option, passes):
    held = threading.Event()

    def opened(n):
        def generator():
            if n == 0 and passes:
                assert held.wait(60)
            yield int(n)

        return ps.Dataset.from_generator(generator)

    options = ps.Options()
    options.deterministic = option
    ds = ps.Dataset.range(2).apply(ex.parallel_interleave(opened, 2, sloppy=sloppy))
    with iter(ds.with_options(options)) as it:
        assert next(it) == (1 if passes else 0)
        held.set()
        assert len(list(it)) == 1


class Opener:
    """Opens datasets that record the requests to each of them, by thread."""

    def __init__(self, length):
        self.length = length
        self.changed = threading.Condition()
        self.made = {}

    def __call__(self, n):
        return ps.Dataset.range(self.length).map(lambda x, n=int(n): self.make(n, x))

    def make(self, n, x):
        with self.changed:
            self.made[n] = self.made.get(n, 0) + 1
            self.changed.notify_all()
        return x

    def wait_for(self, wanted):
        with self.changed:
            assert self.changed.wait_for(lambda: self.made == wanted, 10), (self.made, wanted)


@pytest.mark.parametrize("ahead", [0, 1, 3])
@pytest.mark.parametrize("buffered", [1, 2, 5])
def test_so_many_datasets_read_so_many_elements_ahead(ahead, buffered):
    opener = Opener(100)
    ds = ps.Dataset.range(50).apply(
        ex.parallel_interleave(
            opener, 2, buffer_output_elements=buffered, prefetch_input_elements=ahead
        )
    )
    with iter(ds) as it:
        assert next(it) == 0
        # One was taken from the first; all buffers are full, and no more are opened.
        wanted = {n: buffered + (n == 0) for n in range(2 + ahead)}
        opener.wait_for(wanted)
        assert next(it) == 0
        opener.wait_for(wanted | {1: buffered + 1})
    assert opener.made == wanted | {1: buffered + 1}


def test_by_default_twice_the_cycle_is_opened_ahead_and_two_blocks_are_read():
    opener = Opener(100)
    with iter(ps.Dataset.range(50).apply(ex.parallel_interleave(opener, 2, 3))) as it:
        next(it)
        opener.wait_for({n: 6 + (n == 0) for n in range(6)})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cycle_length": 0}, "cycle_length must be >= 1, got 0"),
        ({"cycle_length": -1}, "cycle_length must be >= 1, got -1"),
        ({"block_length": 0}, "block_length must be >= 1, got 0"),
        ({"buffer_output_elements": 0}, "buffer_output_elements must be >= 1, got 0"),
        ({"prefetch_input_elements": -1}, "prefetch_input_elements must be >= 0, got -1"),
    ],
)
def test_parallel_interleave_refuses_wrong_numbers(arguments, words):
    with pytest.raises(ValueError, match=f"interleave: {words}"):
        ps.Dataset.range(3).apply(ex.parallel_interleave(some, **{"cycle_length": 2} | arguments))


# --- the others ---


def test_get_single_element_wants_exactly_one():
    assert_same([ex.get_single_element(ps.Dataset.from_tensors({"a": 1}))], [{"a": 1}])
    assert ps.Dataset.range(5).take(1).get_single_element() == 0
    with pytest.raises(ValueError, match="a dataset of one element was expected, it is empty"):
        ps.Dataset.range(0).get_single_element()
    with pytest.raises(ValueError, match="a dataset of one element was expected, it has more"):
        ps.Dataset.range(2).get_single_element()
    with pytest.raises(ValueError, match="it has more"):
        ps.Dataset.range(2).repeat().get_single_element()


def test_get_single_element_tells_of_an_error():
    def boom(x):
        raise Boom("no")

    with pytest.raises(Boom):
        ps.Dataset.range(1).map(boom).get_single_element()


def test_unbatch_and_enumerate_dataset_are_the_methods():
    ds = ps.Dataset.range(5).batch(2)
    assert_same(list(ds.apply(ex.unbatch())), list(range(5)))
    assert_same(list(ds.apply(ex.enumerate_dataset(3))), list(ds.enumerate(3)))
