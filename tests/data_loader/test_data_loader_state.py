"""state_dict of ps.DataLoader: passes resume exactly where they stopped."""

import itertools
import pickle
import sys
import threading

import numpy as np
import pytest
import worker_datasets as sets

import penstock as ps

N = 17


def plain(batches):
    return [b.tolist() if isinstance(b, np.ndarray) else b for b in batches]


class Counted:
    """An iterable dataset that keeps its own position."""

    def __init__(self):
        self.at = 0
        self.read = 0

    def __iter__(self):
        while self.at < N:
            self.at += 1
            self.read += 1
            yield self.at - 1
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Epochs:
    """A sampler with a set_epoch method."""

    def __init__(self):
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return iter(np.random.default_rng(self.epoch).permutation(N).tolist())

    def __len__(self):
        return N


LOADERS = {
    "in order": lambda **more: ps.DataLoader(range(N), 3, **more),
    "seed": lambda **more: ps.DataLoader(range(N), 3, shuffle=True, generator=5, **more),
    "generator": lambda **more: ps.DataLoader(
        range(N), 3, shuffle=True, generator=np.random.default_rng(5), **more
    ),
    "array": lambda **more: ps.DataLoader(np.arange(N), 3, shuffle=True, generator=5, **more),
    "one by one": lambda **more: ps.DataLoader(range(N), None, shuffle=True, generator=5, **more),
    "sampler": lambda **more: ps.DataLoader(range(N), 3, sampler=list(range(5, N)), **more),
    "batches": lambda **more: ps.DataLoader(
        range(N), batch_sampler=[[1], [2, 3], [], [4]], collate_fn=list, **more
    ),
    "iterable": lambda **more: ps.DataLoader(ps.Dataset.range(N), 3, **more),
    "with a state": lambda **more: ps.DataLoader(Counted(), 3, **more),
}


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("name", LOADERS)
def test_a_pass_goes_on_from_every_batch(name, workers):
    make = LOADERS[name]
    for taken in (*range(4), N + 1):
        first = make(num_workers=workers)
        list(first)
        batches = iter(first)
        list(itertools.islice(batches, taken))
        state = pickle.loads(pickle.dumps(first.state_dict()))
        rest, behind = plain(batches), plain(first)
        second = make(num_workers=3 - workers)
        second.load_state_dict(state)
        assert second.state_dict() == state
        if taken <= N:
            assert plain(second) == rest
        assert plain(second) == behind
        assert plain(second) == plain(first)


def test_orders_without_a_seed_go_on_too():
    first = ps.DataLoader(range(N), 3, shuffle=True)
    batches = iter(first)
    next(batches)
    second = ps.DataLoader(range(N), 3, shuffle=True)
    second.load_state_dict(first.state_dict())
    assert plain(second) == plain(batches)


def test_the_epoch_of_a_sampler_is_kept():
    def make():
        return ps.DataLoader(range(N), 4, sampler=Epochs())

    first = make()
    first.sampler.set_epoch(7)
    batches = iter(first)
    next(batches)
    second = make()
    second.load_state_dict(first.state_dict())
    assert plain(second) == plain(batches)
    assert second.sampler.epoch == 7


def test_a_dataset_that_keeps_its_place_is_not_read_again():
    for workers in (0, 2):
        first = ps.DataLoader(Counted(), 3, num_workers=workers)
        batches = iter(first)
        for _ in range(3):
            next(batches)
        dataset = Counted()
        second = ps.DataLoader(dataset, 3, num_workers=workers)
        second.load_state_dict(first.state_dict())
        assert plain(second) == [[9, 10, 11], [12, 13, 14], [15, 16]]
        assert dataset.read == N - 9


def test_batches_out_of_order_come_once():
    may_go = threading.Event()

    class Slow:
        def __len__(self):
            return 8

        def __getitem__(self, i):
            if i == 1 and not may_go.is_set():
                assert may_go.wait(60)
            return i

    first = ps.DataLoader(Slow(), 1, num_workers=2, in_order=False)
    batches = iter(first)
    seen = [int(next(batches)[0]) for _ in range(3)]
    state = first.state_dict()
    may_go.set()
    assert 1 not in seen
    for more in ({}, {"num_workers": 2}, {"num_workers": 2, "in_order": False}):
        second = ps.DataLoader(Slow(), 1, **more)
        second.load_state_dict(state)
        assert sorted(seen + [int(b[0]) for b in second]) == list(range(8))


def test_a_failed_batch_is_behind():
    class Fails:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            if i == 1:
                raise LookupError
            return i

    for workers in (0, 2):
        first = ps.DataLoader(Fails(), num_workers=workers)
        batches = iter(first)
        next(batches)
        with pytest.raises(LookupError):
            next(batches)
        second = ps.DataLoader(Fails())
        second.load_state_dict(first.state_dict())
        assert plain(second) == [[2]]


def test_the_state_is_small_and_taken_without_a_stop():
    loader = ps.DataLoader(range(100_000), 10, shuffle=True, generator=np.random.default_rng(0))
    batches = iter(loader)
    for _ in range(100):
        next(batches)
    assert len(pickle.dumps(loader.state_dict())) < 1000
    assert len(list(batches)) == 9900


def test_the_latest_pass_counts():
    loader = ps.DataLoader(range(9), 3)
    one = iter(loader)
    next(one)
    two = iter(loader)
    assert loader.state_dict()["batches"] == 0
    next(two)
    next(two)
    assert loader.state_dict()["batches"] == 2
    for _ in loader:
        break
    assert loader.state_dict()["batches"] == 1


@pytest.mark.parametrize("state", [None, {}, [], {"penstock": 99}, "text"])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ValueError, match="what state_dict"):
        ps.DataLoader(range(9)).load_state_dict(state)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (ps.DataLoader(range(9), 4), "batch_size=3 was expected"),
        (ps.DataLoader(range(8), 3), "samples=9 was expected, got one with samples=8"),
        (ps.DataLoader(range(9), 3, drop_last=True), "drop_last=False"),
    ],
)
def test_a_state_of_another_loader_is_refused(other, message):
    with pytest.raises(ValueError, match=message):
        ps.DataLoader(range(9), 3).load_state_dict(other.state_dict())


class EpochsWithState(Epochs):
    """The same, with the epoch in its state."""

    def state_dict(self):
        return {"epoch": self.epoch}

    def load_state_dict(self, state):
        self.epoch = state["epoch"]


@pytest.mark.parametrize("kind", [Epochs, EpochsWithState])
@pytest.mark.parametrize("taken", [2, N + 1])
def test_an_epoch_set_behind_loading_counts(kind, taken):
    first = ps.DataLoader(range(N), 4, sampler=kind())
    orders = []
    for epoch in range(3):
        first.sampler.set_epoch(epoch)
        orders.append(plain(first))
    first.sampler.set_epoch(1)
    list(itertools.islice(first, taken))
    state = first.state_dict()
    for epoch in (1, 2):
        second = ps.DataLoader(range(N), 4, sampler=kind())
        second.load_state_dict(state)
        assert second.sampler.epoch == 1
        second.sampler.set_epoch(epoch)
        assert plain(second) == (orders[epoch][taken:] if taken < N else orders[epoch])
        assert second.sampler.epoch == epoch


class Live:
    """A sampler, or an iterable dataset, that returns its live state dict."""

    def __init__(self):
        self.state = {"at": 0}

    def __iter__(self):
        while self.state["at"] < 8:
            self.state["at"] += 1
            yield self.state["at"] - 1
        self.state["at"] = 0

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("where", ["sampler", "dataset"])
def test_states_that_go_on_changing_are_copied(where, workers):
    def make():
        dataset, sampler = (range(8), Live()) if where == "sampler" else (Live(), None)
        return ps.DataLoader(dataset, 2, sampler=sampler, num_workers=workers)

    first = make()
    batches = iter(first)
    next(batches)
    state = first.state_dict()
    saved = pickle.loads(pickle.dumps(state))
    rest = plain(batches)
    for each in (state, state, saved):
        second = make()
        second.load_state_dict(each)
        assert plain(second) == rest == [[2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("workers", [0, 1])
def test_epochs_after_a_restored_one_are_complete(workers):
    datasets = pytest.importorskip("datasets")

    def loader():
        rows = datasets.Dataset.from_dict({"n": list(range(7))})
        return ps.DataLoader(rows.to_iterable_dataset(num_shards=2), 2, num_workers=workers)

    def numbers(batches):
        return [int(n) for batch in batches for n in batch["n"]]

    first = loader()
    batches = iter(first)
    had = numbers([next(batches)])
    state = first.state_dict()
    resumed = loader()
    resumed.load_state_dict(state)
    assert had + numbers(resumed) == list(range(7))
    assert numbers(resumed) == list(range(7))
    resumed.load_state_dict(state)
    next(iter(resumed))
    assert numbers(resumed) == list(range(7))


@pytest.mark.parametrize(
    "workers",
    [
        {},
        {"num_workers": 1},
        {"num_workers": 1, "worker_method": "process"},
        {"num_workers": 1, "worker_method": "process", "persistent_workers": True},
    ],
)
@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize("stream", [sets.ResumedStream, sets.ResumedByBoth])
def test_a_complete_epoch_follows_the_state_of_an_exhausted_stream(workers, batch_size, stream):
    if "worker_method" in workers and sys.platform != "linux":
        pytest.skip("worker processes need Linux")
    first = ps.DataLoader(stream(5), batch_size, **workers)
    epoch = [np.asarray(batch).tolist() for batch in first]
    resumed = ps.DataLoader(stream(5), batch_size, **workers)
    resumed.load_state_dict(first.state_dict())
    for _ in range(2):
        assert [np.asarray(batch).tolist() for batch in resumed] == epoch


def test_the_state_within_the_epoch_after_an_exhausted_stream_is_of_its_iterator():
    first = ps.DataLoader(sets.ResumedByBoth(5), 1)
    list(first)
    resumed = ps.DataLoader(sets.ResumedByBoth(5), 1)
    resumed.load_state_dict(first.state_dict())
    assert [next(iter(resumed)).tolist()] == [[0]]
    again = ps.DataLoader(sets.ResumedByBoth(5), 1)
    again.load_state_dict(resumed.state_dict())
    assert [batch.tolist() for batch in again] == [[1], [2], [3], [4]]
