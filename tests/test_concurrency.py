"""Many threads, many iterators, nested stages."""

import collections
import pickle
import threading

import numpy as np
import pytest

import penstock as ps
from nightly import nightly
from scripts import run_script

Dataset = ps.Dataset
AUTOTUNE = ps.AUTOTUNE
Pair = collections.namedtuple("Pair", "a b")


def sorted_ints(values):
    return sorted(int(x) for x in values)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Dataset.range(n),
        lambda n: Dataset.range(n).map(lambda x: x),
        lambda n: Dataset.range(n).map(lambda x: x, num_parallel_calls=4).prefetch(4),
        lambda n: Dataset.range(n).map(lambda x: x, num_parallel_calls=4, deterministic=False),
        lambda n: Dataset.range(n).map(lambda x: Pair(x, f"{x}")).map(lambda pair: pair.a),
        lambda n: Dataset.from_generator(lambda: iter(range(n))).prefetch(4),
    ],
    ids=["range", "map", "parallel", "out of order", "named tuples", "generator"],
)
def test_eight_threads_on_one_iterator_share_its_elements(make, request):
    n = 4000
    it = iter(make(n))
    got = [[] for _ in range(8)]
    start = threading.Barrier(8)

    def work(mine):
        start.wait()
        mine.extend(it)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in got]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert sorted_ints(x for mine in got for x in mine) == list(range(n))
    if "out of order" not in request.node.name:
        assert all([int(x) for x in mine] == sorted_ints(mine) for mine in got)


def test_eight_threads_get_whole_structures():
    it = iter(
        Dataset.range(3000).map(lambda x: Pair(x, {"s": f"{x}", "v": np.full(3, x)})).prefetch(8)
    )
    got = []

    def work():
        for pair in it:
            assert isinstance(pair, Pair)
            assert pair.b["s"] == f"{pair.a}"
            assert (pair.b["v"] == pair.a).all()
            got.append(int(pair.a))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(got) == list(range(3000))


def test_sixty_four_iterators_at_once():
    its = [
        iter(Dataset.range(50).map(lambda x, i=i: x + i, num_parallel_calls=2).prefetch(2))
        for i in range(64)
    ]
    for step in range(50):
        assert [int(next(it)) for it in its] == [step + i for i in range(64)]
    assert all(next(it, None) is None for it in its)


@pytest.mark.parametrize(
    "make",
    [
        lambda f: Dataset.range(32).map(f, num_parallel_calls=8),
        lambda f: Dataset.range(32).map(f, num_parallel_calls=8).prefetch(2),
        lambda f: Dataset.range(32).filter(lambda x: f(x) >= 0, num_parallel_calls=8),
        lambda f: Dataset.range(1).flat_map(
            lambda _: Dataset.range(32).map(f, num_parallel_calls=8)
        ),
    ],
    ids=["map", "prefetch", "filter", "flat_map"],
)
def test_functions_that_wait_reach_the_full_number_of_calls(make):
    together = threading.Barrier(8, timeout=30)

    def meet(x):
        together.wait()
        return x

    assert [int(x) for x in make(meet)] == list(range(32))


def nested(x):
    inner = Dataset.range(8).interleave(
        lambda y: Dataset.range(4).map(lambda z: 32 * x + 4 * y + z, num_parallel_calls=2),
        cycle_length=4,
        num_parallel_calls=4,
    )
    return inner.map(lambda v: v, num_parallel_calls=4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_parallel_calls": 8},
        {"num_parallel_calls": 2},
        {"num_parallel_calls": AUTOTUNE},
        {"num_parallel_calls": 8, "deterministic": False},
    ],
    ids=str,
)
def test_parallel_interleaves_of_parallel_maps_of_parallel_interleaves(options):
    ds = Dataset.range(12).interleave(nested, cycle_length=8, **options)
    got = [int(x) for x in ds.map(lambda x: x, num_parallel_calls=4).prefetch(4)]
    assert sorted(got) == list(range(12 * 32))
    if options.get("deterministic") is not False:
        assert got == [int(x) for x in Dataset.range(12).interleave(nested, cycle_length=8)]


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: Dataset.range(x, x + 3),
        lambda x: Dataset.range(x, x + 3).map(lambda y: y),
        lambda x: Dataset.range(x, x + 3).map(lambda y: y, num_parallel_calls=3),
        lambda x: Dataset.range(x, x + 3).map(lambda y: y).prefetch(1),
        lambda x: Dataset.range(x, x + 3).interleave(
            Dataset.from_tensors, cycle_length=2, num_parallel_calls=2
        ),
    ],
    ids=["range", "map", "parallel map", "prefetch", "interleave"],
)
@pytest.mark.parametrize("parallel", [None, 1, 4])
def test_function_that_iterates_a_dataset(inner, parallel):
    ds = Dataset.range(40).map(lambda x: sum(int(y) for y in inner(x)), num_parallel_calls=parallel)
    assert [int(x) for x in ds.prefetch(1)] == [3 * x + 3 for x in range(40)]


def test_functions_five_deep_in_datasets():
    def deep(x, level):
        if level == 0:
            return int(x)
        ds = Dataset.range(2).map(lambda y: deep(x + y, level - 1), num_parallel_calls=2)
        return sum(int(v) for v in ds.prefetch(1))

    assert deep(1, 5) == 32 * 1 + 32 * 5 // 2


# Pipelines with a function that makes such a pipeline, recursively.
ENDLESS = {
    "interleave": "Dataset.range(2).interleave(f, cycle_length=2, num_parallel_calls=2)",
    "a wide interleave": "Dataset.range(32).interleave(f, num_parallel_calls=ps.AUTOTUNE)",
    "prefetch": "Dataset.range(2).flat_map(f).prefetch(1)",
    "map": "Dataset.range(2).flat_map(f).map(lambda x: x, num_parallel_calls=4)",
    "filter": "Dataset.range(2).flat_map(f).filter(lambda x: x >= 0, num_parallel_calls=4)",
    "group_by_window": """Dataset.range(2).group_by_window(
        lambda x: np.int64(0), lambda key, rows: f(key), window_size=1).prefetch(1)""",
    "runs": "Dataset.range(2).map(lambda x: f(x).first(), num_parallel_calls=4).prefetch(1)",
    "a loop": "Dataset.range(2).map(lambda x: next(iter(f(x))), num_parallel_calls=1)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_infinite_recursion_through_parallel_stages_is_an_error(name):
    done = run_script(
        f"""
        most = 0
        def watch():
            global most
            while most < 600:
                most = max(most, len(os.listdir("/proc/self/task")))
                time.sleep(0.01)
            print("threads", most, flush=True)
            os._exit(1)
        if sys.platform == "linux":
            threading.Thread(target=watch, daemon=True).start()
        def f(x):
            return {ENDLESS[name].replace("{", "{{").replace("}", "}}")}
        try:
            f(0).first()
        except RecursionError:
            print("a RecursionError")
        """,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "a RecursionError\n", "")


def test_deep_levels_have_the_same_elements_order_and_states_as_threads():
    def nested(level):
        def opened(x):
            if level == 0:
                return Dataset.from_tensors(x)
            ds = Dataset.range(2).map(lambda y: 10 * x + y, num_parallel_calls=2)
            return ds.interleave(nested(level - 1), cycle_length=2, num_parallel_calls=2).prefetch(
                2
            )

        return opened

    ds = nested(6)(1)
    expected = [int("1" + format(i, "06b")) for i in range(64)]
    assert sorted_ints(ds) == expected
    whole = [int(x) for x in ds]
    it = iter(ds)
    head = [int(next(it)) for _ in range(23)]
    again = iter(ds)
    again.set_state(it.get_state())
    assert head + [int(x) for x in again] == whole


@pytest.mark.parametrize(
    "make",
    [
        lambda f: Dataset.range(6).map(f),
        lambda f: Dataset.range(6).map(f).prefetch(2),
        lambda f: Dataset.range(6).map(f, num_parallel_calls=1),
        lambda f: Dataset.range(6).map(f, num_parallel_calls=3).prefetch(1),
        lambda f: Dataset.range(6).filter(lambda x: f(x) >= 0),
        lambda f: Dataset.range(6).flat_map(lambda x: Dataset.from_tensors(f(x))),
        lambda f: Dataset.range(6).interleave(
            lambda x: Dataset.from_tensors(x).map(f), cycle_length=2, num_parallel_calls=2
        ),
    ],
    ids=["map", "prefetch", "one thread", "parallel", "filter", "flat_map", "interleave"],
)
@pytest.mark.parametrize("method", ["next", "get_state"])
def test_function_that_uses_its_own_iterator_is_refused(make, method):
    held = []

    def function(x):
        if x == 3:
            next(held[0]) if method == "next" else held[0].get_state()
        return x

    it = iter(make(function))
    held.append(it)
    got = []
    with pytest.raises(RuntimeError, match=rf"^{method}: this iterator was used by a function"):
        got.extend(int(x) for x in it)
    assert got == [0, 1, 2]
    assert [int(x) for x in it] == [4, 5]


def test_empty_source_under_repeat_ends():
    for parallel in (None, 2):
        ds = Dataset.range(5).filter(lambda x: False).map(abs, num_parallel_calls=parallel)
        assert list(ds.repeat()) == []
        assert list(ds.repeat().prefetch(2)) == []
    assert list(Dataset.range(0).repeat().batch(3)) == []
    assert list(Dataset.from_generator(lambda: ()).repeat().shuffle(3)) == []


DEEP = 1000
STAGES = {
    "map": lambda ds: ds.map(int),
    "take": lambda ds: ds.take(10),
    "prefetch": lambda ds: ds.prefetch(1),
    "batch": lambda ds: ds.batch(1).unbatch(),
    "filter": lambda ds: ds.filter(bool),
    "shuffle": lambda ds: ds.shuffle(2, seed=1, reshuffle_each_iteration=False),
    "repeat": lambda ds: ds.repeat(1),
    "flat_map": lambda ds: ds.flat_map(Dataset.from_tensors),
    "zip": lambda ds: Dataset.zip((ds,)).map(int),
    "concatenate": lambda ds: ds.concatenate(Dataset.range(0)),
    "enumerate": lambda ds: ds.enumerate().map(max),
}


# The deepest pipeline of functions, below, contains more flat_maps.
@pytest.mark.parametrize("name", [*(n for n in STAGES if n != "flat_map"), *nightly("flat_map")])
def test_thousand_stages_work_also_in_a_lane(name):
    ds = Dataset.range(1, 4)
    step = len(STAGES[name](ds).__reduce__()[1][0]) - 1
    for _ in range(DEEP // step**2):
        ds = STAGES[name](ds)
    want = [int(x) for x in ds]
    assert sorted(want) == [1, 2, 3]
    assert [int(x) for x in ds.prefetch(1)] == want
    it = iter(ds)
    assert int(next(it)) == want[0]
    again = iter(ds)
    again.set_state(it.get_state())
    assert [int(x) for x in again] == [int(x) for x in it] == want[1:]
    assert len(repr(ds)) < 5000
    assert ds.cardinality() in (3, ps.UNKNOWN_CARDINALITY)
    copy = pickle.loads(pickle.dumps(ds))
    assert [int(x) for x in copy] == want


def deeper(ds):
    while True:
        ds = ds.take(3)
        yield ds


def test_too_many_stages_are_an_error_when_built():
    ds = Dataset.range(3)
    made = [ds]
    with pytest.raises(ValueError, match=r"stages deep, at most .*fewer stages"):
        made.extend(deeper(ds))
    assert list(made[-1]) == [0, 1, 2]  # the deepest allowed nesting runs


@pytest.mark.slow
@pytest.mark.timeout(200)  # each of the 2,000 stages marks the position of all stages below it
def test_deepest_pipeline_of_functions_runs_in_a_lane():
    done = run_script(
        """
        ds = Dataset.range(3)
        try:
            while True:
                ds = ds.flat_map(Dataset.from_tensors)
        except ValueError:
            pass
        print(sum(int(x) for x in ds._inputs[0].prefetch(1)))
    """,
        timeout=180,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


@pytest.mark.parametrize("install", ["settrace", "setprofile"])
def test_functions_in_lanes_are_traced(install):
    done = run_script(f"""
        seen = set()
        def tracer(frame, event, arg):
            seen.add((frame.f_code.co_name, event))
            return tracer
        def marked(x):
            return x + 1
        threading.{install}(tracer)
        for _ in Dataset.range(9).map(marked, num_parallel_calls=2):
            pass
        print(sorted(event for name, event in seen if name == "marked"))
    """)
    events = "['call', 'line', 'return']" if install == "settrace" else "['call', 'return']"
    assert (done.stdout, done.stderr) == (events + "\n", "")


def test_thread_locals_of_a_lane_last_for_its_run():
    local = threading.local()
    made = []

    def function(x):
        if not hasattr(local, "connection"):
            local.connection = object()
            made.append(threading.get_ident())
        return x

    list(Dataset.range(500).map(function, num_parallel_calls=3))
    assert len(made) == len(set(made)) <= 3


@pytest.mark.slow
def test_starting_and_ending_under_load():
    stop = threading.Event()
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        while not stop.is_set():
            n, k = int(rng.integers(1, 60)), int(rng.integers(0, 60))
            ds = (
                Dataset.range(n)
                .map(lambda x: x, num_parallel_calls=AUTOTUNE, deterministic=bool(rng.integers(2)))
                .prefetch(AUTOTUNE)
            )
            it = iter(ds)
            got = [int(x) for x, _ in zip(it, range(k), strict=False)]
            if k % 3 == 0:
                it.close()
            if len(set(got)) != len(got) or len(got) != min(n, k):
                failures.append((n, k, got))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    stop.wait(2)
    stop.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert failures == []


@pytest.mark.slow
def test_development_mode_with_warnings_as_errors_is_silent():
    done = run_script(
        """
        ds = Dataset.range(50).map(lambda x: np.full(3, x), num_parallel_calls=2)
        ds = ds.batch(5).prefetch(2)
        for i in range(3):
            it = iter(ds)
            next(it)
            if i == 1:
                it.close()
            if i == 2:
                del it
        print(sum(int(b.sum()) for b in ds))
    """,
        "-X",
        "dev",
        "-W",
        "error",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{3 * 1225}\n", "")
