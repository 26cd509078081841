"""The order of copies to a CUDA device: when batch buffers are filled, and the waits between."""

import threading

import numpy as np
import pytest

import penstock as ps
from contract import Boom, assert_frees_threads

torch = pytest.importorskip("torch")

from fake_cuda import FakeTorch  # noqa: E402  # imports torch
from penstock.adapters.torch import torch_batches  # noqa: E402
from penstock.structure import map_leaves  # noqa: E402

Dataset = ps.Dataset
AHEAD = [0, 1, 2, 5, ps.AUTOTUNE]


@pytest.fixture
def fake():
    return FakeTorch()


def on_cuda(fake, dataset, prefetch=2, device="cuda", pin="auto"):
    return torch_batches(fake, dataset, device, pin, prefetch)


def steps(n, rows=4, width=100):
    """Yield batches filled with the number of their step."""
    return Dataset.range(n * rows).map(lambda x: np.full(width, x // rows)).batch(rows)


@pytest.mark.parametrize("prefetch", AHEAD)
def test_data_arrive_although_copies_are_late(fake, prefetch):
    for step, batch in enumerate(on_cuda(fake, steps(30), prefetch)):
        assert (fake.read(batch) == step).all()
    assert step == 29


@pytest.mark.parametrize("prefetch", AHEAD)
def test_data_arrive_although_nobody_waits_before_the_end(fake, prefetch):
    """The consumer queues its work without waiting, like training steps."""
    kept = list(on_cuda(fake, steps(30), prefetch))
    assert [int(fake.read(batch)[0, 0]) for batch in kept] == list(range(30))


def test_the_fake_shows_data_that_were_not_waited_for(fake):
    batches = on_cuda(fake, steps(3), prefetch=0)
    held = next(iter(batches._dataset))
    batch, _ = held.value
    assert (fake.read(batch) != 0).all()


def test_the_fake_shows_a_slab_that_was_filled_too_early(fake, monkeypatch):
    from penstock.adapters import torch_cuda

    def careless(slab, torch, size):
        slab.copied = None
        reserve(slab, torch, size)

    reserve = torch_cuda._Slab.reserve
    monkeypatch.setattr(torch_cuda._Slab, "reserve", careless)
    kept = list(on_cuda(fake, steps(30)))
    assert [int(fake.read(batch)[0, 0]) for batch in kept] != list(range(30))


def test_two_slabs_are_enough_and_are_used_in_turn(fake):
    list(on_cuda(fake, steps(50)))
    assert fake.cuda.happened("pin") == [1 << 16] * 2
    recorded = fake.cuda.happened("record")
    waited = fake.cuda.happened("synchronize")
    assert len(recorded) == 50
    assert len(waited) == len(set(map(id, waited))) == 48


def test_a_slab_is_filled_only_behind_its_own_event(fake):
    list(on_cuda(fake, steps(6), prefetch=0))
    order = [what for what, _ in fake.cuda.log if what in ("copy", "record", "synchronize", "wait")]
    one = ["copy", "record", "wait"]
    assert order == one * 2 + ["synchronize", *one] * 4


def test_copies_are_on_a_stream_of_their_own_and_the_consumer_s_waits(fake):
    list(on_cuda(fake, steps(3)))
    assert {repr(stream) for stream in fake.cuda.happened("copy")} == {"side"}
    assert {repr(stream) for stream in fake.cuda.happened("record")} == {"side"}
    assert [repr(stream) for stream in fake.cuda.happened("wait")] == ["default 0"] * 3


def test_the_stream_that_is_current_in_the_loop_waits_and_is_recorded(fake):
    mine = fake.cuda.Stream(torch.device("cuda", 0))
    it = iter(on_cuda(fake, steps(2).map(lambda x: {"a": x, "b": (x, "text", None)})))
    with fake.cuda.stream(mine):
        element = next(it)
        assert (fake.read(element["b"][0]) == 0).all()
    next(it)
    waits = fake.cuda.happened("wait")
    assert waits[0] is mine
    assert repr(waits[1]) == "default 0"
    recorded = fake.cuda.happened("record_stream")
    assert recorded[:2] == [(element["a"].data_ptr(), mine), (element["b"][0].data_ptr(), mine)]
    assert len(recorded) == 4


@pytest.mark.parametrize("prefetch", [1, 2])
def test_slabs_are_filled_in_a_thread_of_the_engine(fake, prefetch):
    list(on_cuda(fake, steps(3), prefetch))
    assert fake.cuda.threads == {"penstock"}


def test_every_dtype_and_shape_arrives_and_the_rest_stays(fake):
    thing = object()
    dtypes = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
    arrays = {d: (np.arange(15) % 2).astype(d).reshape(3, 5) for d in dtypes}
    shapes = (np.zeros((0, 3), "f4"), np.float32(1.5), np.array(7, "u2"), np.arange(3)[::-1])
    element = {"dtypes": arrays, "shapes": shapes, "text": "a", "thing": thing, "none": None}
    for _ in range(2):
        (came,) = on_cuda(fake, Dataset.from_tensors(element))
        for dtype, array in arrays.items():
            got = fake.read(came["dtypes"][dtype])
            assert got.dtype == array.dtype
            np.testing.assert_array_equal(got, array)
        for got, value in zip(came["shapes"], shapes, strict=True):
            assert got.shape == value.shape
            np.testing.assert_array_equal(fake.read(got), value)
            assert got.device == torch.device("cuda", 0)
        assert (came["text"], came["thing"], came["none"]) == ("a", thing, None)


@pytest.mark.parametrize("element", [(), (1,), 1, {}, (None, "a"), np.zeros((0,))], ids=repr)
def test_small_and_empty_elements_keep_their_nesting(fake, element):
    ds = Dataset.from_tensors(element)
    (came,) = on_cuda(fake, ds)
    read = map_leaves(lambda leaf: fake.read(leaf)[()] if torch.is_tensor(leaf) else leaf, came)
    assert repr(read) == repr(ds.first())


def test_an_uneven_last_batch_and_growing_ones_arrive(fake):
    def grow(x):
        return np.full((x + 1) * 5000, x)

    for step, array in enumerate(on_cuda(fake, Dataset.range(12).map(grow))):
        got = fake.read(array)
        assert got.shape == ((step + 1) * 5000,)
        assert (got == step).all()
    pinned = fake.cuda.happened("pin")
    assert all(size & (size - 1) == 0 for size in pinned)
    assert len(pinned) <= 2 * 4  # 64 KiB to 512 KiB
    last = list(on_cuda(fake, Dataset.range(10).batch(4)))[-1]
    assert fake.read(last).tolist() == [8, 9]


def test_an_error_of_a_function_is_raised_as_itself_at_its_place(fake):
    def fail_at_2(x):
        if x == 2:
            raise Boom("two")
        return np.full(5, x)

    it = iter(on_cuda(fake, Dataset.range(5).map(fail_at_2)))
    came = [next(it), next(it)]
    with pytest.raises(Boom, match="two"):
        next(it)
    came += it
    assert [int(fake.read(x)[0]) for x in came] == [0, 1, 3, 4]


def test_a_dtype_that_torch_lacks_is_an_error_that_names_the_leaf(fake):
    ds = Dataset.range(3).map(
        lambda x: {"x": np.full(9, x), "t": np.datetime64(1, "s") if x == 1 else np.zeros(3)}
    )
    it = iter(on_cuda(fake, ds))
    first = next(it)
    with pytest.raises(
        TypeError, match=r"to_torch: .* in leaf \['t'\], got datetime64\[s\]"
    ) as told:
        next(it)
    assert told.value.__notes__ == ["penstock: in stage to_torch, element 1"]
    last = next(it)
    assert [fake.read(e["x"])[0] for e in (first, last)] == [0, 2]


@pytest.mark.parametrize("prefetch", [0, 3])
def test_a_device_without_memory_costs_one_batch_and_spoils_no_other(fake, prefetch):
    """Copies of the batch that started before the error read its buffer like any other copy."""
    fake.cuda.fails_at = 8  # the second leaf of the fourth batch
    it = iter(on_cuda(fake, steps(20).map(lambda x: (x, x)), prefetch))
    came = [next(it) for _ in range(3)]
    with pytest.raises(torch.OutOfMemoryError):
        next(it)
    came += it
    got = [(int(fake.read(a)[0, 0]), int(fake.read(b)[-1, -1])) for a, b in came]
    assert got == [(i, i) for i in range(20) if i != 3]
    assert len(fake.cuda.happened("record")) == 20


def test_leaving_early_frees_the_thread_and_the_next_pass_is_whole(fake):
    batches = on_cuda(fake, steps(30))

    def run():
        for batch in batches:
            del batch
            break

    assert_frees_threads(run)
    with iter(batches) as it:
        next(it)
    assert [int(fake.read(batch)[0, 0]) for batch in batches] == list(range(30))
    assert len(fake.cuda.happened("pin")) == 2  # over all passes


def test_two_passes_at_a_time_do_not_mix(fake):
    batches = on_cuda(fake, steps(20))
    pairs = list(zip(batches, batches, strict=True))
    assert [(int(fake.read(a)[0, 0]), int(fake.read(b)[0, 0])) for a, b in pairs] == [
        (i, i) for i in range(20)
    ]


def test_length_and_positions_are_those_of_the_dataset(fake):
    batches = on_cuda(fake, steps(10).shuffle(10, seed=1), prefetch=3)
    assert len(batches) == 10
    it = iter(batches)
    next(it), next(it)
    saved = it.state_dict()
    rest = [int(fake.read(b)[0, 0]) for b in it]
    again = iter(batches)
    again.load_state_dict(saved)
    assert [int(fake.read(b)[0, 0]) for b in again] == rest
    assert len(rest) == 8


def test_without_pinning_elements_are_copied_as_ever_where_they_are_used(fake):
    it = iter(on_cuda(fake, steps(3).map(lambda x: {"x": x, "text": "a"}), pin=False))
    element = next(it)
    assert fake.read(element["x"]).max() == 0
    assert element["text"] == "a"
    assert fake.cuda.happened("plain copy") == [threading.current_thread().name]
    assert fake.cuda.happened("pin") == []


def test_cuda_is_the_device_that_is_current_at_the_call():
    fake = FakeTorch(device=1)
    (came,) = on_cuda(fake, Dataset.from_tensors(np.arange(3)))
    assert came.device == torch.device("cuda", 1)
    assert [repr(stream) for stream in fake.cuda.happened("wait")] == ["default 1"]


def test_a_device_that_does_not_exist_is_torch_s_error_at_the_call(fake):
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        on_cuda(fake, steps(1), device="cuda:9")
