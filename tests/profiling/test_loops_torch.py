"""Profiles of loops over PyTorch's loaders and the PyTorch adapters of datasets."""

import time

import numpy as np
import pytest

import penstock as ps
from penstock.loaders import loader_of
from penstock.profiling import Profile

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset  # noqa: E402


class Photos(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        time.sleep(0.02)
        return np.float32(i)


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(12):
            time.sleep(0.02)
            yield np.float32(i)


def slow(x):
    time.sleep(0.02)
    return x


def rows():
    return ps.Dataset.range(12).map(slow).batch(3)


def changes(profile):
    return [each.change for each in profile.advice]


@pytest.mark.parametrize(
    ("iterable", "kind"),
    [
        (lambda: rows().to_torch(), Profile),
        (lambda: iter(rows().to_torch()), Profile),
        (lambda: DataLoader(rows().to_torch_iterable(), batch_size=None), Profile),
        (lambda: ps.DataLoader(rows().to_torch_iterable(), batch_size=None), Profile),
        (lambda: DataLoader(Photos(), batch_size=3), ps.LoopProfile),
        (lambda: iter(DataLoader(Photos(), batch_size=3)), ps.LoopProfile),
        (lambda: DataLoader(Stream(), batch_size=3), ps.LoopProfile),
        (lambda: ps.DataLoader(Photos(), batch_size=3), ps.LoopProfile),
    ],
)
def test_a_loop_that_waits_for_files(iterable, kind):
    with ps.profile(iterable()) as p:
        assert len(list(p)) == 4
    assert isinstance(p.result, kind)
    assert p.bottleneck.kind == "io"
    assert p.input_bound > 0.5


def test_a_loader_without_workers():
    with ps.profile(DataLoader(Photos(), batch_size=3)) as p:
        list(p)
    assert p.places[0][0].startswith("Photos.__getitem__")
    assert any(each.startswith("num_workers=") for each in changes(p))
    assert changes(p)[0].startswith("penstock.DataLoader(dataset, ..., num_workers=")


@pytest.mark.slow
def test_a_loader_with_worker_processes():
    loader = DataLoader(Photos(), batch_size=3, num_workers=1)
    with ps.profile(loader) as p:
        for _ in range(2):
            assert len(list(p)) == 4
    assert p.elements == 8
    assert "persistent_workers=True" in changes(p)


@pytest.mark.parametrize(
    ("dataset", "in_memory"),
    [
        (lambda: TensorDataset(torch.zeros(4)), True),
        (lambda: Subset(TensorDataset(torch.zeros(4)), [1, 2]), True),
        (Photos, False),
    ],
)
def test_settings_of_loaders(dataset, in_memory):
    view = loader_of(DataLoader(dataset(), pin_memory=True))
    assert (view.ours, view.num_workers, view.pin_memory) == (False, 0, True)
    assert view.in_memory == in_memory
    assert loader_of(iter(DataLoader(dataset()))).num_workers == 0
    assert loader_of(ps.DataLoader(dataset(), num_workers=2)).processes is False
    assert loader_of(dataset()) is None


def test_a_progress_bar_is_unwrapped():
    tqdm = pytest.importorskip("tqdm").tqdm
    with ps.profile(tqdm(DataLoader(Photos(), batch_size=3), disable=True)) as p:
        assert len(list(p)) == 4
    assert changes(p)[0].startswith("penstock.DataLoader")
