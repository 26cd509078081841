"""Pipelines of any depth in threads with any stack size: a result or an error, never a crash."""

import pytest

from scripts import run_script

# Each adds stages that leave a dataset of the numbers 1, 2, 3 unchanged.
GROWING = """
import collections, gc, pickle, tempfile

SCALAR = ps.TensorSpec((), np.int64)
GROWING = {
    "take": lambda ds: ds.take(5),
    "skip": lambda ds: ds.skip(0),
    "map": lambda ds: ds.map(int),
    "filter": lambda ds: ds.filter(lambda x: True),
    "batch": lambda ds: ds.batch(1).unbatch(),
    "flat_map": lambda ds: ds.flat_map(Dataset.from_tensors),
    "interleave": lambda ds: ds.interleave(Dataset.from_tensors, cycle_length=2),
    "window": lambda ds: ds.window(1).flat_map(lambda window: window),
    "concatenate": lambda ds: ds.concatenate(Dataset.range(0)),
    "zip": lambda ds: Dataset.zip((ds,)).map(lambda x: x, output_signature=SCALAR),
    "enumerate": lambda ds: ds.enumerate().map(lambda i, x: x, output_signature=SCALAR),
    "repeat": lambda ds: ds.repeat(1),
    "shuffle": lambda ds: ds.shuffle(1),
    "cache": lambda ds: ds.cache(),
    "shard": lambda ds: ds.shard(1, 0),
    "shard_evenly": lambda ds: ds.shard_evenly(1, 0),
    "unique": lambda ds: ds.unique(),
    "take_while": lambda ds: ds.take_while(lambda x: True),
    "scan": lambda ds: ds.scan(np.int64(0), lambda state, x: (state, x)),
    "group_by_window": lambda ds: ds.group_by_window(
        lambda x: np.int64(0), lambda key, window: window, window_size=1
    ),
    "sample": lambda ds: Dataset.sample_from_datasets([ds, Dataset.range(0)], seed=1),
    "ignore_errors": lambda ds: ds.apply(ps.experimental.ignore_errors()),
    "assert_cardinality": lambda ds: ds.apply(ps.experimental.assert_cardinality(3)),
    "prefetch(0)": lambda ds: ds.prefetch(0),
}

def grown(kind):
    "All that can be made, and why there are no more."
    made = [Dataset.range(1, 4)]
    try:
        while len(made) < 5000:
            made.append(GROWING[kind](made[-1]))
    except (RecursionError, ValueError) as error:
        return made, error

def runs(ds):
    try:
        with iter(ds) as it:
            next(it)
    except RecursionError as error:
        assert "stages deep" in str(error) and "threading.stack_size" in str(error), error
        return False
    return True

def deepest(made):
    low, high = 0, len(made)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if runs(made[middle]) else (low, middle)
    return low

def use(ds):
    it = iter(ds)
    first = next(it)
    state = it.get_state()
    rest = [int(x) for x in it]
    again = iter(ds)
    again.set_state(state)
    assert [int(x) for x in again] == rest, rest
    assert sorted([int(first), *rest]) == [1, 2, 3], (first, rest)

def ask(ds):
    "What is answered, or refused with an error."
    for question in (
        len, repr, hash, lambda ds: ds.cardinality(), lambda ds: ds.element_spec,
        lambda ds: ds.fingerprint(), lambda ds: ds.options(), lambda ds: pickle.dumps(ds),
        lambda ds: next(iter(ds)), lambda ds: iter(ds).get_state(), lambda ds: list(ds.prefetch(1)),
        lambda ds: ds.save(folder.name + "/x"), lambda ds: next(iter(ds.repeat(2).batch(2))),
        lambda ds: ps.experimental.at(ds, 1),
    ):
        try:
            question(ds)
        except (RecursionError, TypeError, ValueError, AttributeError):  # lambdas have no pickles
            pass

def in_thread(stack, work):
    global folder
    with tempfile.TemporaryDirectory() as name:
        folder = collections.namedtuple("Folder", "name")(name)
        former = threading.stack_size(stack)
        thread = threading.Thread(target=work)
        thread.start()
        threading.stack_size(former)
        thread.join()
"""


def run_deep(code, timeout=60):
    done = run_script(GROWING + code, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def depths_in(kilobytes, kinds):
    told = run_deep(f"""
def work():
    for kind in {kinds}:
        made, _ = grown(kind)
        depth = deepest(made)
        use(made[depth - 1])
        ask(made[depth])
        ask(made[-1])
        print(kind, depth)
        made.clear()
in_thread({kilobytes} << 10, work)
""")
    return dict(line.rsplit(" ", 1) for line in told.splitlines())


@pytest.mark.slow
def test_pipelines_of_all_stages_run_to_the_depth_that_a_short_stack_carries():
    depths = depths_in(256, "GROWING")
    assert len(depths) > 20
    assert all(int(depth) >= 20 for depth in depths.values()), depths


@pytest.mark.slow
def test_the_depth_grows_with_the_stack():
    depths = depths_in(1024, ["take", "map", "concatenate", "zip", "cache"])
    assert all(int(depth) >= 100 for depth in depths.values()), depths


def test_a_run_goes_on_or_is_refused_in_a_thread_with_a_shorter_stack():
    told = run_deep("""
made, error = grown("skip")
assert "at most 2000" in str(error), error
its = [iter(made[n]) for n in (10, 400, 400, 1900)]
for it in its:
    next(it)
def work():
    print([int(x) for x in its[0]])
    for ask in (next, lambda it: it.get_state()):
        try:
            ask(its[1])
        except RecursionError as error:
            print("left of this thread's stack" in str(error))
    its[2].close()
    its.pop()
    gc.collect()
in_thread(128 << 10, work)
print([int(x) for x in its[1]])
""")
    assert told.splitlines() == ["[2, 3]", "True", "True", "[2, 3]"]


def test_what_changes_sides_stays_with_threads_where_the_stack_is_short():
    told = run_deep("""
from penstock import _core
deep = Dataset.range(20_000)
for _ in range(400):
    deep = deep.skip(0)
double = ps.native(lambda x: x * 2)
for ds in deep.map(double, num_parallel_calls=2), deep.map(double).prefetch(2):
    for takes in 1, 3:
        _core.change_sides(takes)
        it = iter(ds)
        came = [int(next(it)) for _ in range(100)]
        in_thread(128 << 10, lambda: came.extend(int(next(it)) for _ in range(100)))
        in_thread(128 << 10, it.get_state)
        came += [int(next(it)) for _ in range(100)]
        in_thread(128 << 10, lambda: came.extend(int(x) for x in it))
        print(came == list(range(0, 40_000, 2)))
""")
    assert told.splitlines() == ["True"] * 4


def test_plans_and_runs_end_where_the_stack_is_short():
    run_deep("""
for kind in "take", "zip", "concatenate":
    deep = grown(kind)[0][-2]
    held = [deep, iter(deep), iter(deep), deep.map(lambda x: x)]
    next(held[1])
    del deep
    in_thread(64 << 10, held.clear)
    gc.collect()
""")


@pytest.mark.slow
def test_datasets_that_functions_return_count():
    told = run_deep("""
def again(x):
    return Dataset.range(1).flat_map(again)
def work():
    for ds in Dataset.range(1).flat_map(again), Dataset.range(1).flat_map(again).prefetch(1):
        it = iter(ds)
        try:
            print(next(it))
        except RecursionError as error:
            print("stages deep" in str(error), "nested levels" in str(error), list(it))
in_thread(512 << 10, work)
work()
""")
    # Only the first uses the small stack: with `prefetch`, an engine thread runs the stages.
    assert told.splitlines() == ["True False []"] + 3 * ["False True []"]


def test_threads_of_the_engine_have_a_stack_of_their_own():
    told = run_deep("""
threading.stack_size(256 << 10)
for kind in "map", "take":  # threads of Python, and of the system
    deep = grown(kind)[0][1900]
    print(sum(int(x) for x in deep.prefetch(1)))
    print(sum(int(x) for x in deep.map(lambda x: x, num_parallel_calls=2).prefetch(1)))
print(threading.stack_size() >> 10)
""")
    assert told.splitlines() == ["6", "6", "6", "6", "256"]
