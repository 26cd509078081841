"""ps.DataLoader without PyTorch: batches, orders, workers, errors, ends."""

import contextlib
import gc
import itertools
import pickle
import random
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import penstock as ps

WORKERS = [
    {},
    {"num_workers": 1},
    {"num_workers": 3},
    {"num_workers": 2, "prefetch_factor": 5, "timeout": 30},
]
workers = pytest.mark.parametrize("workers", WORKERS, ids=repr)


class Squares:
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(f"no row {i}")
        return {"i": i, "square": np.full(2, i * i)}


class Many(Squares):
    """Rows that are fetched all at once."""

    def __init__(self, n=10):
        super().__init__(n)
        self.asked = []

    def __getitem__(self, i):
        raise AssertionError("one by one")

    def __getitems__(self, indices):
        self.asked.append(indices)
        return [Squares.__getitem__(self, i) for i in indices]


class Failing(Squares):
    def __getitem__(self, i):
        if i == 3:
            raise LookupError("three")
        return i


def indices(loader):
    return [batch["i"].tolist() for batch in loader]


def wait_until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@workers
@pytest.mark.parametrize("kind", [Squares, Many])
def test_batches_of_a_map_style_dataset(kind, workers):
    loader = ps.DataLoader(kind(), 4, **workers)
    for _ in range(2):
        batches = list(loader)
        assert [b["i"].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert batches[2]["square"].tolist() == [[64, 64], [81, 81]]
    assert len(loader) == 3
    assert indices(ps.DataLoader(kind(), 4, drop_last=True, **workers))[-1] == [4, 5, 6, 7]


def test_getitems_is_given_lists_of_ints():
    dataset = Many(5)
    list(ps.DataLoader(dataset, 3, shuffle=True))
    assert [type(i) for asked in dataset.asked for i in asked] == [int] * 5
    assert [type(asked) for asked in dataset.asked] == [list] * 2


@workers
def test_rows_of_an_array_are_gathered(workers):
    rows = np.arange(20).reshape(10, 2)
    for dataset in (rows, rows[:, 0], rows.astype("M8[s]"), rows.T.copy().T):
        loader = ps.DataLoader(dataset, 4, shuffle=True, generator=3, **workers)
        order = list(ps.DataLoader(range(10), 4, shuffle=True, generator=3))
        for batch, chosen in zip(loader, order, strict=True):
            np.testing.assert_array_equal(batch, dataset[chosen])
            assert batch.dtype == dataset.dtype
    for batch in ps.DataLoader(rows, 4, **workers):
        batch[:] = 0
    assert rows[9, 1] == 19
    assert [b.tolist() for b in ps.DataLoader(rows[:, 0], 2, sampler=[-1, 3, 3], **workers)] == [
        [18, 6],
        [6],
    ]


def test_rows_of_a_memory_map_are_gathered(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(6).reshape(3, 2))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    batches = list(ps.DataLoader(rows, 2))
    assert [type(b) for b in batches] == [np.ndarray] * 2
    assert batches[1].tolist() == [[4, 5]]


def test_rows_of_strings_are_strings():
    assert list(ps.DataLoader(np.array(["a", "b", "c"]), 2)) == [["a", "b"], ["c"]]


@workers
def test_without_batches_samples_come_as_they_are(workers):
    rows = [(i, np.array([i])) for i in range(4)]
    for given, seen in zip(rows, ps.DataLoader(rows, None, **workers), strict=True):
        assert given is seen
    assert list(ps.DataLoader(range(4), None, collate_fn=str, **workers)) == list("0123")
    assert list(ps.DataLoader(iter("abc"), None, **workers)) == ["a", "b", "c"]


@workers
def test_an_iterable_dataset_is_read_once(workers):
    threads = set()

    def read():
        for i in range(7):
            threads.add(threading.get_ident())
            yield i

    loader = ps.DataLoader(read(), 3, **workers)
    assert [b.tolist() for b in loader] == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(loader) == []
    dropped = ps.DataLoader(iter(range(7)), 3, drop_last=True, **workers)
    assert [b.tolist() for b in dropped] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError):
        len(dropped)


def test_the_length_of_an_iterable_dataset_is_in_batches():
    dataset = ps.Dataset.range(10)
    assert len(ps.DataLoader(dataset, 4)) == len(list(ps.DataLoader(dataset, 4))) == 3
    assert len(ps.DataLoader(dataset, 4, drop_last=True)) == 2
    assert len(ps.DataLoader(dataset, None)) == 10


@workers
@pytest.mark.parametrize("size", [1, 3, 10, 11])
def test_shuffled_passes_hold_each_sample_once(size, workers):
    loader = ps.DataLoader(Squares(), size, shuffle=True, **workers)
    passes = [list(itertools.chain(*indices(loader))) for _ in range(3)]
    assert all(sorted(p) == list(range(10)) for p in passes)
    assert len(set(map(tuple, passes))) > 1


def shuffled(generator, passes=2, **more):
    loader = ps.DataLoader(range(20), None, shuffle=True, generator=generator, **more)
    return [list(loader) for _ in range(passes)]


def test_a_seed_says_the_orders():
    assert shuffled(3) == shuffled(3) == shuffled(3, num_workers=2)
    assert shuffled(3) != shuffled(4)
    assert shuffled(3)[0] != shuffled(3)[1]
    one, two = (shuffled(np.random.default_rng(3)) for _ in range(2))
    assert one == two
    generator = np.random.default_rng(3)
    assert shuffled(generator) != shuffled(generator)


def test_set_seed_says_the_orders():
    ps.set_seed(5)
    one = shuffled(None)
    ps.set_seed(5)
    assert shuffled(None) == one
    assert shuffled(None) != one


def test_a_sampler_is_any_iterable():
    assert next(iter(ps.DataLoader(range(9), 2, sampler=(8, 0, 8)))).tolist() == [8, 0]
    loader = ps.DataLoader({"a": 1, "b": 2}, None, sampler=["b", "a"])
    assert list(loader) == [2, 1]
    batches = [[1, 2], [], [3]]
    loader = ps.DataLoader(Squares(), batch_sampler=batches, collate_fn=len)
    assert list(loader) == [2, 0, 1]
    assert (len(loader), loader.batch_size, loader.batch_sampler) == (3, None, batches)


class Endless:
    """An endless sampler, which a loader must not exhaust."""

    def __init__(self):
        self.given = 0

    def __iter__(self):
        for i in itertools.count():
            self.given += 1
            yield i % 10


def test_batches_ahead_are_limited():
    for factor, most in ((None, 4), (1, 4), (6, 12)):
        sampler = Endless()
        loader = ps.DataLoader(Squares(), 1, sampler=sampler, num_workers=2, prefetch_factor=factor)
        with iter(loader) as batches:
            for _ in range(20):
                next(batches)
            wait_until(lambda: sampler.given >= 20 + most // 2)  # noqa: B023
        # One more for each thread of the engine.
        assert sampler.given <= 20 + most + 4
    sampler = Endless()
    assert next(iter(ps.DataLoader(Squares(), 2, sampler=sampler)))["i"].tolist() == [0, 1]
    assert sampler.given == 2


def test_without_workers_everything_runs_here():
    seen = []

    class Here(Squares):
        def __getitem__(self, i):
            seen.append(threading.get_ident())
            return i

    batches = iter(ps.DataLoader(Here(), 2))
    assert seen == []
    next(batches)
    assert seen == [threading.get_ident()] * 2


def test_workers_fetch_at_the_same_time():
    meeting = threading.Barrier(3, timeout=20)

    class Together(Squares):
        def __getitem__(self, i):
            meeting.wait()
            return i

    assert len(list(ps.DataLoader(Together(9), 1, num_workers=3))) == 9


@pytest.mark.parametrize("count", [1, 2, 4])
def test_each_worker_is_prepared_before_it_fetches(count):
    prepared = threading.local()
    numbers = []

    def prepare(number):
        prepared.done = True
        numbers.append(number)

    class Prepared(Squares):
        def __getitem__(self, i):
            assert prepared.done
            return i

    loader = ps.DataLoader(Prepared(40), 1, num_workers=count, worker_init_fn=prepare)
    assert len(list(loader)) == 40
    assert set(numbers) <= set(range(count))
    assert len(numbers) <= count + 1


def test_an_error_of_worker_init_fn_is_raised():
    def refuse(number):
        raise OSError(f"worker {number}")

    with pytest.raises(OSError, match="worker 0"):
        next(iter(ps.DataLoader(Squares(), num_workers=1, worker_init_fn=refuse)))


def test_out_of_order_the_first_made_comes_first():
    first_may_go = threading.Event()

    class Slow(Squares):
        def __getitem__(self, i):
            if i == 0:
                assert first_may_go.wait(20)
            return i

    batches = iter(ps.DataLoader(Slow(6), 1, num_workers=2, in_order=False))
    first = int(next(batches)[0])
    assert first != 0
    first_may_go.set()
    assert sorted([first, *(int(b[0]) for b in batches)]) == list(range(6))


@workers
def test_an_error_is_raised_in_its_place_and_names_the_index(workers):
    batches = iter(ps.DataLoader(Failing(6), 2, **workers))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(LookupError, match="three") as error:
        next(batches)
    assert "dataset[3]" in "".join(error.value.__notes__)
    assert [b.tolist() for b in batches] == [[4, 5]]
    with pytest.raises(LookupError) as error:
        list(ps.DataLoader(Failing(6), None, **workers))
    assert "dataset[3]" in "".join(error.value.__notes__)


@workers
def test_an_error_of_getitems_names_the_indices(workers):
    with pytest.raises(IndexError, match="no row 99") as error:
        list(ps.DataLoader(Many(), 2, sampler=[1, 99], **workers))
    assert "__getitems__([1, 99])" in "".join(error.value.__notes__)


@workers
def test_an_error_of_collating_names_the_batch(workers):
    rows = [np.zeros(2), np.zeros(2), np.zeros(3)]
    with pytest.raises(ValueError, match="sample 1") as error:
        list(ps.DataLoader(rows, 2, sampler=[0, 2], **workers))
    assert "[0, 2]" in "".join(error.value.__notes__)


@workers
def test_stop_iteration_in_a_dataset_is_no_end(workers):
    class Stops(Squares):
        def __getitem__(self, i):
            raise StopIteration

    with pytest.raises(RuntimeError, match=r"dataset\[0\] raised StopIteration"):
        list(ps.DataLoader(Stops(), **workers))


@workers
@pytest.mark.parametrize("batches_ahead", [0, 3])
def test_errors_of_samplers_and_iterables_end_the_pass(workers, batches_ahead):
    def breaks():
        yield from range(batches_ahead)
        raise OSError("gone")

    for loader in (
        ps.DataLoader(breaks(), 1, **workers),
        ps.DataLoader(range(9), 1, sampler=breaks(), **workers),
    ):
        seen = []
        with pytest.raises(OSError, match="gone"):  # noqa: PT012
            for batch in loader:
                seen += batch.tolist()
        assert seen == list(range(batches_ahead))


def test_a_slow_batch_is_an_error_with_timeout():
    may_go = threading.Event()

    class Stuck(Squares):
        def __getitem__(self, i):
            assert i != 1 or may_go.wait(20)
            return i

    batches = iter(ps.DataLoader(Stuck(4), 1, num_workers=2, timeout=0.05))
    assert next(batches).tolist() == [0]
    with pytest.raises(RuntimeError, match=r"timeout=0.05 seconds, and batch 1 "):
        next(batches)
    may_go.set()
    wait_until(lambda: batches._progress._made >= {1})
    assert next(batches).tolist() == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers must be an int >= 0"),
        ({"num_workers": 1.5}, "num_workers"),
        ({"timeout": -1, "num_workers": 1}, "timeout must be >= 0"),
        ({"timeout": 1}, "timeout needs num_workers"),
        ({"prefetch_factor": 2}, "prefetch_factor needs num_workers"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor must be >= 1"),
        ({"persistent_workers": True}, "persistent_workers needs num_workers"),
        ({"multiprocessing_context": "spawn", "num_workers": 2}, "num_workers are threads"),
        ({"sampler": [1], "shuffle": True}, "exclude each other"),
        ({"batch_sampler": [[1]], "batch_size": 3}, "batch_sampler excludes"),
        ({"batch_size": None, "drop_last": True}, "drop_last must be False"),
        ({"batch_size": 0}, "batch_size must be an int >= 1, got 0"),
        ({"batch_size": 1.0}, "batch_size must be an int"),
        ({"drop_last": 1}, "drop_last must be a bool"),
        ({"generator": -1, "shuffle": True}, "seed must be >= 0"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=f"DataLoader: .*{message}"):
        ps.DataLoader(Squares(), **options)


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        (3, {}, "a dataset with __getitem__ and __len__, or with __iter__"),
        (None, {}, "a dataset"),
        (Squares(), {"sampler": 3}, "sampler must be iterable"),
        (Squares(), {"shuffle": True, "generator": "a"}, "generator must be an int"),
    ],
)
def test_what_is_no_dataset_or_sampler_is_a_type_error(dataset, options, message):
    with pytest.raises(TypeError, match=message):
        ps.DataLoader(dataset, **options)


def test_an_iterable_dataset_decides_its_order():
    for option in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match=next(iter(option))):
            ps.DataLoader(iter(()), **option)
    assert list(ps.DataLoader(iter(()), shuffle=False)) == []


def test_an_empty_dataset_has_no_batches_and_no_order():
    assert list(ps.DataLoader([], 2)) == []
    with pytest.raises(ValueError, match="at least one sample"):
        ps.DataLoader([], shuffle=True)


def test_attributes_of_a_made_loader_stay():
    loader = ps.DataLoader(Squares(), 2)
    for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset"):
        with pytest.raises(ValueError, match=name):
            setattr(loader, name, None)
    loader.collate_fn = len
    assert list(loader) == [2] * 5


@workers
def test_two_passes_at_once_do_not_meet(workers):
    loader = ps.DataLoader(Squares(), 3, shuffle=True, generator=1, **workers)
    pairs = list(zip(loader, loader, strict=True))
    for side in range(2):
        assert sorted(i for pair in pairs for i in pair[side]["i"].tolist()) == list(range(10))


@workers
def test_a_pass_that_is_left_frees_the_dataset(workers):
    before = threading.active_count()
    for leave in ("break", "del", "error", "close"):
        dataset = Squares(1000)
        gone = weakref.ref(dataset)
        loader = ps.DataLoader(dataset, 1, **workers)
        batches = iter(loader)
        next(batches)
        if leave == "close":
            batches.close()
            assert list(batches) == []
        elif leave == "error":
            with pytest.raises(ZeroDivisionError):  # noqa: PT012
                for _ in loader:
                    raise ZeroDivisionError
        elif leave == "break":
            for _ in loader:
                break
        del batches, loader, dataset
        gc.collect()
        wait_until(lambda: gone() is None)  # noqa: B023
    # Threads wait for the next pass for half a second, and there are no more of them.
    assert threading.active_count() <= before + 12


def test_a_generator_behind_a_pass_that_is_left_is_closed():
    closed = threading.Event()

    def read():
        try:
            yield from range(1000)
        finally:
            closed.set()

    for count in (0, 2):
        closed.clear()
        loader = ps.DataLoader(read(), 2, num_workers=count)
        for _ in loader:
            break
        del loader
        gc.collect()
        assert closed.wait(10)


def test_a_loader_can_be_pickled():
    loader = ps.DataLoader([1, 2, 3], 2, shuffle=True, generator=4, num_workers=1)
    other = pickle.loads(pickle.dumps(loader))
    assert [b.tolist() for b in other] == [b.tolist() for b in loader]
    next(iter(loader))
    assert pickle.loads(pickle.dumps(loader))._position is None
    for count in (0, 1):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(iter(ps.DataLoader([1], num_workers=count)))


def test_an_interrupted_batch_still_comes():
    class Interrupted(Squares):
        interrupts = 1

        def __getitem__(self, i):
            if i == 2 and self.interrupts:
                self.interrupts -= 1
                raise KeyboardInterrupt
            return i

    loader = ps.DataLoader(Interrupted(6), 2)
    batches = iter(loader)
    next(batches)
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert loader.state_dict()["batches"] == 1
    assert [b.tolist() for b in batches] == [[2, 3], [4, 5]]


def test_debug_mode_runs_everything_here():
    seen = set()

    class Here(Squares):
        def __getitem__(self, i):
            seen.add(threading.get_ident())
            return i

    with ps.experimental.debug_mode():
        assert len(list(ps.DataLoader(Here(), 2, num_workers=2, timeout=5))) == 5
    assert seen == {threading.get_ident()}


@pytest.mark.skipif("torch" in sys.modules, reason="another test has imported it")
def test_pinning_without_torch_warns():
    with pytest.warns(UserWarning, match="pin_memory=True has no effect"):
        assert len(list(ps.DataLoader([1], pin_memory=True))) == 1


@pytest.mark.parametrize("batch", [[], [1.5], ["a"], [[1]], 3])
def test_what_is_no_list_of_rows_is_refused(batch):
    for rows in (np.zeros((4, 2)), np.zeros(4)):
        with pytest.raises(TypeError, match="a list of ints was expected"):
            list(ps.DataLoader(rows, batch_sampler=[batch]))


def test_an_error_keeps_its_context_and_one_note():
    shared = LookupError("again")

    class Again(Squares):
        def __getitem__(self, i):
            try:
                raise OSError("first")
            except OSError:
                raise shared  # noqa: B904

    for _ in range(2):
        with pytest.raises(LookupError) as error:
            next(iter(ps.DataLoader(Again())))
        assert isinstance(error.value.__context__, OSError)
        assert not error.value.__suppress_context__
        assert len(error.value.__notes__) == 1


INTERRUPTED = """
import os, signal, sys, threading, time
import penstock as ps

class Stuck:
    def __len__(self):
        return 100
    def __getitem__(self, i):
        if i == 4 and not done.is_set():
            started.set()
            done.wait(20)
        return i

started, done = threading.Event(), threading.Event()
def interrupt():
    started.wait(20)
    time.sleep(0.05)  # whatever the main thread does by then, it is interrupted
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
loader = ps.DataLoader(Stuck(), 2, num_workers=2, timeout=float(sys.argv[1]))
seen = []
batches = iter(loader)
try:
    for batch in batches:
        seen += batch.tolist()
except KeyboardInterrupt:
    done.set()
    for batch in batches:
        seen += batch.tolist()
    print(seen == list(range(100)))
"""


@pytest.mark.parametrize("timeout", [0, 30])
def test_ctrl_c_interrupts_the_wait_and_loses_nothing(timeout):
    code = [sys.executable, "-c", INTERRUPTED, str(timeout)]
    run = subprocess.run(code, capture_output=True, text=True, timeout=50, check=False)
    assert (run.stdout, run.stderr) == ("True\n", "")


@workers
def test_a_pass_is_freed_behind_an_error_among_quick_batches(workers):
    class Fails(Squares):
        def __getitem__(self, i):
            if i % 50 == 49:
                raise LookupError(i)
            return i

    for taken in range(50, 500, 30):
        batches = iter(ps.DataLoader(Fails(500), None, **workers))
        for _ in range(taken):
            with contextlib.suppress(LookupError):
                next(batches)
        gone = weakref.ref(batches)
        del batches
        gc.collect()
        assert gone() is None


@workers
def test_ranges_of_a_batch_sampler_are_any_ranges(workers):
    batches = [range(0, 10, 2), range(9, 4, -1), range(-2, 1), range(3, 5)]
    loader = ps.DataLoader(np.arange(10), batch_sampler=batches, **workers)
    assert [b.tolist() for b in loader] == [list(b) if b.start >= 0 else [8, 9, 0] for b in batches]
    with pytest.raises(IndexError):
        list(ps.DataLoader(np.arange(10), batch_sampler=[range(8, 12)], **workers))


def test_annotations_name_what_batches_are():
    assert ps.DataLoader[int].__origin__ is ps.DataLoader


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("seeds", [["random"], ["numpy.random"], ["random", "numpy.random"]])
def test_worker_init_fn_that_seeds_what_all_share_warns(seeds, count):
    def seed(number):
        for name in seeds:
            {"random": random, "numpy.random": np.random}[name].seed(1234)

    kept = random.getstate(), np.random.get_state()
    try:
        with pytest.warns(UserWarning, match=f"has seeded {', '.join(seeds)}\\. "):
            list(ps.DataLoader(Squares(), num_workers=count, worker_init_fn=seed))
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])


def test_worker_init_fn_that_draws_does_not_warn(recwarn):
    def draw(number):
        random.random()
        np.random.rand()

    list(ps.DataLoader(Squares(), num_workers=2, worker_init_fn=draw))
    assert not recwarn.list
