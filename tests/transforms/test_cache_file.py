"""cache(filename): the first full pass is kept in a file, despite failures of file and process."""

import itertools
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, Variant, steps

FOLDER = tempfile.TemporaryDirectory()
NUMBERS = itertools.count()


def fresh():
    return Path(FOLDER.name, f"{next(NUMBERS)}.cache")


def filled(ds):
    """Cache a dataset in a file, already filled by a first pass if possible."""
    name = fresh()
    steps(iter(ds.cache(name)))
    return ds.cache(name)


class CacheContract(DatasetContract):
    def test_repr_is_stable_and_short(self):
        ds = self.make(Variant())  # each has a separate file
        assert repr(pickle.loads(pickle.dumps(ds))) == repr(ds)
        assert len(repr(ds)) < 2000


class TestFilling(CacheContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.map(abs).cache(fresh()))
    expected = list(range(12))


class TestReading(CacheContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: filled(ds.map(abs)))
    expected = list(range(12))


class TestInTheMiddle(CacheContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(
        lambda ds, num_parallel_calls: filled(ds).map(abs, num_parallel_calls=num_parallel_calls)
    )
    expected = list(range(12))


class TestUnderBatch(CacheContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: filled(ds).batch(5))
    expected = [np.arange(0, 5), np.arange(5, 10), np.arange(10, 12)]


class TestUnderRepeat(CacheContract):
    source = staticmethod(lambda: ps.Dataset.range(6))
    apply = staticmethod(lambda ds: ds.map(abs).cache(fresh()).repeat(3))
    expected = list(range(6)) * 3
    errors_upstream = 3  # it fails again in each pass


class TestUnderShuffle(CacheContract):
    build = staticmethod(lambda: filled(ps.Dataset.range(12)).shuffle(5, seed=3))
    ordered = False
    reshuffles = True
    expected = list(range(12))


@pytest.fixture
def name(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def counted(tmp_path):
    """Return a dataset of n elements, and a counter of the computed ones."""
    log = tmp_path / "calls"
    log.touch()
    path = str(log)

    def call(x):
        with open(path, "a") as file:  # noqa: PTH123
            file.write("x")
        return x

    return (lambda n: ps.Dataset.range(n).map(call)), (lambda: log.stat().st_size)


def files(name):
    return sorted(path.name for path in name.parent.iterdir() if path.name.startswith(name.name))


@pytest.fixture
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# --- cached contents, and when they are written ---


def test_later_passes_and_processes_compute_nothing(counted, name, silent):
    make, calls = counted
    for _ in range(3):
        ds = make(5).cache(name)
        assert_same(list(ds.repeat(2)), list(range(5)) * 2)
    assert calls() == 5
    assert files(name) == ["cache"]


def test_a_pass_that_stops_early_leaves_nothing(counted, name):
    make, calls = counted
    ds = make(5).cache(name)
    with iter(ds.take(3)) as it:
        assert len(list(it)) == 3
    assert files(name) == []
    list(ds)
    assert calls() == 3 + 5


def test_a_pass_that_is_dropped_leaves_nothing(name):
    it = iter(ps.Dataset.range(5).cache(name))
    next(it)
    assert len(files(name)) == 1
    del it
    assert files(name) == []


def test_taking_as_many_as_there_are_is_a_full_pass(counted, name):
    make, calls = counted
    list(make(5).cache(name).take(5))
    list(make(5).cache(name))
    assert calls() == 5


def test_an_error_leaves_no_cache_and_the_next_pass_tries_again(name):
    failing = name.parent / "failing"
    failing.touch()
    path = str(failing)

    def fail_once(x):
        if x == 2 and os.path.exists(path):  # noqa: PTH110
            raise Boom("once")
        return x

    ds = ps.Dataset.range(4).map(fail_once).cache(name)
    assert steps(iter(ds)) == [0, 1, Failure("Boom", "once"), 3]
    assert files(name) == []
    failing.unlink()
    assert_same(list(ds), [0, 1, 2, 3])
    assert files(name) == ["cache"]


def test_two_passes_at_a_time_both_are_right(counted, name):
    make, calls = counted
    ds = make(4).cache(name)
    assert_same(list(zip(ds, ds, strict=True)), [(i, i) for i in range(4)])
    assert calls() == 8
    list(ds)
    assert calls() == 8
    assert files(name) == ["cache"]


def test_an_empty_dataset_is_cached_too(name, silent):
    ds = ps.Dataset.range(5).filter(lambda x: x > 9).cache(name)
    assert list(ds) == list(ds) == []
    assert files(name) == ["cache"]


def test_folders_on_the_way_are_made(tmp_path):
    list(ps.Dataset.range(3).cache(tmp_path / "a" / "b" / "cache"))
    assert (tmp_path / "a" / "b" / "cache").exists()


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(OSError, match="a"):
        list(ps.Dataset.range(3).cache(tmp_path / "a" / "cache"))


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path):
    with pytest.raises(IsADirectoryError):
        list(ps.Dataset.range(3).cache(tmp_path))


def test_what_cannot_be_opened_is_told_once_and_ends_the_pass(tmp_path):
    it = iter(ps.Dataset.range(3).cache(tmp_path))
    start = it.get_state()
    for _ in range(2):
        with pytest.raises(IsADirectoryError):
            next(it)
        assert list(it) == []
        it.set_state(start)


def test_a_shuffle_before_is_frozen_and_one_behind_is_not(name):
    frozen = ps.Dataset.range(30).shuffle(30).cache(name)
    assert list(frozen) == list(frozen)
    fresh_order = frozen.shuffle(30, seed=1)
    assert list(fresh_order) != list(fresh_order)


def test_randomness_behind_does_not_depend_on_where_the_elements_come_from(name):
    def draw():
        ps.random.set_seed(5)
        ds = ps.Dataset.range(20).shuffle(20, seed=1).cache(name).map(_noise)
        return list(ds)

    first = draw()
    assert name.exists()
    assert_same(draw(), first)


def _noise(x):
    return ps.image.random_crop(np.arange(64, dtype=np.uint8).reshape(8, 8, 1), (2, 2, 1))


def test_large_elements_and_many_small_ones(name):
    def grow(x):
        return np.full(x * 300_000, x % 256, np.uint8)

    ds = ps.Dataset.range(12).map(grow).cache(name)
    first = list(ds)
    assert_same(list(ds), first)
    small = ps.Dataset.range(200_000).cache(name.parent / "small")
    assert sum(1 for _ in small) == 200_000
    came = np.concatenate(list(small.batch(777)))
    assert (came == np.arange(200_000)).all()


@pytest.mark.parametrize("size", [1, 3, 255, 256, 1000, 5000])
def test_batches_are_right_and_writeable_wherever_chunks_end(name, size):
    rows = np.random.default_rng(0).integers(0, 256, (3000, 1024), np.uint8)
    ds = ps.Dataset.from_tensor_slices((rows, np.arange(3000))).cache(name)
    list(ds)
    at = 0
    for batch, number in ds.batch(size):
        assert (batch == rows[at : at + len(batch)]).all()
        assert number.tolist() == list(range(at, at + len(batch)))
        assert batch.flags.writeable
        assert batch.flags.owndata or batch.base is not None
        batch[:] = 0
        at += len(batch)
    assert at == 3000


def test_opaque_objects_are_refused_at_the_first_one(name):
    ds = ps.Dataset.range(5).map(lambda x: {"a": x, "b": object() if x == 2 else 1.0}).cache(name)
    it = iter(ds)
    assert_same([next(it), next(it)], [{"a": 0, "b": 1.0}, {"a": 1, "b": 1.0}])
    with pytest.raises(TypeError, match=r"cache: .* element 2, leaf \['b'\].*without a filename"):
        next(it)
    assert list(it) == []
    assert files(name) == []


# --- states ---


def states(ds):
    it = iter(ds)
    while True:
        yield it.get_state()
        if next(it, None) is None:
            return


@pytest.mark.parametrize("seed", [3, None])
@pytest.mark.parametrize("what", ["filling", "reading"])
@pytest.mark.parametrize("there", ["the same", "gone", "another"])
def test_a_state_gives_the_same_tail_whatever_became_of_the_file(name, seed, what, there):
    def make():
        return ps.Dataset.range(9).map(abs).shuffle(5, seed=seed).cache(name)

    if what == "reading":
        list(make())
    it = iter(make())
    came = [next(it) for _ in range(4)]
    state = it.get_state()
    came += list(it)
    if there != "the same":
        name.unlink()
    if there == "another":
        ps.random.set_seed(8)
        list(make())
    resumed = iter(make())
    resumed.set_state(state)
    assert_same(came[4:], list(resumed))


@pytest.mark.slow
def test_a_state_is_restored_in_another_process(name):
    script = """
    import sys, penstock as ps
    it = iter(ps.Dataset.range(9).map(abs).cache(sys.argv[1]).repeat(2))
    it.set_state(bytes.fromhex(sys.argv[2]))
    print([int(x) for x in it])
    """
    whole = list(range(9)) * 2
    for i, state in enumerate(states(ps.Dataset.range(9).map(abs).cache(name).repeat(2))):
        if i % 6 == 0:
            command = [sys.executable, "-c", textwrap.dedent(script), str(name), state.hex()]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            assert run.stdout.strip() == str(whole[i:])


# --- other pipelines ---


def changed(name, before, after):
    """Fill with one pipeline and iterate with another; return the elements and the warnings."""
    list(before.cache(name))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        came = list(after.cache(name))
    assert_same(list(after.cache(name)), came)
    return came, [str(w.message) for w in caught]


def test_another_function_is_noticed(name):
    came, told = changed(
        name,
        ps.Dataset.range(3).map(lambda x: x + 1),
        ps.Dataset.range(3).map(lambda x: x + 2),
    )
    assert_same(came, [2, 3, 4])
    assert len(told) == 1
    assert "cache was made by another pipeline" in told[0]


def test_another_length_of_the_source_is_noticed(name):
    came, told = changed(name, ps.Dataset.range(3), ps.Dataset.range(4))
    assert_same(came, [0, 1, 2, 3])
    assert len(told) == 1


def test_a_changed_input_file_is_noticed(name):
    text = name.parent / "text"
    text.write_text("one\n")
    before = ps.TextLineDataset(text)
    list(before.cache(name))
    text.write_text("one\ntwo\n")
    with pytest.warns(RuntimeWarning, match="another pipeline"):
        assert list(ps.TextLineDataset(text).cache(name)) == [b"one", b"two"]
    copy = pickle.loads(pickle.dumps(before.cache(name)))
    text.write_text("three\n")
    with pytest.warns(RuntimeWarning, match="another pipeline"):
        assert list(pickle.loads(pickle.dumps(copy))) == [b"three"]


def test_the_same_pipeline_is_recognised(name, silent):
    def make():
        return ps.Dataset.range(5).map(abs).cache(name)

    list(make())
    before = name.stat()
    list(make().prefetch(2))
    list(ps.Dataset.range(5).map(abs, num_parallel_calls=2).prefetch(1).cache(name))
    assert name.stat().st_mtime_ns == before.st_mtime_ns
    assert name.stat().st_ino == before.st_ino


def test_a_warning_that_is_an_error_loses_no_element(name):
    list(ps.Dataset.range(3).cache(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        it = iter(ps.Dataset.range(4).cache(name))
        with pytest.raises(RuntimeWarning):
            next(it)
        assert_same(list(it), [0, 1, 2, 3])
