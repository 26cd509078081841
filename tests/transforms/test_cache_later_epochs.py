"""Epochs after a restored one read or fill a cache like those of the uninterrupted program."""

import itertools
import shutil

import pytest

import penstock as ps

Dataset = ps.Dataset
LENGTH = 5


@pytest.fixture(autouse=True)
def unseeded():
    yield
    ps.set_seed(None)


def noise(x):
    return x + ps.random.uniform((), dtype="float64")


def numbers():
    return Dataset.range(LENGTH).map(noise)


def generated():
    return Dataset.from_generator(lambda: iter(range(LENGTH))).map(noise)


KEPT = {
    "memory": lambda ds, folder: ds.cache(),
    "file": lambda ds, folder: ds.cache(folder / "cache"),
    "snapshot": lambda ds, folder: ds.snapshot(folder / "snap"),
    "two": lambda ds, folder: ds.cache().map(noise).cache(folder / "cache"),
}

AROUND = {
    "nothing": (numbers, lambda ds: ds),
    "shuffle after": (numbers, lambda ds: ds.shuffle(3)),
    "shuffle of all after": (numbers, lambda ds: ds.shuffle(100)),
    "shuffle before": (lambda: numbers().shuffle(LENGTH), lambda ds: ds.map(noise)),
    "unknown length": (generated, lambda ds: ds.shuffle(3)),
    "repeat after": (numbers, lambda ds: ds.shuffle(3).repeat(2)),
    "repeat before": (lambda: numbers().repeat(2), lambda ds: ds.shuffle(4)),
    "prefetch": (numbers, lambda ds: ds.prefetch(1).shuffle(3).prefetch(1)),
    "batch": (numbers, lambda ds: ds.batch(2)),
}


def plain(elements):
    return [element.tolist() for element in elements]


def interrupted(make, at):
    """Return the rest of an epoch after a state at a position, two more epochs, and the state."""
    ps.set_seed(5)
    ds = make()
    it = iter(ds)
    plain(itertools.islice(it, at))
    state = it.get_state()
    return [plain(it), plain(ds), plain(ds)], state


@pytest.mark.parametrize("gone", [False, True], ids=["kept", "gone"])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kept", KEPT)
def test_later_epochs_equal_those_of_the_uninterrupted_program(kept, around, gone, tmp_path):
    source, after = AROUND[around]
    folder = tmp_path / "kept"
    folder.mkdir()

    def make():
        return after(KEPT[kept](source(), folder))

    for at in range(2 * LENGTH + 2):
        shutil.rmtree(folder)
        folder.mkdir()
        wanted, state = interrupted(make, at)
        if gone:
            shutil.rmtree(folder)
            folder.mkdir()
        ps.set_seed(77)
        ds = make()
        it = iter(ds)
        try:
            it.set_state(state)
        except ps.StateError:
            assert (kept, gone) == ("snapshot", True)  # it was reading the snapshot
            continue
        assert [plain(it), plain(ds), plain(ds)] == wanted, at


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_a_state_at_the_end_from_which_nothing_is_pulled(kept, tmp_path):
    for gone in (False, True):
        wanted, state = interrupted(lambda: KEPT[kept](numbers(), tmp_path), 99)
        if gone and kept == "file":
            (tmp_path / "cache").unlink()
        ps.set_seed(77)
        ds = KEPT[kept](numbers(), tmp_path)
        iter(ds).set_state(state)
        assert plain(ds) == wanted[1]


def test_random_access_to_a_cache_that_another_pass_has_filled():
    def program(state=None):
        ps.set_seed(5 if state is None else 77)
        cached = numbers().cache()
        ds = cached.global_shuffle()
        if state is None:
            plain(cached)
        it = iter(ds)
        if state is not None:
            it.set_state(state)
        else:
            next(it)
        state = it.get_state()
        return [plain(it), plain(ds), plain(cached)], state

    wanted, state = program()
    assert sorted(wanted[1]) == sorted(wanted[2])
    assert program(state)[0] == wanted


def test_the_pass_that_filled_a_cache_first_counts():
    def program(state=None):
        ps.set_seed(5 if state is None else 77)
        cached = numbers().cache()
        it = iter(cached.shuffle(2))
        if state is None:
            next(it)
            plain(cached)
            state = it.get_state()
        else:
            it.set_state(state)
        return [plain(it), plain(cached), plain(cached.map(noise))], state

    wanted, state = program()
    assert wanted[0][-1] not in wanted[1]
    assert program(state)[0] == wanted


def test_a_cache_before_another_one():
    def program(state=None):
        ps.set_seed(5 if state is None else 77)
        inner = numbers().cache()
        outer = inner.map(noise).cache()
        if state is None:
            plain(outer)
        it = iter(outer)
        if state is not None:
            it.set_state(state)
        state = it.get_state()
        return [plain(it), plain(inner), plain(outer)], state

    wanted, state = program()
    assert program(state)[0] == wanted


def test_a_restored_fill_is_made_once():
    calls = ps.ignored([])

    def make():
        return Dataset.range(4).map(lambda x: calls.value.append(1) or noise(x)).cache().shuffle(2)

    wanted, state = interrupted(make, 4)
    assert len(calls.value) == 4
    ds = make()
    it = iter(ds)
    it.set_state(state)
    assert [plain(it), plain(ds), plain(ds)] == wanted
    assert len(calls.value) == 8


def test_a_refused_state_changes_no_cache():
    _, state = interrupted(lambda: numbers().cache().shuffle(3), 4)
    ps.set_seed(6)
    wanted = plain(numbers().cache())
    ps.set_seed(6)
    cached = numbers().cache()
    with pytest.raises(ps.StateError):
        iter(cached.shuffle(4)).set_state(state)
    ps.set_seed(6)
    assert plain(cached) == wanted
