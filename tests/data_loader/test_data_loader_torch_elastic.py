"""state_dict of ps.DataLoader with a DistributedSampler resumes with other process counts."""

import itertools

import pytest

import penstock as ps
from penstock.loader_states import signed

torch = pytest.importorskip("torch")
data = torch.utils.data

N = 101
COUNTS = [1, 2, 3, 4, 6, 8, 16]


def loader(count, index, rows, epoch=0, workers=0, **how):
    sampler = data.DistributedSampler(range(N), num_replicas=count, rank=index, **how)
    sampler.set_epoch(epoch)
    return ps.DataLoader(range(N), rows, sampler=sampler, num_workers=workers)


def after(made, steps):
    batches = iter(made)
    for _ in range(steps):
        next(batches)
    return made.state_dict()


def rest(made, state):
    made.load_state_dict(state)
    return [batch.tolist() for batch in made]


@pytest.mark.parametrize("how", [{}, {"shuffle": False}, {"drop_last": True}], ids=str)
@pytest.mark.parametrize("former", COUNTS)
def test_any_number_of_processes_goes_on(former, how):
    whole = [x for batch in loader(1, 0, N, epoch=2, **how) for x in batch.tolist()]
    state = after(loader(former, former - 1, 48 // former, epoch=2, **how), 1)
    for count in COUNTS:
        left = whole[48:]
        if how.get("drop_last"):
            left = left[: len(left) // count * count]
        else:
            left += whole[: -len(left) % count]
        for index in {0, count - 1}:
            own = left[index::count]
            rows = 48 // count
            wanted = [own[i : i + rows] for i in range(0, len(own), rows)]
            assert rest(loader(count, index, rows, **how), state) == wanted


def test_states_of_a_moved_pass_and_what_follows_it():
    whole = [x for batch in loader(1, 0, N) for x in batch.tolist()]
    state = after(loader(4, 2, 6), 2)
    second = loader(3, 1, 4, workers=2)
    second.load_state_dict(state)
    batches = iter(second)
    assert next(batches).tolist() == whole[49:60:3]
    state = second.state_dict()
    assert rest(loader(3, 0, 4), state)[0] == whole[60:72:3]
    assert rest(loader(2, 0, 4), state)[0] == whole[60:68:2]
    moved = loader(2, 1, 4)
    moved.load_state_dict(state)
    assert len(list(moved)) == 6
    assert [len(batch) for batch in moved] == [4] * 12 + [3]  # the next pass contains all


def test_the_beginning_and_other_data():
    state = loader(4, 0, 6).state_dict()
    assert rest(loader(3, 1, 8), state) == [batch.tolist() for batch in loader(3, 1, 8)]
    state = after(loader(4, 0, 6), 1)
    other = ps.DataLoader(
        range(N + 1), 8, sampler=data.DistributedSampler(range(N + 1), num_replicas=3, rank=0)
    )
    with pytest.raises(ps.StateError, match="batch_size=8 was expected"):
        other.load_state_dict(state)
    with pytest.raises(ps.StateError, match="batches were given out of order"):
        loader(3, 0, 8).load_state_dict(signed(state | {"ahead": [3]}))
    assert len(list(itertools.chain(*rest(loader(4, 0, 6), state)))) == 20


def states_of(count, rows, steps, **how):
    """Return the states of processes after each has taken its number of batches."""
    return [after(loader(count, i, rows, **how), taken) for i, taken in enumerate(steps)]


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_states_of_several_processes_are_merged(ahead):
    whole = [x for batch in loader(1, 0, N) for x in batch.tolist()]
    steps = [6] * ahead + [5] * (3 - ahead)
    state = ps.merge_states(states_of(3, 1, steps)[::-1])
    begin = 15 + ahead
    for count in (1, 2, 3, 5):
        left = whole[begin:]
        left += whole[: -len(left) % count]
        for index in range(count):
            came = rest(loader(count, index, 1), state)
            assert [x for (x,) in came] == left[index::count]


def test_processes_in_step_may_have_larger_batches():
    whole = [x for batch in loader(1, 0, N) for x in batch.tolist()]
    state = ps.merge_states(states_of(4, 6, [2] * 4))
    assert rest(loader(2, 1, 4), state)[0] == whole[49:56:2]


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (lambda: states_of(3, 2, [2, 1, 1]), "process 0 is at batch 2, process 1 is at batch 1"),
        (lambda: states_of(3, 1, [1, 2, 1]), "not the beginning of the order"),
        (lambda: states_of(3, 1, [1, 1, 1])[:2], "all 3 processes were expected, each once"),
        (lambda: states_of(2, 1, [1, 1])[:1] * 2, "each once, got those of 0, 0"),
        (
            lambda: states_of(2, 1, [1, 1])[:1] + states_of(2, 1, [1, 1], epoch=3)[1:],
            r"another pass \(epochs \[3\]",
        ),
        (
            lambda: [after(ps.DataLoader(range(N), 2), 1)] * 2,
            "with a DistributedSampler, whose order does not depend",
        ),
        (lambda: [{"a": 1}], "with a DistributedSampler"),
    ],
)
def test_states_that_are_no_position_are_refused(states, said):
    with pytest.raises(ps.StateError, match=said):
        ps.merge_states(states())
