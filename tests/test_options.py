"""Options: refused values, merging, and effects on a run."""

import gc
import pickle
import threading

import pytest

import penstock as ps
from compare import assert_same
from contract import Boom

ex = ps.experimental

# The fields of tf.data 2.21, with a value of the correct type and one of a wrong type.
FIELDS = {
    "autotune.autotune_algorithm": (ex.AutotuneAlgorithm.HILL_CLIMB, "HILL_CLIMB"),
    "autotune.cpu_budget": (3, "3"),
    "autotune.enabled": (False, 0),
    "autotune.initial_parallelism": (2, 2.5),
    "autotune.min_parallelism": (1, True),
    "autotune.ram_budget": (1 << 30, "1G"),
    "count_all": (True, 1),
    "dataset_name": ("train", 3),
    "deterministic": (False, 0),
    "executor": ("process", 1),
    "experimental_deterministic": (False, "no"),
    "experimental_distribute.auto_shard_policy": (ex.AutoShardPolicy.OFF, -1),
    "experimental_distribute.num_devices": (2, "2"),
    "experimental_external_state_policy": (ex.ExternalStatePolicy.IGNORE, 1),
    "experimental_service.pinned": (True, 1),
    "experimental_slack": (True, 1),
    "experimental_symbolic_checkpoint": (True, 1),
    "experimental_threading.max_intra_op_parallelism": (1, "1"),
    "experimental_warm_start": (True, 1),
    "framework_type": (["TF"], "TF"),
    "memory_limit": (1 << 20, 1.5),
    "slow_element_seconds": (0.5, "1"),
    "stall_seconds": (5.0, True),
    "threading.max_intra_op_parallelism": (1, "1"),
    "threading.private_threadpool_size": (2, "2"),
    "warm_start": (True, 1),
    "warn": (True, 1),
}
FIELDS |= {
    f"experimental_optimization.{name}": (True, 1)
    for name in dir(ex.OptimizationOptions())
    if name[0] != "_" and name not in {"merge", "of", "set_values"}
}


def test_all_optimizations_of_tf_data_are_there():
    wanted = """apply_default_optimizations filter_fusion filter_parallelization
    inject_prefetch map_and_batch_fusion map_and_filter_fusion map_fusion map_parallelization
    noop_elimination parallel_batch seq_interleave_prefetch shuffle_and_repeat_fusion"""
    assert [n.split(".")[1] for n in FIELDS if n.startswith("experimental_opt")] == wanted.split()


def get(options, name):
    for part in name.split("."):
        options = getattr(options, part)
    return options


def put(options, name, value):
    *groups, last = name.split(".")
    setattr(get(options, ".".join(groups)) if groups else options, last, value)


def options_with(**values):
    options = ps.Options()
    for name, value in values.items():
        put(options, name.replace("__", "."), value)
    return options


@pytest.mark.parametrize("name", FIELDS)
def test_every_option_is_set_kept_merged_pickled_and_unset(name):
    good, bad = FIELDS[name]
    options = ps.Options()
    unset = get(options, name)
    assert unset is None or name == "experimental_distribute.auto_shard_policy"
    put(options, name, good)
    assert get(options, name) == good
    assert options != ps.Options()
    assert repr(good) in repr(options)
    ds = ps.Dataset.range(20).map(abs, ps.AUTOTUNE).batch(3).with_options(options).prefetch(1)
    copy = pickle.loads(pickle.dumps(ds))
    assert ds.options() == copy.options() == pickle.loads(pickle.dumps(options)) == options
    assert sorted(int(x) for x in copy.unbatch()) == list(range(20))
    for wrong in (bad, object()):
        with pytest.raises(TypeError, match=r"was expected, got"):
            put(options, name, wrong)
    assert get(options, name) == good
    put(options, name, None)
    assert get(options, name) == unset
    assert options == ps.Options()


@pytest.mark.parametrize(
    "name",
    [
        *("autotune.cpu_budget", "autotune.min_parallelism", "autotune.initial_parallelism"),
        *("memory_limit", "threading.private_threadpool_size"),
    ],
)
def test_negative_numbers_are_refused_where_they_are_set(name):
    with pytest.raises(ValueError, match=rf"^\w+\.{name.rpartition('.')[2]} must be >= 0, got -1"):
        put(ps.Options(), name, -1)


def test_unknown_names_are_refused_with_a_guess():
    with pytest.raises(AttributeError, match=r"no option 'determinstic'; perhaps deterministic$"):
        ps.Options().determinstic = True
    with pytest.raises(AttributeError, match="AutotuneOptions: there is no option 'cpus'"):
        ps.Options().autotune.cpus = 3
    with pytest.raises(AttributeError):
        ps.Options().cpus
    with pytest.raises(TypeError, match="AutotuneOptions was expected"):
        ps.Options().autotune = {"cpu_budget": 1}


def test_groups_can_be_made_by_themselves():
    tuning = ex.AutotuneOptions()
    tuning.cpu_budget = 5
    options = ps.Options()
    options.autotune = tuning
    assert options == options_with(autotune__cpu_budget=5)
    assert ps.ThreadingOptions is ex.ThreadingOptions


def test_two_names_of_one_option():
    options = options_with(memory_limit=5, experimental_warm_start=True)
    assert (options.autotune.ram_budget, options.warm_start) == (5, True)
    options.experimental_threading.private_threadpool_size = 3
    assert options.threading.private_threadpool_size == 3
    options.autotune.ram_budget = 7
    assert options.memory_limit == 7


def test_options_compare_by_what_is_set_and_do_not_hash():
    assert ps.Options() == ps.Options() != options_with(deterministic=True)
    assert ps.Options() != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(ps.Options())


def test_the_later_of_two_values_counts():
    first = options_with(deterministic=False, autotune__cpu_budget=2)
    later = options_with(deterministic=True, warm_start=True)
    wanted = options_with(deterministic=True, autotune__cpu_budget=2, warm_start=True)
    assert first.merge(later) == wanted
    assert first == options_with(deterministic=False, autotune__cpu_budget=2)
    ds = ps.Dataset.range(3).with_options(first).batch(2).with_options(later)
    assert ds.options() == wanted


def test_of_inputs_that_disagree_the_last_one_counts_with_a_warning():
    one = ps.Dataset.range(3).with_options(options_with(deterministic=False))
    two = ps.Dataset.range(3).with_options(options_with(deterministic=True, dataset_name="two"))
    with pytest.warns(RuntimeWarning, match=r"zip: .*deterministic is False and True; the last"):
        ds = ps.Dataset.zip(one, two)
    assert ds.options() == options_with(deterministic=True, dataset_name="two")


def test_changing_options_later_changes_no_dataset():
    options = options_with(deterministic=False)
    ds = ps.Dataset.range(3).with_options(options)
    options.deterministic = True
    ds.options().deterministic = True
    assert ds.options().deterministic is False


# --- effects ---


class Calls:
    """Counts concurrent calls; releases them when the expected number have met."""

    def __init__(self, expected=None):
        self.changed = threading.Condition()
        self.running = self.most = 0
        self.expected = expected

    def __call__(self, x):
        with self.changed:
            self.running += 1
            self.most = max(self.most, self.running)
            self.changed.notify_all()
            if self.expected:
                assert self.changed.wait_for(lambda: self.most >= self.expected, 20)
        with self.changed:
            self.running -= 1
        return x


def widths(it):
    return [stage["parallelism"] for stage in it.stats() if "map" in stage["kind"]]


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_cpu_budget_bounds_the_calls_of_all_stages_together(budget):
    calls = Calls()
    ds = ps.Dataset.range(300).map(calls, ps.AUTOTUNE).map(calls, ps.AUTOTUNE)
    options = options_with(autotune__cpu_budget=budget, autotune__initial_parallelism=8)
    with iter(ds.with_options(options)) as it:
        assert len(list(it)) == 300
        # A stage always runs at least one.
        assert len(widths(it)) == 2
        assert min(widths(it)) >= max(budget // 2, 1)
        assert sum(widths(it)) <= max(budget, 2)
    assert calls.most <= max(budget, 2)


def test_cpu_budget_bounds_interleave():
    calls = Calls()
    ds = ps.Dataset.range(20).interleave(
        lambda x: ps.Dataset.range(10).map(calls), 10, num_parallel_calls=ps.AUTOTUNE
    )
    ds = ds.with_options(options_with(autotune__cpu_budget=2))
    assert len(list(ds)) == 200
    assert calls.most <= 2


def test_a_number_of_calls_that_was_asked_for_is_no_matter_of_the_budget():
    ds = ps.Dataset.range(6).map(Calls(3), 3)
    ds = ds.with_options(options_with(autotune__cpu_budget=1))
    assert len(list(ds)) == 6


def test_initial_parallelism_is_where_it_starts():
    ds = ps.Dataset.range(30).map(Calls(5), ps.AUTOTUNE)
    with iter(ds.with_options(options_with(autotune__initial_parallelism=5))) as it:
        next(it)
        assert widths(it) == [5]


def test_min_parallelism_lifts_the_start_and_the_most():
    ds = ps.Dataset.range(60).map(Calls(20), ps.AUTOTUNE)
    options = options_with(autotune__initial_parallelism=1, autotune__min_parallelism=20)
    with iter(ds.with_options(options)) as it:
        next(it)
        assert widths(it) == [20]


def slow_range(event, n):
    return ps.Dataset.range(n).map(lambda x: (event.wait(0.01), x)[1], ps.AUTOTUNE)


@pytest.mark.parametrize("enabled", [True, False])
def test_enabled_false_fixes_what_autotune_would_move(enabled):
    # The consumer waits all the time: a stage that can be tuned is tuned within three windows.
    options = options_with(
        autotune__enabled=enabled, autotune__initial_parallelism=2, autotune__cpu_budget=4
    )
    moves = []
    with iter(slow_range(threading.Event(), 3000).with_options(options)) as it:
        for i, _ in enumerate(it):
            moves = it.tuning_moves()
            if moves or i > 200:  # 201 elements take 1 s: two windows
                break
        assert widths(it) == ([2] if not enabled else [moves[0]["to"]])
    assert bool(moves) == enabled


def test_enabled_false_fixes_the_buffer_of_prefetch():
    options = options_with(autotune__enabled=False)
    with iter(ps.Dataset.range(20000).prefetch(ps.AUTOTUNE).with_options(options)) as it:
        for _ in it:
            pass
        assert it.stats()[0]["buffer_limit"] == 2


@pytest.mark.parametrize("kind", ["map", "prefetch", "batch"])
def test_warm_start_begins_when_the_iterator_is_made(kind):
    begun = threading.Event()

    def function(x):
        begun.set()
        return x

    ds = {
        "map": lambda ds: ds.map(function, 2),
        "prefetch": lambda ds: ds.map(function).prefetch(1),
        "batch": lambda ds: ds.map(function, 2).batch(2).take(50).enumerate(),
    }[kind](ps.Dataset.range(100))
    cold = iter(ds)
    with iter(ds.with_options(options_with(warm_start=True))) as it:
        assert begun.wait(60)
        begun.clear()
        state = it.get_state()
        wanted = list(cold)
        assert_same(list(it), wanted)
        it.set_state(state)
        assert_same(list(it), wanted)


def test_without_warm_start_nothing_runs_before_the_first_element():
    called = threading.Event()
    ds = ps.Dataset.range(9).map(lambda x: (called.set(), x)[1], 2).prefetch(2)
    before = threading.active_count()
    it = iter(ds)
    assert threading.active_count() == before
    assert not called.wait(0.05)
    next(it)
    assert called.is_set()


def test_a_warm_start_that_is_given_up_leaves_nothing():
    def function(x):
        return x

    for _ in range(20):
        it = iter(ps.Dataset.range(99).map(function, 2).with_options(options_with(warm_start=True)))
        del it
    gc.collect()


def test_an_error_of_a_warm_start_is_told_by_the_first_element(tmp_path):
    ds = ps.TextLineDataset(str(tmp_path / "missing")).prefetch(1)
    it = iter(ds.with_options(options_with(warm_start=True)))
    with pytest.raises(FileNotFoundError):
        next(it)


def boom(x):
    raise Boom("no")


def test_dataset_name_is_in_errors_and_statistics():
    ds = ps.Dataset.range(3).map(boom, 2).with_options(options_with(dataset_name="train"))
    it = iter(ds)
    with pytest.raises(Boom) as error:
        next(it)
    assert "dataset: train" in error.value.__notes__
    assert {stage["dataset"] for stage in it.stats()} == {"train"}
    plain = iter(ps.Dataset.range(3))
    next(plain)
    assert {stage["dataset"] for stage in plain.stats()} == {None}


def test_dataset_name_is_in_traces():
    ps._core.trace_start(1000)
    try:
        named = ps.Dataset.range(300).map(abs, 2)
        list(named.with_options(options_with(dataset_name="train")))
        list(ps.Dataset.range(30))
    finally:
        trace = ps._core.trace_stop()
    assert '"train: map(abs)"' in trace
    assert '"range"' in trace


@pytest.mark.parametrize(
    ("read", "near"),
    [
        (lambda o: o.determinstic, "perhaps deterministic"),
        (lambda o: o.autotun.enabled, "perhaps autotune"),
        (lambda o: o.threading.private_threadpoolsize, "perhaps private_threadpool_size"),
        (lambda o: o.ram_budget, "perhaps autotune.ram_budget"),
        (lambda o: o.memory_limits, "perhaps memory_limit"),
        (lambda o: setattr(o, "privat_threadpool_size", 2), "threading.private_threadpool_size"),
    ],
)
def test_a_misspelt_option_names_the_nearest(read, near):
    with pytest.raises(AttributeError, match=near) as error:
        read(ps.Options())
    assert "there is no option" in str(error.value)
    assert not hasattr(ps.Options(), "__wrapped__")
