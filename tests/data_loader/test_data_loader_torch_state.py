"""state_dict of ps.DataLoader with PyTorch datasets, samplers and generators."""

import itertools

import pytest

import penstock as ps

torch = pytest.importorskip("torch")
data = torch.utils.data

from torch_datasets import (  # noqa: E402  # imports torch
    SAMPLERS,
    N,
    Stream,
    assert_same,
    tensors,
)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_goes_on_exactly_with_samplers_of_torch(name, workers):
    def loader():
        return ps.DataLoader(tensors(), 2, sampler=SAMPLERS[name](), num_workers=workers)

    torch.manual_seed(1)
    first = loader()
    list(first)
    batches = iter(first)
    taken = list(itertools.islice(batches, 2))
    state = first.state_dict()
    rest = list(batches)
    after = list(first) if "seeded" in name or name == "distributed" else None

    torch.manual_seed(99)
    second = loader()
    second.load_state_dict(state)
    assert_same(rest, list(second))
    assert len(taken) == 2
    if after is not None:
        assert_same(after, list(second))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("finished", [True, False])
def test_a_shuffled_pass_of_torchs_dataset_goes_on_exactly(workers, seeded, finished):
    def loader():
        generator = torch.Generator().manual_seed(3) if seeded else None
        return ps.DataLoader(tensors(), 3, shuffle=True, generator=generator, num_workers=workers)

    first = loader()
    list(first)
    batches = iter(first)
    list(batches if finished else itertools.islice(batches, 3))
    state = first.state_dict()
    rest = list(batches)
    next_pass = list(first)
    second = loader()
    second.load_state_dict(state)
    if not finished:
        assert_same(rest, list(second))
    if seeded:
        assert_same(next_pass, list(second))


def test_a_state_is_saved_with_a_model(tmp_path):
    loader = ps.DataLoader(tensors(), 3, shuffle=True, generator=torch.Generator())
    batches = iter(loader)
    next(batches)
    torch.save({"loader": loader.state_dict()}, tmp_path / "model.pt")
    other = ps.DataLoader(tensors(), 3, shuffle=True, generator=torch.Generator())
    other.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True)["loader"])
    assert_same(list(batches), list(other))


GOING_ON = {
    "shuffled": lambda: ps.DataLoader(tensors(), 3, shuffle=True),
    "in order": lambda: ps.DataLoader(tensors(), 3),
    "iterable": lambda: ps.DataLoader(Stream(), 3),
    "drawn": lambda: ps.DataLoader(tensors(), 3, sampler=data.SubsetRandomSampler(range(N))),
    "own generator": lambda: ps.DataLoader(
        tensors(), 3, sampler=data.RandomSampler(tensors(), generator=torch.Generator())
    ),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_the_global_generator_is_left_where_it_would_be(name):
    torch.manual_seed(4)
    first = GOING_ON[name]()
    batches = iter(first)
    next(batches)
    state, random = first.state_dict(), torch.get_rng_state()
    rest, later = list(batches), list(first)
    behind = torch.get_rng_state()
    torch.manual_seed(5)
    second = GOING_ON[name]()
    second.load_state_dict(state)
    torch.set_rng_state(random)
    assert_same(rest, list(second))
    assert_same(later, list(second))
    assert torch.equal(torch.get_rng_state(), behind)


def test_a_generator_that_nothing_restores_is_not_drawn_from_again():
    first = ps.DataLoader(tensors(), 3, generator=torch.Generator().manual_seed(1))
    batches = iter(first)
    next(batches)
    second = ps.DataLoader(tensors(), 3, generator=torch.Generator())
    second.generator.set_state(first.generator.get_state())
    second.load_state_dict(first.state_dict())
    assert_same(list(batches), list(second))
    assert torch.equal(first.generator.get_state(), second.generator.get_state())


class DrawsRows(data.Dataset):
    """Random rows from PyTorch's global generator, whose state is the dataset's state."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return index, torch.randint(1000, ()).item()

    def state_dict(self):
        return {"generator": torch.get_rng_state()}

    def load_state_dict(self, state):
        torch.set_rng_state(state["generator"])


class DrawsNumbers(data.IterableDataset):
    """A stream of such numbers; its state is not enough to continue within a pass."""

    def __iter__(self):
        yield from torch.randint(1000, (6,)).tolist()

    state_dict = DrawsRows.state_dict
    load_state_dict = DrawsRows.load_state_dict


@pytest.mark.parametrize(
    ("kind", "taken"), [(DrawsRows, 0), (DrawsRows, 2), (DrawsRows, 6), (DrawsNumbers, 6)]
)
def test_a_global_generator_in_the_state_continues(kind, taken):
    def loader():
        return ps.DataLoader(kind(), 1, shuffle=True if kind is DrawsRows else None)

    torch.manual_seed(1)
    first = loader()
    list(first)
    batches = iter(first)
    list(itertools.islice(batches, taken if taken < 6 else None))
    state = first.state_dict()
    rest = list(batches), list(first), list(first)

    torch.manual_seed(99)
    second = loader()
    second.load_state_dict(state)
    for expected in rest if taken < 6 else rest[1:]:
        assert_same(expected, list(second))
