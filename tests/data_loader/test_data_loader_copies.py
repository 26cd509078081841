"""ps.DataLoader calls iter() once, and saves and checks the states of datasets and passes."""

import itertools
import json
import threading
import warnings

import numpy as np
import pytest

import penstock as ps
from penstock.loader_states import signed

THREADS = [{}, {"num_workers": 1}, {"num_workers": 2}]
PROCESSES = {"num_workers": 2, "worker_method": "process"}


class Again:
    """Numbers from an iterator that restarts when iter() is called on it again."""

    def __init__(self, n=5):
        self.n = n

    def __iter__(self):
        self.i = -1
        return self

    def __next__(self):
        if self.i >= self.n - 1:
            raise StopIteration
        self.i += 1
        return self.i


class Restarts(Again):
    """The same, from an iterator that restarts after its end."""

    def __next__(self):
        try:
            return super().__next__()
        except StopIteration:
            self.i = -1
            raise


class Sampler(Again):
    def __len__(self):
        return self.n


class Batches(Again):
    def __next__(self):
        return [super().__next__()]


class Counted:
    """Rows with the number of the call that made them, which is part of the state."""

    def __init__(self, n=12):
        self.n = n
        self.calls = 0

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.calls += 1
        return i, self.calls

    def state_dict(self):
        return {"calls": self.calls}

    def load_state_dict(self, state):
        self.calls = state["calls"]


class Epochs:
    """Numbers with the epoch, which is part of the state, like the position."""

    def __init__(self, n=6):
        self.n, self.i, self.epoch, self.skipped = n, -1, 0, 0

    def __iter__(self):
        for i in range(self.skipped, self.n):
            self.i = i
            yield self.epoch, i
        self.i, self.skipped, self.epoch = -1, 0, self.epoch + 1

    def state_dict(self):
        return {"i": self.i, "epoch": self.epoch}

    def load_state_dict(self, state):
        self.skipped, self.epoch = state["i"] + 1, state["epoch"]


class Share:
    """Numbers of one worker's shard, from an iterator that is the dataset itself."""

    def __init__(self, n=9):
        self.n = n

    def __iter__(self):
        info = ps.get_worker_info()
        self.at, self.step = (0, 1) if info is None else (info.id, info.num_workers)
        return self

    def __next__(self):
        if self.at >= self.n:
            raise StopIteration
        self.at += self.step
        return self.at - self.step

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def flat(batches):
    return [int(x) for batch in batches for x in np.atleast_1d(np.asarray(batch))]


@pytest.mark.parametrize("workers", THREADS, ids=repr)
@pytest.mark.parametrize("kind", [Again, Restarts])
@pytest.mark.parametrize("size", [None, 1, 2, 5, 6])
def test_iter_is_called_once_on_an_iterable_dataset(size, kind, workers):
    loader = ps.DataLoader(kind(), size, **workers)
    assert flat(itertools.islice(loader, 20)) == [0, 1, 2, 3, 4]
    assert flat(itertools.islice(loader, 20)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("workers", THREADS, ids=repr)
@pytest.mark.parametrize(
    "given",
    [
        {"batch_size": None, "sampler": Sampler()},
        {"batch_size": 2, "sampler": Sampler()},
        {"batch_sampler": Batches()},
    ],
    ids=["single", "sampler", "batch_sampler"],
)
def test_iter_is_called_once_on_a_sampler(given, workers):
    loader = ps.DataLoader(range(5), **given, **workers)
    batches = iter(loader)
    first = next(batches)
    state = loader.state_dict()
    rest = flat(itertools.islice(batches, 20))
    assert flat([first]) + rest == [0, 1, 2, 3, 4]
    loader.load_state_dict(state)
    assert flat(itertools.islice(loader, 20)) == rest


def test_iter_is_called_once_by_prefetch_and_from_generator():
    assert list(itertools.islice(ps.prefetch(Again()), 20)) == [0, 1, 2, 3, 4]
    numbers = ps.Dataset.from_generator(Again, output_signature=ps.TensorSpec((), "int64"))
    assert [int(x) for x in numbers.take(20)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("workers", [*THREADS, PROCESSES], ids=repr)
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_the_state_of_a_map_style_dataset_is_restored(taken, workers):
    def make():
        return ps.DataLoader(Counted(), 2, collate_fn=list, **workers)

    loader = make()
    batches = iter(loader)
    for _ in range(taken):
        next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    other = make()
    other.load_state_dict(state)
    assert [[tuple(x) for x in b] for b in other] == [[tuple(x) for x in b] for b in batches]


@pytest.mark.parametrize("workers", THREADS, ids=repr)
@pytest.mark.parametrize("taken", [0, 2, 6])
def test_epochs_of_an_iterable_dataset_continue(taken, workers):
    def passes(loader, count):
        return [tuple(int(x) for x in each) for _ in range(count) for each in loader]

    loader = ps.DataLoader(Epochs(), None, **workers)
    whole = passes(ps.DataLoader(Epochs(), None), 3)
    batches = iter(loader)
    for _ in range(taken):
        next(batches)
    if taken == 6:
        assert next(batches, None) is None
    state = json.loads(json.dumps(loader.state_dict()))
    other = ps.DataLoader(Epochs(), None, **workers)
    other.load_state_dict(state)
    assert passes(other, 2) == whole[taken : 18 - 6 + taken - taken % 6]


def test_orders_after_a_resume_equal_those_of_the_uninterrupted_run():
    whole = ps.DataLoader(range(8), 4, shuffle=True)
    first = next(iter(whole))
    state = json.loads(json.dumps(whole.state_dict()))
    other = ps.DataLoader(range(8), 4, shuffle=True)
    assert len(first) == 4
    orders = []
    for loader in (whole, other):
        loader.load_state_dict(state)  # includes the position in the sequence of seeds
        orders.append([flat(loader) for _ in range(4)])
    assert orders[0] == orders[1]


def test_set_seed_between_passes_affects_the_next_pass():
    def order():
        ps.set_seed(5)
        return flat(loader)

    loader = ps.DataLoader(range(50), 50, shuffle=True)
    try:
        assert order() == order()
    finally:
        ps.set_seed(None)


@pytest.mark.parametrize(
    "damage",
    [{"ahead": [1]}, {"batches": 0}, {"failed": [0]}, {"order": {}}, {"checksum": 1}, {"x": 1}],
    ids=repr,
)
def test_damaged_states_are_rejected(damage):
    loader = ps.DataLoader(range(8), 2, shuffle=True)
    next(iter(loader))
    state = loader.state_dict()
    with pytest.raises(ps.StateError, match="the state is damaged: its checksum differs"):
        loader.load_state_dict(state | damage)
    with pytest.raises(ps.StateError, match="the state is damaged"):
        loader.load_state_dict({k: v for k, v in state.items() if k != "ahead"})
    loader.load_state_dict(signed(state))


@pytest.mark.parametrize("workers", [{"num_workers": 3}, {**PROCESSES, "num_workers": 3}], ids=repr)
@pytest.mark.parametrize("taken", [0, 1, 4, 8])
def test_workers_read_their_shares_and_continue(taken, workers):
    loader = ps.DataLoader(Share(), 1, **workers)
    batches = iter(loader)
    begun = flat(itertools.islice(batches, taken))
    state = json.loads(json.dumps(loader.state_dict()))
    rest = flat(batches)
    assert begun + rest == list(range(9))
    other = ps.DataLoader(Share(), 1, **workers)
    other.load_state_dict(state)
    assert flat(other) == rest


def test_a_dataset_without_get_worker_info_is_read_once():
    assert flat(ps.DataLoader(Again(), 2, num_workers=3)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("divided", [False, True])
def test_threads_are_prepared_before_the_dataset_is_opened(divided, count):
    prepared = threading.local()
    numbers = []

    def prepare(number):
        numbers.append((number, ps.get_worker_info().id, ps.get_worker_info().num_workers))
        prepared.here = True

    def read():
        for _ in range(6):
            yield hasattr(prepared, "here")

    class Reads:
        def __iter__(self):
            return read()

    class Asks(Reads):
        def __iter__(self):
            ps.get_worker_info()
            return read()

        def __deepcopy__(self, memo):
            return self

    loader = ps.DataLoader(
        (Asks if divided else Reads)(), 2, num_workers=count, worker_init_fn=prepare
    )
    assert all(all(batch) for batch in loader)
    # Threads that only collate may have no work.
    least = count if divided else 1
    assert sorted(numbers) == [(i, i, count) for i in range(max(least, len(numbers)))]
    assert ps.get_worker_info() is None


@pytest.mark.parametrize("rows", [1, 40])
def test_each_worker_number_is_prepared_once_in_threads(rows):
    numbers = []
    list(ps.DataLoader(range(rows), num_workers=4, worker_init_fn=numbers.append))
    assert sorted(numbers) == [0, 1, 2, 3]


def test_errors_of_a_worker_with_its_own_copy_are_raised():
    class Fails(Share):
        def __next__(self):
            raise OSError("cannot be read")

    with pytest.raises(OSError, match="cannot be read"):
        list(ps.DataLoader(Fails(), num_workers=2))

    def prepare(number):
        raise OSError("not ready")

    with pytest.raises(OSError, match="not ready"):
        list(ps.DataLoader(Share(), num_workers=2, worker_init_fn=prepare))


def test_timeouts_apply_to_copies():
    go = threading.Event()

    class Waits(Share):
        def __next__(self):
            go.wait()
            return super().__next__()

        def __deepcopy__(self, memo):
            return Waits()

    batches = iter(ps.DataLoader(Waits(), num_workers=2, timeout=0.05))
    with pytest.raises(RuntimeError, match=r"timed out after 0\.05 seconds"):
        next(batches)
    go.set()
    assert flat(batches) == list(range(9))


class Sized(Again):
    """Five numbers; `len` returns another number."""

    def __init__(self, announced):
        super().__init__()
        self.announced = announced

    def __len__(self):
        return self.announced


@pytest.mark.parametrize("workers", [*THREADS, {**PROCESSES, "num_workers": 1}], ids=repr)
def test_more_batches_than_len_announced_warn(workers):
    loader = ps.DataLoader(Sized(4), 1, **workers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(loader)) == 5  # no length was announced
    assert len(loader) == 4
    batches = iter(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [int(next(batches)[0]) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.warns(UserWarning, match="announced at most 4 batches"):
        assert next(batches).tolist() == [4]
    assert next(batches, None) is None


def test_copies_that_each_worker_reads_whole_warn_when_len_is_exceeded():
    loader = ps.DataLoader(Sized(5), 2, **PROCESSES)
    assert len(loader) == 3
    # Two copies that split the numbers can yield four batches: each may end with a smaller one.
    batches = iter(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some = [next(batches) for _ in range(4)]
    with pytest.warns(UserWarning, match="divide the samples in __iter__"):
        rest = list(batches)
    assert len(some + rest) == 6


class Walked(Again):
    """Numbers; reading them changes the dataset's position and a counter."""

    reads = 0

    def __iter__(self):
        self.reads += 1
        return super().__iter__()

    def state_dict(self):
        return {"i": self.i}

    def load_state_dict(self, state):
        self.i = state["i"]

    def __next__(self):
        if self.i >= self.n - 1:
            raise StopIteration
        self.i += 1
        return self.i


def test_a_dataset_that_was_read_accepts_the_state_of_an_earlier_loader():
    dataset = Walked()
    loader = ps.DataLoader(dataset, None)
    batches = iter(loader)
    assert [next(batches), next(batches)] == [0, 1]
    state = loader.state_dict()
    again = ps.DataLoader(dataset, None)
    again.load_state_dict(state)
    assert next(iter(again)) is not None
    dataset.n = 4  # reading does not assign it, so this changes the data
    with pytest.raises(ps.StateError, match="the values of dataset have changed"):
        ps.DataLoader(dataset, None).load_state_dict(state)
