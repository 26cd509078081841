"""In trainers, epochs after a restored one equal those of the uninterrupted program."""

import functools

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


def torch_batches(ds):
    pytest.importorskip("torch")
    return ds.to_torch()


def torch_iterable(ds):
    pytest.importorskip("torch")
    return ds.to_torch_iterable()


def jax_batches(ds):
    pytest.importorskip("jax")
    return ds.to_jax()


def stateful_loader(ds, workers=0):
    loaders = pytest.importorskip("torchdata.stateful_dataloader")
    return loaders.StatefulDataLoader(
        ds.to_torch_iterable(), batch_size=None, num_workers=workers,
        persistent_workers=workers > 0, multiprocessing_context="fork" if workers else None,
    )  # fmt: skip


FORMS = {
    "to_torch": torch_batches,
    "to_torch_iterable": torch_iterable,
    "StatefulDataLoader": stateful_loader,
    "StatefulDataLoader with workers": functools.partial(stateful_loader, workers=2),
    "to_jax": jax_batches,
}


@pytest.mark.filterwarnings("ignore:to_torch_iterable")
@pytest.mark.parametrize("seed", [7, None], ids=["set_seed", "unseeded"])
@pytest.mark.parametrize("at", [2, "end"])
@pytest.mark.parametrize("kind", FORMS)
def test_later_epochs_of_trainers(kind, at, seed):
    def program(state=None, first=0):
        ps.set_seed(seed)
        if "to_jax" not in kind:
            pytest.importorskip("torch").manual_seed(3)
        ds = Dataset.range(12).shuffle(12).map(noisy).batch(3)
        batches = FORMS[kind](ds)
        found, saved = [], None
        for epoch in range(first, EPOCHS):
            if state is not None and hasattr(batches, "load_state_dict"):
                batches.load_state_dict(state)
            it = iter(batches)
            if state is not None and not hasattr(batches, "load_state_dict"):
                it.load_state_dict(state)
            state, came = None, []
            saves = batches if hasattr(batches, "state_dict") else it
            for number, batch in enumerate(it, 1):
                came.append([np.asarray(leaf).tolist() for leaf in batch])
                if (epoch, number) == (1, at):
                    saved = saves.state_dict()
            if (epoch, at) == (1, "end"):
                saved = saves.state_dict()
            found.append(came)
        return found, saved

    wanted, state = program()
    assert len({repr(came) for came in wanted}) == EPOCHS
    # At the end of an epoch, the state of an iterable starts the next one.
    begins = at == "end" and kind not in ("to_torch", "to_jax")
    found, _ = program(state, 2 if begins else 1)
    rest = [] if at == "end" else wanted[1][at:]
    assert found == (wanted[2:] if begins else [rest, *wanted[2:]])
