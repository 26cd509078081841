"""to_torch on the CPU: tensors share the engine's memory, and no element is lost."""

import collections
import dataclasses
import os
import signal
import threading
import warnings

import numpy as np
import pytest

import penstock as ps
from contract import Boom, assert_frees_threads
from scripts import wait_until

torch = pytest.importorskip("torch")

Dataset = ps.Dataset
Pair = collections.namedtuple("Pair", "left right")
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
SHAPES = [(3, 4), (0, 2), (5,), ()]


@dataclasses.dataclass
class Sample:
    image: object
    label: object


@pytest.fixture(autouse=True)
def no_warnings():
    """A tensor made from a read-only array would cause a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def shared(monkeypatch):
    """Return the addresses of the arrays that became tensors."""
    addresses = []
    from_numpy = torch.from_numpy

    def spy(array):
        addresses.append(array.ctypes.data)
        return from_numpy(array)

    monkeypatch.setattr(torch, "from_numpy", spy)
    return addresses


def numbers(dtype, shape=(6, 2, 3)):
    values = np.arange(np.prod(shape)).reshape(shape) % 7
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("prefetch", [0, 2])
def test_batches_of_every_dtype_come_as_they_are(dtype, prefetch):
    values = numbers(dtype)
    ds = Dataset.from_tensor_slices(values).batch(4)
    came = list(ds.to_torch(prefetch=prefetch))
    assert [batch.shape for batch in came] == [(4, 2, 3), (2, 2, 3)]
    assert all(batch.dtype == getattr(torch, dtype) for batch in came)
    np.testing.assert_array_equal(np.concatenate([batch.numpy() for batch in came]), values)


def test_bfloat16_is_torch_s_own():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rows = np.arange(6).reshape(3, 2).astype(ml_dtypes.bfloat16)
    (batch,) = Dataset.from_tensor_slices(rows).batch(3).to_torch()
    assert batch.dtype == torch.bfloat16
    assert batch.tolist() == rows.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_leaves_of_every_shape_come_as_they_are(dtype, shape):
    value = numbers(dtype, shape)
    for ds in (Dataset.from_tensors(value), Dataset.range(1).map(lambda _: value.copy())):
        (came,) = ds.to_torch()
        assert came.shape == shape
        assert came.dtype == getattr(torch, dtype)
        np.testing.assert_array_equal(came.numpy(), value)


def test_what_a_function_made_is_the_memory_of_the_tensor():
    made = []

    def make(x):
        array = np.full((100, 3), x)
        made.append(array.ctypes.data)
        return array, {"more": np.full((), x), "empty": np.zeros((0, 3))}

    addresses = [array.data_ptr() for array, _ in Dataset.range(5).map(make).to_torch()]
    assert addresses == made


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_engine_s_batches_are_the_memory_of_the_tensors(dtype, shared):
    ds = Dataset.from_tensor_slices({"x": numbers(dtype), "y": numbers("float32")}).batch(2)
    addresses = []
    for batch in ds.to_torch():
        addresses += [batch["x"].data_ptr(), batch["y"].data_ptr()]
    assert [a for a in shared if a in addresses] == addresses
    assert all(a % 64 == 0 for a in addresses)


def test_containers_stay_and_so_does_what_is_no_number():
    thing = object()
    element = {
        "pair": Pair(np.arange(3), (1.5, None)),
        "sample": Sample(np.zeros((2, 2), np.uint8), "cat"),
        "bytes": b"raw",
        "words": np.array(["a", "b"], object),
        "thing": thing,
        "one": (np.int8(4),),
    }
    (came,) = Dataset.from_tensors(element).to_torch()
    assert list(came) == list(element)
    assert isinstance(came["pair"], Pair)
    assert torch.equal(came["pair"].left, torch.arange(3))
    assert came["pair"].right[0].dtype == torch.float64
    assert came["pair"].right[1] is None
    assert isinstance(came["sample"], Sample)
    assert came["sample"].image.dtype == torch.uint8
    assert came["sample"].label == "cat"
    assert came["bytes"] == b"raw"
    assert came["words"].tolist() == ["a", "b"]
    assert came["thing"] is thing
    assert came["one"] == (torch.tensor(4, dtype=torch.int8),)


@pytest.mark.parametrize(
    ("element", "where"),
    [
        (np.datetime64(3, "s"), "the element, got datetime64[s]"),
        ({"a": (1, np.zeros(2, "m8[ms]"))}, "leaf ['a'][1], got timedelta64[ms]"),
        (Pair(1, np.longdouble(1)), "leaf .right, got longdouble"),
        (Sample({3: np.zeros(1, "clongdouble")}, 1), "leaf .image[3], got clongdouble"),
    ],
)
def test_a_dtype_that_torch_lacks_is_an_error_that_names_the_leaf(element, where):
    where = where.replace("clongdouble", str(np.dtype("clongdouble")))
    where = where.replace(" longdouble", f" {np.dtype('longdouble')}")
    it = iter(Dataset.from_tensors(element).to_torch())
    with pytest.raises(TypeError) as error:
        next(it)
    assert str(error.value).startswith("to_torch: a dtype that torch has was expected in " + where)
    assert next(it, None) is None


def test_what_must_not_be_written_to_is_copied():
    ours = np.arange(6.0).reshape(2, 3)
    cached = Dataset.from_tensor_slices(ours).batch(2).cache()
    for ds in (Dataset.from_tensor_slices(ours), Dataset.from_tensors(ours).repeat(2), cached):
        for _ in range(2):
            for tensor in ds.to_torch():
                tensor += 1
        np.testing.assert_array_equal(ours, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(next(iter(cached.to_torch())).numpy(), ours)


@pytest.mark.parametrize("prefetch", [0, 1, 2, ps.AUTOTUNE])
def test_memory_is_not_used_again_while_a_tensor_or_a_view_of_it_is_kept(prefetch):
    """Each batch is filled with one number; kept batches must still contain it at the end."""
    ds = Dataset.range(100 * 64).map(lambda x: np.full(512, x // 64)).batch(64)
    kept, addresses = [], []
    for step, batch in enumerate(ds.to_torch(prefetch=prefetch)):
        addresses.append(batch.data_ptr())
        if step % 3 == 0:
            kept.append((step, batch[-1, 5:]))  # a view
        elif step % 7 == 0:
            kept.append((step, batch))
        elif step % 11 == 0:
            kept.append((step, torch.from_dlpack(batch[3])))
        del batch
    assert len(addresses) == 100
    assert len(set(addresses)) < 100, "no buffer was used again: nothing was tested"
    for step, tensor in kept:
        assert bool((tensor == step).all()), step


def test_bfloat16_travels_as_its_bits():
    """The method shown in the guide, because NumPy has no such dtype."""
    wanted = torch.tensor([1.5, -2.0, 3e38], dtype=torch.bfloat16)
    bits = wanted.view(torch.uint16).numpy()
    (batch,) = Dataset.from_tensor_slices(bits).batch(3).to_torch()
    assert torch.equal(batch.view(torch.bfloat16), wanted)


def test_it_can_be_looped_over_again_and_has_a_length():
    batches = Dataset.range(10).batch(4).to_torch()
    assert len(batches) == 3
    assert [b.tolist() for b in batches] == [b.tolist() for b in batches]
    assert repr(batches).startswith("<Batches of <Dataset range(")
    with pytest.raises(TypeError, match="infinite"):
        len(Dataset.range(3).repeat().to_torch())
    with pytest.raises(TypeError, match="unknown"):
        len(Dataset.range(3).filter(lambda x: x > 0).to_torch())


def test_an_empty_dataset_gives_nothing():
    assert list(Dataset.range(0).batch(2).to_torch()) == []


def stages(batches):
    it = iter(batches)
    next(it)
    return [stage["kind"] for stage in it.stats()]


def test_the_thread_that_works_ahead_is_not_doubled():
    ds = Dataset.range(8).batch(2)
    assert stages(ds.to_torch()) == ["prefetch", "batch", "range"]
    assert stages(ds.prefetch(1).to_torch()) == ["prefetch", "batch", "range"]
    assert stages(ds.prefetch(1).take(3).to_torch()).count("prefetch") == 2


def test_work_is_done_ahead_in_a_thread_of_the_engine():
    names = []

    def note(x):
        names.append(threading.current_thread().name)
        return x

    list(Dataset.range(3).map(note).to_torch())
    assert set(names) == {"penstock"}
    names.clear()
    list(Dataset.range(3).map(note).to_torch(prefetch=0))
    assert set(names) == {threading.current_thread().name}


@pytest.mark.parametrize("prefetch", [-2, 1.5, "2", True])
def test_a_wrong_prefetch_is_an_error_at_the_call(prefetch):
    with pytest.raises((TypeError, ValueError), match="to_torch: prefetch must be"):
        Dataset.range(3).to_torch(prefetch=prefetch)


@pytest.mark.parametrize("pin", [None, "yes", 1, "copy"])
def test_a_wrong_pin_is_an_error_at_the_call(pin):
    with pytest.raises(ValueError, match=r'to_torch: pin must be True, False or "auto"'):
        Dataset.range(3).to_torch(pin=pin)


@pytest.mark.parametrize("device", [None, "cpu", "cpu:0", "meta"])
def test_pinning_needs_a_cuda_device(device):
    with pytest.raises(ValueError, match=r"pin=True needs a CUDA device, got '(cpu|meta)"):
        Dataset.range(3).to_torch(device, pin=True)


def test_other_devices_are_torch_s_affair():
    ds = Dataset.range(3).batch(2)
    for device in ("cpu", "cpu:0", torch.device("cpu")):
        assert [b.tolist() for b in ds.to_torch(device)] == [[0, 1], [2]]
    assert [(b.device.type, b.shape) for b in ds.to_torch("meta")] == [
        ("meta", (2,)),
        ("meta", (1,)),
    ]
    for device in ("cuda:99", "mps", "nonsense", -5, object()):
        with pytest.raises(Exception) as ours:
            ds.to_torch(device)
        with pytest.raises(type(ours.value)) as torch_s:
            torch.empty(0, device=device)
        assert str(ours.value) == str(torch_s.value)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_an_error_of_a_function_is_raised_as_itself_at_its_place(prefetch):
    def fail_at_2(x):
        if x == 2:
            raise Boom("two")
        return x

    it = iter(Dataset.range(5).map(fail_at_2).to_torch(prefetch=prefetch))
    assert [int(next(it)), int(next(it))] == [0, 1]
    with pytest.raises(Boom, match="two"):
        next(it)
    assert [int(x) for x in it] == [3, 4]


def test_leaving_a_loop_frees_its_thread():
    def run():
        for batch in Dataset.range(10**12).map(lambda x: x).batch(4).to_torch():
            assert batch.tolist() == [0, 1, 2, 3]
            break

    assert_frees_threads(run)


def test_close_and_with_end_a_pass():
    it = iter(Dataset.range(10).to_torch())
    with it:
        next(it)
    assert next(it, None) is None


def test_a_position_is_that_of_the_consumer():
    batches = Dataset.range(40).shuffle(40, seed=3).batch(4).to_torch()
    it = iter(batches)
    first = [next(it) for _ in range(3)]
    saved = it.state_dict()
    rest = [b.tolist() for b in it]
    assert len(first) + len(rest) == 10
    again = iter(batches)
    again.load_state_dict(saved)
    assert [b.tolist() for b in again] == rest
    # The same stages; the other prefetch makes no difference.
    plain = iter(Dataset.range(40).shuffle(40, seed=3).batch(4).to_torch(prefetch=0))
    plain.load_state_dict(saved)
    assert [b.tolist() for b in plain] == rest


def test_an_interrupt_is_answered_and_loses_nothing():
    begun = threading.Event()
    go_on = threading.Event()

    def wait_at_3(x):
        if x == 3 and not begun.is_set():
            begun.set()
            assert go_on.wait(60)
        return x

    def interrupt():
        assert begun.wait(60)
        wait_until(lambda: len(came) == 3)  # only next() remains, and waits
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    came, interrupts = [], 0
    it = iter(Dataset.range(6).map(wait_at_3).to_torch(prefetch=1))
    thread.start()
    while True:
        try:
            for x in it:
                came.append(int(x))
            break
        except KeyboardInterrupt:  # the function has not returned yet
            interrupts += 1
            go_on.set()
    thread.join()
    assert (came, interrupts) == (list(range(6)), 1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_leaves_go_through_dlpack_without_a_copy(dtype, shape):
    value = numbers(dtype, shape)
    ds = Dataset.range(4).map(lambda _: value.copy()).batch(4)
    for array in (ds.first(), ds.cache().first()):
        ours = np.from_dlpack(array)
        assert ours.flags.writeable == array.flags.writeable
        theirs = torch.from_dlpack(array)
        np.testing.assert_array_equal(theirs.numpy(), array)
        if array.size:
            assert ours.ctypes.data == theirs.data_ptr() == array.ctypes.data


def test_what_must_not_be_written_to_stays_so_in_numpy_s_dlpack():
    ours = Dataset.from_tensors(np.arange(4)).first()
    assert not ours.flags.writeable
    assert not np.from_dlpack(ours).flags.writeable
    assert Dataset.range(4).batch(4).first().flags.writeable
