"""Ctrl-C at any point of a pass: a caller that continues gets each batch once, or an error."""

import sys

import numpy as np
import pytest

import penstock as ps
from striking import Striking

N = 10


class Rows:
    def __len__(self):
        return N

    def __getitem__(self, i):
        return np.int64(i)


class Stream:
    def __iter__(self):
        return iter(range(N))


class Share:
    """Numbers, split between the workers."""

    def __iter__(self):
        info = ps.get_worker_info()
        return iter(range(info.id * 6, min(N, info.id * 6 + 6)))


class Sampler:
    def __iter__(self):
        yield from reversed(range(N))


def run(make, places):
    """Return an interrupted pass's elements, its early end, and the number of signal checks."""
    it = iter(make())
    came, error = [], None
    striking = Striking("penstock/data_loader", places)
    while True:
        batch = None
        try:
            with striking:
                batch = it.__next__()
        except KeyboardInterrupt:
            continue
        except StopIteration:
            break
        except RuntimeError as raised:
            error = str(raised)
            break
        came += np.atleast_1d(batch).tolist()
    it.close()
    return came, error, striking.looks


LOADERS = {
    "inline": lambda: ps.DataLoader(Rows(), 2),
    "one by one": lambda: ps.DataLoader(Rows(), None),
    "a sampler": lambda: ps.DataLoader(Rows(), 2, sampler=Sampler()),
    "a stream": lambda: ps.DataLoader(Stream(), 2),
    "threads": lambda: ps.DataLoader(Rows(), 2, num_workers=2),
    "threads without order": lambda: ps.DataLoader(Rows(), 2, num_workers=2, in_order=False),
    "a timeout": lambda: ps.DataLoader(Rows(), 2, num_workers=1, timeout=30),
    "a stream in threads": lambda: ps.DataLoader(Stream(), 2, num_workers=1),
}
if sys.platform == "linux":
    PROCESSES = {"num_workers": 2, "worker_method": "process"}
    LOADERS |= {
        "processes": lambda: ps.DataLoader(Rows(), 2, **PROCESSES),
        "processes without order": lambda: ps.DataLoader(Rows(), 2, in_order=False, **PROCESSES),
        "a stream in processes": lambda: ps.DataLoader(Share(), 2, **PROCESSES),
    }
MAY_END = ("a sampler", "a stream")  # a KeyboardInterrupt may leave their iterators unusable


@pytest.mark.parametrize("name", LOADERS)
def test_interrupts_at_any_place_lose_no_batch(name):
    make = LOADERS[name]
    want, error, looks = run(make, ())
    assert sorted(want) == list(range(N))
    assert error is None
    assert looks > 10
    alone = [{place} for place in range(1, looks + 1)]
    often = [range(start, 10 * looks, step) for step in (2, 3, 5) for start in range(1, step + 1)]
    told = 0
    for places in alone + often:
        came, error, _ = run(make, places)
        if error is not None:
            assert name in MAY_END
            assert "KeyboardInterrupt reached" in error
            assert came == want[: len(came)]
            told += 1
        elif "order" in name:
            assert sorted(came) == list(range(N)), places
        else:
            assert came == want, places
    assert (told > 0) == (name in MAY_END)


@pytest.mark.parametrize("name", MAY_END)
def test_a_pass_that_an_interrupt_has_ended_goes_on_from_its_state(name):
    loader = LOADERS[name]()
    want, _, looks = run(LOADERS[name], ())
    for place in range(1, looks + 1):
        came, error, _ = run(lambda: loader, {place})
        if error is not None:
            loader.load_state_dict(loader.state_dict())
            came += np.concatenate([np.zeros(0, np.int64), *loader]).tolist()
        assert came == want, place
