"""States over caches and snapshots: the same elements as without interruption, or a refusal."""

import random

import numpy as np
import pytest

import penstock as ps


def draw(x):
    return x + ps.random.uniform((), 0, 1000, np.int64)


def never_the_first(x):
    if x == 0:
        raise ValueError("bad")
    return draw(x)


def at_times(x):
    drawn = draw(x)
    if drawn % 5 == 0:
        raise ValueError("bad")
    return drawn


KEPT = {
    "memory": lambda ds, folder: ds.cache(),
    "file": lambda ds, folder: ds.cache(folder / "cache"),
    "snapshot": lambda ds, folder: ds.snapshot(folder / "snap"),
}


def steps(it, most=10_000):
    """Return the steps as ints and lists of ints, an error as its type."""
    came = []
    while len(came) < most:
        try:
            element = next(it)
        except StopIteration:
            break
        except ps.errors.StateError:
            raise
        except ValueError:
            came.append("error")
            continue
        came.append(np.asarray(element).tolist())
    return came


def run_of(make, folder, seed=1):
    """Return the steps of a run, and its state at each position."""
    ps.random.set_seed(seed)
    it = iter(make(folder))
    states, came = [], []
    while True:
        states.append(it.get_state())
        step = steps(it, 1)
        if not step:
            return came, states
        came += step


def restored(ds, state):
    it = iter(ds)
    it.set_state(state)
    return steps(it)


def folders(tmp_path):
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        yield folder


def check(make, tmp_path, refused=(), seed=1):
    """Restore at each position: with its own run's cache, with none, and with another run's."""
    fresh = folders(tmp_path)
    first = next(fresh)
    want, states = run_of(make, first, seed)
    for at, state in enumerate(states):
        assert restored(make(first), state) == want[at:], ("after the run", at)
    ds = make(next(fresh))
    came, own = run_of(lambda _: ds, None)
    for at, state in enumerate(own):
        assert restored(ds, state) == came[at:], ("by its own dataset", at)
    for at, state in enumerate(states):
        # A run that stops there, whose state is restored immediately by the same dataset.
        ds = make(next(fresh))
        it = iter(ds)
        it.set_state(states[0])
        assert steps(it, at) == want[:at]
        stopped = it.get_state()
        assert restored(ds, stopped) == want[at:], ("where it stopped", at)
        assert steps(it) == want[at:], ("beside a restored one", at)
        ds = make(next(fresh))
        ps.random.set_seed(77)
        steps(iter(ds))
        for said in (state, stopped):
            try:
                came = restored(ds, said)
            except ps.errors.StateError:
                assert "snapshot" in refused, ("refused", at)
                continue
            assert came == want[at:], ("after another run", at)


def random_plan(number):
    """Return a function from a folder to a dataset, and a description of its plan."""
    rng = random.Random(number)
    function = rng.choice([draw, draw, never_the_first, at_times])
    length = rng.randrange(2, 6)
    before = rng.choice(["", "", "shuffle", "batch"])
    kept = rng.choice(list(KEPT))
    behind = [
        rng.choice(
            ["shuffle", "repeat", "ignore_errors", "zip", "resample", "batch", "concatenate"]
        )
        for _ in range(rng.randrange(1, 4))
    ]

    def make(folder):
        ds = ps.Dataset.range(length)
        ds = ds.shuffle(3) if before == "shuffle" else ds
        ds = ds.map(function)
        ds = ds.batch(2).unbatch() if before == "batch" else ds
        ds = KEPT[kept](ds, folder)
        for stage in behind:
            match stage:
                case "shuffle":
                    ds = ds.shuffle(3)
                case "repeat":
                    ds = ds.repeat(2)
                case "ignore_errors":
                    ds = ds.ignore_errors()
                case "zip":
                    ds = ps.Dataset.zip(ds, ds).map(lambda a, b: 1000 * a + b)
                case "resample":
                    ds = ds.rejection_resample(lambda x: x % 2, [0.5, 0.5], [0.4, 0.6], seed=number)
                    ds = ds.map(lambda _, x: x)
                case "batch":
                    ds = ds.batch(2).unbatch()
                case "concatenate":
                    ds = ds.concatenate(ds)
        return ds

    return make, (kept, function.__name__, length, before, *behind)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 40, 5))
def test_random_plans_go_on_as_they_would_have(first, tmp_path):
    for number in range(first, first + 5):
        make, plan = random_plan(number)
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            check(make, folder, plan)
        except AssertionError as error:
            error.add_note(f"plan {number}: {plan}")
            raise


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize(
    "again", [lambda ds: ds.repeat(2), lambda ds: ds.concatenate(ds)], ids=["repeat", "concatenate"]
)
@pytest.mark.parametrize("known", [True, False])
def test_a_pass_is_through_at_the_same_moment_whether_it_reads_or_fills(
    kept, again, known, tmp_path
):
    # Of four concurrent passes, some fail, and the next passes find elements that others have
    # cached.
    def make(folder):
        ds = ps.Dataset.range(2).map(at_times)
        ds = ds if known else ds.batch(2).unbatch()
        ds = again(KEPT[kept](ds, folder))
        for _ in range(2):
            ds = ps.Dataset.zip(ds, ds).map(lambda a, b: 1000 * a + b)
        return ds

    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check(make, folder, kept, seed)


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("function", [never_the_first, at_times])
@pytest.mark.parametrize("order", ["range", "shuffle"])
def test_a_pass_in_which_an_element_failed_has_filled_nothing(kept, function, order, tmp_path):
    def make(folder):
        ds = ps.Dataset.range(4)
        ds = ds.shuffle(4) if order == "shuffle" else ds
        return KEPT[kept](ds.map(function), folder).ignore_errors().repeat(3)

    check(make, tmp_path, kept)


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("at", range(4))
def test_a_filling_pass_goes_on_when_another_one_was_faster(kept, at, tmp_path):
    ds = KEPT[kept](ps.Dataset.range(6).map(draw), tmp_path).shuffle(3, seed=1)
    it = iter(ds)
    came = steps(it, at)
    state = it.get_state()
    other = steps(iter(ds))
    want = steps(it)
    assert sorted(came + want) != sorted(other)
    assert restored(ds, state) == want


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("seed", range(3))
def test_two_passes_side_by_side_are_both_known(kept, seed, tmp_path):
    def resampled(folder):
        ds = KEPT[kept](ps.Dataset.range(12).map(draw), folder)
        ds = ds.rejection_resample(lambda x: x % 2, [0.5, 0.5], [0.4, 0.6], seed=seed)
        return ds.map(lambda _, x: x)

    def zipped(folder):
        ds = KEPT[kept](ps.Dataset.range(3).map(draw), folder)
        return ps.Dataset.zip(ds, ds).repeat(2)

    for make in (resampled, zipped):
        folder = tmp_path / make.__name__
        folder.mkdir()
        check(make, folder, kept)


@pytest.mark.parametrize("how", ["shard_func", "reader_func"])
def test_the_order_of_a_snapshot_is_kept_or_its_state_refused(how, tmp_path):
    options = {
        "shard_func": {"shard_func": lambda x: x % 3},
        "reader_func": {
            "reader_func": lambda files: files.flat_map(lambda f: f.skip(2).concatenate(f.take(2)))
        },
    }

    def make(folder):
        return ps.Dataset.range(6).map(draw).snapshot(folder / "snap", **options[how]).repeat(3)

    fresh = folders(tmp_path)
    first = next(fresh)
    want, states = run_of(make, first)
    assert want[:6] != want[6:12] == want[12:]
    check(make, next(fresh), "snapshot")
    for at in range(6):
        empty = next(fresh)  # a later epoch first makes all elements, to read them in its own order
        assert restored(make(empty), states[at]) == want[at:]
    with pytest.raises(ps.errors.StateError, match=r"snapshot in .* which is not there any more"):
        restored(make(next(fresh)), states[8])


def test_a_state_of_another_snapshot_says_what_to_do(tmp_path):
    ds = ps.Dataset.range(6).map(draw).snapshot(tmp_path / "one")
    list(ds)
    it = iter(ds)
    next(it)
    state = it.get_state()
    other = ps.Dataset.range(6).map(draw).snapshot(tmp_path / "two")
    list(other)
    with pytest.raises(ps.errors.StateError, match=r"which is another one by now; bring it back"):
        restored(other, state)


def test_a_later_epoch_keeps_what_the_restored_one_could_not(tmp_path):
    calls = []

    def counted(x):
        calls.append(1)
        return draw(x)

    def make(folder):
        return ps.Dataset.range(4).map(counted).cache(folder / "cache").repeat(4)

    fresh = folders(tmp_path)
    want, states = run_of(make, next(fresh))
    calls.clear()
    assert restored(make(next(fresh)), states[2]) == want[2:]
    assert len(calls) in {4 + 2, 4 + 4}  # the two skipped ones may be made again
