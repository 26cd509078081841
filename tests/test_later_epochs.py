"""Epochs after a restored one equal those of the program that saved the state."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import penstock as ps

Dataset = ps.Dataset
EPOCHS = 5


@pytest.fixture(autouse=True)
def unseeded():
    yield
    ps.set_seed(None)


def noisy(x):
    return x, ps.random.uniform((), dtype="float64")


def iterating(x):
    return sum(float(noise) for _, noise in Dataset.range(3).map(noisy))


def build_shuffles(x):
    return Dataset.range(3).shuffle(3, reshuffle_each_iteration=False).map(lambda y: 10 * x + y)


def generated():
    for x in Dataset.range(20).shuffle(20):
        yield x, ps.random.uniform(())


PIPELINES = {
    "augmentation": lambda: Dataset.range(20).map(noisy),
    "native": lambda: Dataset.range(20).map(ps.native(noisy), num_parallel_calls=2).prefetch(2),
    "rng": lambda: Dataset.range(20).map(lambda x, rng: rng.random(2)),
    "shuffle": lambda: Dataset.range(20).shuffle(20),
    "small shuffle": lambda: Dataset.range(20).shuffle(5).map(noisy),
    "buffer of rows": lambda: Dataset.from_generator(lambda: iter(range(20))).shuffle(20),
    "one order": lambda: Dataset.range(20).shuffle(20, reshuffle_each_iteration=False),
    "one order of rows": lambda: Dataset.from_generator(lambda: iter(range(20))).shuffle(
        20, reshuffle_each_iteration=False
    ),
    "global_shuffle": lambda: Dataset.range(20).global_shuffle().map(noisy),
    "one global order": lambda: Dataset.range(20).global_shuffle(reshuffle_each_iteration=False),
    "seeded shuffle": lambda: Dataset.range(20).shuffle(20, seed=3).map(noisy),
    "shuffle and repeat": lambda: Dataset.range(10).shuffle(5).repeat(2).map(noisy),
    "zip": lambda: Dataset.zip(Dataset.range(20).shuffle(20), Dataset.range(20).shuffle(9)),
    "mixed": lambda: Dataset.sample_from_datasets(
        [Dataset.range(20).shuffle(20), Dataset.range(100, 120).map(lambda x: x)], [0.3, 0.7]
    ),
    "random": lambda: Dataset.random().take(20),
    "interleave": lambda: Dataset.range(7).interleave(
        build_shuffles, cycle_length=2, num_parallel_calls=2
    ),
    "iterators in functions": lambda: Dataset.range(20).map(iterating, num_parallel_calls=2),
    "generator": lambda: Dataset.from_generator(generated),
    "shard_evenly": lambda: Dataset.range(40).shuffle(40).shard_evenly(2, 1).map(noisy),
    "batches": lambda: Dataset.range(40).shuffle(40).map(noisy).batch(2),
}


def plain(element):
    return [
        np.asarray(leaf).tolist() for leaf in (element if type(element) is tuple else [element])
    ]


def epoch_of(ds, saving=None, state=None):
    """Return the elements of an epoch, and the state after `saving` of them."""
    it = iter(ds)
    if state is not None:
        it.set_state(state)
    came, saved = [], None
    for number, element in enumerate(it, 1):
        came.append(plain(element))
        if number == saving:
            saved = it.get_state()
    return came, it.get_state() if saving == "end" else saved


@pytest.mark.parametrize("seed", [7, None], ids=["set_seed", "unseeded"])
@pytest.mark.parametrize("kind", PIPELINES)
def test_later_epochs_of_a_restored_program(kind, seed):
    ps.set_seed(seed)
    ds = PIPELINES[kind]()
    wanted, state = [], None
    for epoch in range(EPOCHS):
        came, saved = epoch_of(ds, 3 if epoch == 2 else None)
        wanted.append(came)
        state = state or saved
    assert len({repr(came) for came in wanted}) == (1 if "one" in kind else EPOCHS)
    ps.set_seed(seed)
    again = PIPELINES[kind]()
    came = [epoch_of(again, state=state)[0]] + [epoch_of(again)[0] for _ in range(3, EPOCHS)]
    assert came == [wanted[2][3:], *wanted[3:]]


@pytest.mark.parametrize("seed", [7, None], ids=["set_seed", "unseeded"])
@pytest.mark.parametrize("at", [1, "end"])
def test_iterators_in_between_take_seeds(seed, at):
    def program(state=None, first=0):
        ps.set_seed(seed)
        train = Dataset.range(20).shuffle(20).map(noisy)
        test = Dataset.range(5).map(noisy)
        saved, found = None, []
        for epoch in range(first, EPOCHS):
            came, now = epoch_of(train, at if epoch == 1 else None, state)
            state, saved = None, saved or now
            found += [came, epoch_of(test)[0], float(ps.random.uniform(()))]
        return found, saved

    wanted, state = program()
    found, _ = program(state, 1)
    skipped = len(wanted[3]) if at == "end" else at
    assert found == [wanted[3][skipped:], *wanted[4:]]


def test_a_state_from_before_the_first_element():
    ps.set_seed(7)
    ds = PIPELINES["small shuffle"]()
    epoch_of(ds)
    it = iter(ds)
    state = it.get_state()
    wanted = [[plain(x) for x in it], epoch_of(ds)[0]]
    ps.set_seed(None)
    again = PIPELINES["small shuffle"]()
    assert [epoch_of(again, state=state)[0], epoch_of(again)[0]] == wanted


def test_a_state_of_set_seed_continues_its_seeds_in_a_program_that_set_none():
    ps.set_seed(7)
    ds = PIPELINES["augmentation"]()
    _, state = epoch_of(ds, 3)
    wanted = epoch_of(ds)[0]
    for seed in (8, None):
        ps.set_seed(seed)
        again = PIPELINES["augmentation"]()
        epoch_of(again, state=state)
        assert epoch_of(again)[0] == wanted


def test_a_rejected_state_changes_no_seeds():
    ps.set_seed(1)
    _, state = epoch_of(Dataset.range(9).shuffle(3, seed=3), 2)
    ps.set_seed(7)
    iter(Dataset.range(1))
    wanted = epoch_of(PIPELINES["augmentation"]())[0]
    ps.set_seed(7)
    with pytest.raises(ps.errors.StateError):
        iter(Dataset.range(9).shuffle(4, seed=3)).set_state(state)
    assert epoch_of(PIPELINES["augmentation"]())[0] == wanted


def test_other_states_of_a_run_do_not_change_seeds():
    """Only `set_state` of an iterator continues the sequence of seeds."""
    ps.set_seed(7)
    ds = Dataset.range(40).map(noisy)
    list(ds)
    wanted = [plain(x) for x in ds]
    ps.set_seed(7)
    list(ds.distribute(engine="local", num_workers=2))
    assert [plain(x) for x in ds] == wanted


def test_programs_without_a_seed_differ_and_children_differ_from_their_parent():
    code = """
    import os, sys
    import penstock as ps
    ds = ps.Dataset.range(3).map(lambda x: ps.random.uniform(()))
    def draws():
        return f"{[float(x) for x in ds]} {float(ps.random.uniform(()))}"
    draws()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, draws().encode())
        os._exit(0)
    os.waitpid(child, 0)
    print(os.read(read, 1000).decode())
    print(draws())
    """
    found = []
    for _ in range(2):
        run = [sys.executable, "-c", textwrap.dedent(code)]
        found += subprocess.run(run, capture_output=True, text=True, check=True).stdout.split("\n")
    found = [line for line in found if line]
    assert len(set(found)) == 4


def test_states_stay_small():
    ps.set_seed(7)
    it = iter(Dataset.range(1000).shuffle(100).map(noisy).batch(10).prefetch(2))
    next(it)
    assert len(it.get_state()) < 500


@pytest.mark.parametrize("seed", [7, None], ids=["set_seed", "unseeded"])
@pytest.mark.parametrize("generator", [None, 3, "numpy"])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("at", [2, "end"])
def test_later_passes_of_a_loader(seed, generator, workers, at):
    def program(state=None, first=0):
        ps.set_seed(seed)
        own = np.random.default_rng(5) if generator == "numpy" else generator
        loader = ps.DataLoader(
            np.arange(12), batch_size=3, shuffle=True, generator=own, num_workers=workers
        )
        test = ps.DataLoader(np.arange(5), shuffle=True)
        found, saved = [], None
        if state is not None:
            loader.load_state_dict(state)
        if at == "end" and state is not None:
            found.append([])
            found.append([batch.tolist() for batch in test])
            first += 1
        for epoch in range(first, EPOCHS):
            came = []
            for number, batch in enumerate(loader, 1):
                came.append(batch.tolist())
                if (epoch, number) == (1, at):
                    saved = loader.state_dict()
            if (epoch, at) == (1, "end"):
                saved = loader.state_dict()
            found += [came, [batch.tolist() for batch in test]]
        return found, saved

    wanted, state = program()
    assert len({repr(came) for came in wanted[::2]}) == EPOCHS
    found, _ = program(state, 1)
    skipped = 4 if at == "end" else at
    assert found == [wanted[2][skipped:], *wanted[3:]]
