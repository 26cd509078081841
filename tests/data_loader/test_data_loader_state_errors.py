"""state_dict of ps.DataLoader around iterators with a state, and errors in the middle of a pass."""

import contextlib

import pytest

import penstock as ps


class Reader:
    """An iterator with a state; it raises once at each of several numbers, and continues."""

    def __init__(self, breaks=(), keeps=False):
        self.at = 0
        self.breaks = set(breaks)
        if keeps:
            self.state_dict = lambda: {"at": self.at}
            self.load_state_dict = lambda state: setattr(self, "at", state["at"])

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at > 8:
            raise StopIteration
        if self.at - 1 in self.breaks:
            raise OSError(f"at {self.at - 1}")
        return self.at - 1


def ended(breaks):
    for i in range(8):
        if i in breaks:
            raise OSError(f"at {i}")
        yield i


class Reading:
    """An iterable dataset of such iterators, with a separate state."""

    def __init__(self, keeps=True, breaks=(), of=Reader):
        self.epoch = 0
        self.made = lambda: Reader(self.breaks, keeps) if of is Reader else of(self.breaks)
        self.breaks = breaks
        if keeps:
            self.state_dict = lambda: {"epoch": self.epoch}
            self.load_state_dict = lambda state: setattr(self, "epoch", state["epoch"])

    def __iter__(self):
        return self.made()


def all_of(batches):
    """Return all elements and errors until the end."""
    seen = []
    while True:
        try:
            seen.append(next(batches).tolist())
        except StopIteration:
            return seen
        except OSError as error:
            seen.append(str(error))


WORKERS = [{}, {"num_workers": 1}, {"num_workers": 2}, {"num_workers": 2, "timeout": 30}]


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
def test_the_state_of_the_iterator_is_given_to_the_iterator(workers):
    first = ps.DataLoader(Reading(), 2, **workers)
    next(iter(first))
    second = ps.DataLoader(Reading(), 2, **workers)
    second.load_state_dict(first.state_dict())
    assert all_of(iter(second)) == [[2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
@pytest.mark.parametrize("keeps", [True, False])
def test_an_error_of_an_iterator_that_goes_on_ends_nothing(keeps, workers):
    def make():
        return ps.DataLoader(Reading(keeps, breaks=[3]), 2, **workers)

    whole = [[0, 1], "at 3", [4, 5], [6, 7]]
    assert all_of(iter(make())) == whole
    for taken in range(4):
        first = make()
        batches = iter(first)
        for _ in range(taken):
            with contextlib.suppress(OSError):
                next(batches)
        second = make()
        second.load_state_dict(first.state_dict())
        assert all_of(iter(second)) == whole[taken:]
        assert second.state_dict()["batches"] == 0


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
@pytest.mark.parametrize("where", ["dataset", "sampler"])
def test_behind_an_error_that_ended_the_data_the_pass_is_not_over(where, workers):
    def make():
        if where == "dataset":
            return ps.DataLoader(Reading(False, [3], ended), 2, **workers)
        return ps.DataLoader(range(8), batch_sampler=Pairs([1]), **workers)

    first = make()
    assert all_of(iter(first))[0] == [0, 1]
    state = first.state_dict()
    assert state["batches"] == 2
    second = make()
    second.load_state_dict(state)
    with pytest.raises(OSError, match="at"):
        list(second)
    assert second.state_dict()["batches"] == 2


class Pairs:
    def __init__(self, breaks):
        self.breaks = breaks

    def __iter__(self):
        return ([2 * i, 2 * i + 1] for i in ended(self.breaks))


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
def test_an_error_on_the_way_to_the_place_is_raised(workers):
    first = ps.DataLoader(Reading(False), 2, **workers)
    batches = iter(first)
    next(batches)
    next(batches)
    state = first.state_dict()
    second = ps.DataLoader(Reading(False, [1]), 2, **workers)
    with pytest.warns(RuntimeWarning, match="the values of dataset have changed"):
        second.load_state_dict(state, strict=False)
    assert all_of(iter(second)) == ["at 1"]
    assert second.state_dict()["batches"] == 2
    second.load_state_dict(second.state_dict())
    second.dataset.breaks = ()
    assert all_of(iter(second)) == [[4, 5], [6, 7]]


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
def test_a_closed_pass_is_left_where_it_was(workers):
    loader = ps.DataLoader(range(8), 2, **workers)
    batches = iter(loader)
    next(batches)
    batches.close()
    assert list(batches) == []
    assert loader.state_dict()["batches"] == 1
