"""Debug mode: the same results, everything in the consumer's thread, and pdb works."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import AHEAD, PARALLEL, Boom, steps

ex = ps.experimental

HERE = threading.get_ident


@pytest.fixture(autouse=True)
def switched_off():
    yield
    ex.disable_debug_mode()


class Threads:
    """A function that records the calling threads."""

    def __init__(self, result=lambda x: x):
        self.result = result
        self.seen = set()

    def __call__(self, *args):
        self.seen.add(HERE())
        return self.result(*args)


@ps.native
def halves(x):
    return np.add(x, ps.random.uniform((2,))) / 2


def opened(x):
    return ps.Dataset.range(int(x) % 5).map(lambda y: y + 10 * x, 2).prefetch(2)


def chain():
    """Build a pipeline in which every stage could use other threads."""
    return (
        ps.Dataset.range(60)
        .map(lambda x: x + 1, num_parallel_calls=3)
        .interleave(opened, 4, 2, num_parallel_calls=ps.AUTOTUNE)
        .prefetch(ps.AUTOTUNE)
        .shuffle(9, seed=2)
        .map(halves, num_parallel_calls=ps.AUTOTUNE)
        .batch(4, num_parallel_calls=2)
        .repeat(2)
        .prefetch(2)
    )


def test_results_are_the_same():
    ps.set_seed(3)
    wanted = list(chain())
    ps.set_seed(3)
    with ex.debug_mode():
        assert_same(list(chain()), wanted)
    ps.set_seed(None)


def test_nothing_runs_elsewhere():
    calls = [Threads(), Threads(opened), Threads(), Threads()]

    def generated():
        calls[3](0)
        yield from range(30)

    ex.enable_debug_mode()
    options = ps.Options()
    options.warm_start = True
    ds = (
        ps.Dataset.from_generator(generated)
        .map(calls[0], 4)
        .interleave(calls[1], 3, num_parallel_calls=3)
        .map(calls[2], ps.AUTOTUNE, deterministic=False)
        .prefetch(3)
        .with_options(options)
    )
    before = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    with iter(ds) as it:
        for _ in it:
            assert len(os.listdir("/proc/self/task")) <= before  # noqa: PTH208
    assert [each.seen for each in calls] == [{HERE()}] * 4


def test_only_what_is_asked_for_is_made():
    made = []
    ds = ps.Dataset.range(9).map(lambda x: made.append(int(x)) or x, 4).prefetch(5)
    with ex.debug_mode(), iter(ds) as it:
        next(it)
        assert made == [0]
        next(it)
        assert made == [0, 1]


def test_it_is_the_making_of_the_iterator_that_counts():
    ds = ps.Dataset.range(3).map(Threads(), 2)
    with ex.debug_mode():
        debugged = iter(ds)
        with ex.debug_mode():
            pass
        assert ps.debugging.enabled()
    assert not ps.debugging.enabled()
    ds = ps.Dataset.range(3).map(call := Threads(), 2)
    assert_same(list(debugged), [0, 1, 2])
    assert_same(list(ds), [0, 1, 2])
    assert HERE() not in call.seen


def test_native_functions_are_plain_python():
    seen = []

    @ps.native
    def double(x, y):
        seen.append((x, y))
        return {"sum": x + y, "pair": (x, y)}

    ds = ps.Dataset.range(4).enumerate().map(double, 2)
    predicate = ps.native(lambda row: (seen.append(row), row["sum"] > 2)[1])
    ds = ds.filter(predicate)
    wanted = list(ds)
    del seen[:]
    with ex.debug_mode():
        assert_same(list(ds), wanted)
    assert seen[0] == (0, 0)
    assert isinstance(seen[0][0], np.int64)
    assert any(isinstance(each, dict) and each["sum"] == 4 for each in seen)
    it = iter(ds)
    del seen[:]
    assert_same(list(it), wanted)
    assert seen == []


USERS = {
    "map": lambda ds, f, _: ds.map(f),
    "parallel map": lambda ds, f, _: ds.map(f, num_parallel_calls=2),
    "at": lambda ds, f, _: [ex.at(ds.map(f), 3)],
    "filter": lambda ds, f, _: ds.filter(lambda x: x > 1).filter(f(lambda x: x > 2)),
    "take_while": lambda ds, f, _: ds.take_while(f(lambda x: x < 4)),
    "scan": lambda ds, f, _: ds.scan(np.int64(0), f(lambda state, x: (state + x, state))),
    "group_by_window": lambda ds, f, _: ds.group_by_window(
        f(lambda x: x % 2), lambda _, rows: rows.batch(2), 2
    ),
    "rejection_resample": lambda ds, f, _: ds.rejection_resample(
        f(lambda x: x % 2), [0.5, 0.5], seed=3
    ),
    "snapshot": lambda ds, f, path: ds.snapshot(str(path), shard_func=f(lambda x: x % 2)),
}


@pytest.mark.parametrize("user", USERS)
def test_every_user_of_a_native_function_calls_plain_python(user, tmp_path):
    calls = []

    def native(function=lambda x: x + 1):
        def called(*args):
            calls.extend(map(type, args))  # the types differ during tracing
            return function(*args)

        return ps.native(called)

    build = USERS[user]
    function = native() if "map" in user or user == "at" else native
    ps.set_seed(6)
    runs = []
    for mode, path in enumerate([tmp_path / "usual", tmp_path / "debugged"]):
        del calls[:]
        if mode:
            ex.enable_debug_mode()
        runs.append(list(build(ps.Dataset.range(6), function, path)))
        assert (np.int64 in calls) == bool(mode)
    assert_same(*runs)
    ps.set_seed(None)


def test_a_native_function_that_opens_files_is_plain_python(tmp_path):
    names = []
    for i in range(3):
        names.append(str(tmp_path / f"{i}.txt"))
        (tmp_path / f"{i}.txt").write_text(f"{i}a\n{i}b\n")
    ds = ps.Dataset.from_tensor_slices(names).interleave(
        ps.native(lambda name: ps.TextLineDataset(name)), 2, num_parallel_calls=2
    )
    wanted = list(ds)
    assert len(wanted) == 6
    with ex.debug_mode():
        assert_same(list(ds), wanted)


@pytest.mark.parametrize("variant", AHEAD + PARALLEL, ids=str)
def test_errors_are_at_the_same_places(variant):
    def boom(x):
        if x % 4 == 2:
            raise Boom(str(x))
        return x

    ds = ps.Dataset.range(11).map(boom, variant.calls).prefetch(variant.ahead or 0)
    wanted = steps(iter(ds))
    with ex.debug_mode():
        assert steps(iter(ds)) == wanted


@pytest.mark.parametrize("at", [0, 1, 7, 20])
@pytest.mark.parametrize("first", [False, True])
def test_states_go_from_one_mode_to_the_other(at, first):
    ps.set_seed(8)
    wanted = list(chain())
    ps.set_seed(8)
    if first:
        ex.enable_debug_mode()
    it = iter(chain())
    came = [next(it) for _ in range(at)]
    state = it.get_state()
    (ex.disable_debug_mode if first else ex.enable_debug_mode)()
    other = iter(chain())
    other.set_state(state)
    again = other.get_state()
    assert_same([*came, *other], wanted)
    (ex.enable_debug_mode if first else ex.disable_debug_mode)()
    third = iter(chain())
    third.set_state(again)
    assert_same([*came, *third], wanted)
    ps.set_seed(None)


def test_reshuffling_goes_on_through_both_modes():
    def epochs(debug):
        ds = ps.Dataset.range(20).shuffle(20, seed=1).prefetch(1)
        came = []
        for on in debug:
            (ex.enable_debug_mode if on else ex.disable_debug_mode)()
            came.append([int(x) for x in ds])
        return came

    assert epochs([False, True, False]) == epochs([True, False, True])


SCRIPT = """
import penstock as ps

@ps.native
def scaled(x):
    if ps.debugging.enabled():
        breakpoint()
    return x * 3

{enable}
ds = ps.Dataset.range(5, 8).map(lambda x: x, 4).map(scaled, num_parallel_calls=2).prefetch(2)
print([int(x) for x in ds])
"""


def debug_with_pdb(script, commands, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        input="\n".join(commands) + "\n",
        text=True,
        capture_output=True,
        timeout=100,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.parametrize("how", ["function", "environment"])
def test_pdb_works_inside_functions(how):
    enable = "ps.experimental.enable_debug_mode()" if how == "function" else ""
    environment = {} if how == "function" else {"PENSTOCK_DEBUG": "1"}
    commands = ["c", "c"]  # during tracing
    commands += ["p 'x is', x + 100", "import threading", "p threading.current_thread().name"]
    commands += ["n", "n", "p __return__", "c", "p 'then', x", "x = 70", "c", "c"]
    done = debug_with_pdb(SCRIPT.format(enable=enable), commands, **environment)
    assert done.returncode == 0, done.stderr
    assert "('x is', np.int64(105))" in done.stdout
    assert "'MainThread'" in done.stdout
    assert "('then', np.int64(6))" in done.stdout
    assert done.stdout.rstrip().endswith("[15, 210, 21]")


def test_quitting_pdb_ends_the_program_as_itself():
    script = """
    import penstock as ps
    ps.experimental.enable_debug_mode()
    def function(x):
        breakpoint()
        return x
    list(ps.Dataset.range(3).map(function, 2).prefetch(1))
    """
    done = debug_with_pdb(script, ["q"])
    assert done.returncode != 0
    assert "bdb.BdbQuit" in done.stderr
