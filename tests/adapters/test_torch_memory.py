"""Memory use and thread count stay constant over many iterators and epochs."""

import gc
import threading

import numpy as np
import pytest

import penstock as ps
from process import resident

torch = pytest.importorskip("torch")

from fake_cuda import FakeTorch  # noqa: E402  # imports torch
from penstock.adapters.torch import torch_batches  # noqa: E402

ROWS = np.ones((64, 10_000), np.float32)  # a batch of 4: 160 KB
# One leaked batch per iterator would be 160 MB, one per step 26 MB.
ALLOWED = 16 * 2**20


def resident_without_garbage():
    gc.collect()
    return resident()


def dataset():
    return ps.Dataset.from_tensor_slices(ROWS).map(lambda x: x + 1).batch(4)


def on_fake_device():
    return torch_batches(FakeTorch(), dataset(), "cuda", "auto", 2)


FORMS = {
    "to_torch": lambda: dataset().to_torch(),
    "to_torch on a device": on_fake_device,
    "to_torch_iterable": lambda: dataset().to_torch_iterable(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_thousand_iterators_leave_nothing(form):
    batches = FORMS[form]()

    def one():
        view = next(iter(batches))[1, 5:]
        assert len(view) == 9995

    for _ in range(100):
        one()
    before, threads = resident_without_garbage(), threading.active_count()
    for _ in range(1000):
        one()
    assert resident_without_garbage() - before < ALLOWED
    assert threading.active_count() <= threads + 20  # idle ones are kept for the next run


@pytest.mark.parametrize("form", FORMS)
def test_ten_epochs_leave_nothing(form):
    batches = FORMS[form]()

    def epoch():
        total = 0.0
        for batch in batches:
            total += float(batch[0, 0])
        return total

    epoch()
    before, threads = resident_without_garbage(), threading.active_count()
    for _ in range(10):
        epoch()
    assert resident_without_garbage() - before < ALLOWED
    assert threading.active_count() <= threads + 5
