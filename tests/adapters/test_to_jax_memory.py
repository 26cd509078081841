"""Dataset.to_jax shares the memory of batches on the CPU only where that is safe."""

import gc
from collections import deque

import numpy as np
import pytest

import penstock as ps

jax = pytest.importorskip("jax")

Dataset = ps.Dataset


def address(array):
    return array.__array_interface__["data"][0]


def aligned(values):
    """Copy an array to memory that JAX can share."""
    memory = np.empty(values.nbytes + 64, np.uint8)
    start = -address(memory) % 64
    copy = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


class Noted:
    """A function for map that returns its batches and records their addresses."""

    def __init__(self):
        self.addresses = []

    def __call__(self, batch):
        self.addresses.append(address(batch))
        return batch


def floats(n):
    return Dataset.range(n).map(ps.native(lambda i: ps.cast(i, np.float32)))


SHARED = {
    "a row of numbers": lambda: floats(256).batch(64),
    "rows in memory": lambda: Dataset.from_tensor_slices(np.ones((64, 100), np.float32)).batch(16),
    "shuffled rows": lambda: (
        Dataset.from_tensor_slices(np.ones((64, 100), np.float32)).shuffle(64).batch(16)
    ),
    "rows of a function": lambda: Dataset.range(64).map(lambda i: np.ones(50, "f")).batch(16),
    "rows of threads": lambda: (
        Dataset.range(64).map(lambda i: np.ones(50, "f"), num_parallel_calls=2).batch(16)
    ),
    "prefetched": lambda: floats(256).batch(64).prefetch(2),
    "images": lambda: Dataset.from_tensor_slices(np.ones((64, 100, 100, 3), np.uint8)).batch(16),
}


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("name", SHARED)
def test_batches_lie_where_the_pipeline_wrote_them(name, prefetch):
    noted = Noted()
    kept = list(SHARED[name]().map(noted).to_jax(prefetch=prefetch))
    assert len(kept) == 4
    assert [batch.unsafe_buffer_pointer() for batch in kept] == noted.addresses


def test_batches_of_a_cache_lie_where_the_cache_has_them():
    cached = floats(256).batch(64).cache()
    list(cached)  # fills it
    passes = [[address(batch) for batch in cached] for _ in range(2)]
    arrays = [list(cached.to_jax()) for _ in range(2)]
    pointers = [[array.unsafe_buffer_pointer() for array in each] for each in arrays]
    assert pointers == passes
    assert len(set(passes[0])) == 4


@pytest.mark.parametrize("use", ["kept", "donated", "deleted", "dropped", "all of it"])
def test_no_memory_is_used_again_while_jax_has_it(use):
    """A hundred steps, each batch filled with its number, in memory that is reused."""
    rows = Dataset.range(104 * 8).map(ps.native(lambda i: ps.cast(i // 8, np.float32)))
    square = jax.jit(lambda x: x * x, donate_argnums=0)
    add = jax.jit(lambda x: x + 1)
    recent, results, places = deque(maxlen=8), [], set()
    batches = rows.map(lambda x: np.full(500, x, np.float32)).batch(8).take(100).to_jax(prefetch=3)
    for step, batch in enumerate(batches):
        places.add(batch.unsafe_buffer_pointer())
        results.append((step + 1, add(batch)))  # may still run when the batch is released
        if step % 10 == 9:  # not for all batches, which would keep them all alive
            jax.block_until_ready(results[-1][1])
        how = ["kept", "donated", "deleted", "dropped"][step % 4] if use == "all of it" else use
        if how == "kept":
            recent.append((step, batch))
        elif how == "donated":
            results.append((step * step, square(batch)))
            assert batch.is_deleted()
        elif how == "deleted":
            batch.delete()
        del batch
        for number, kept in recent:
            assert (np.asarray(kept) == number).all()
    for number, result in results:
        assert (np.asarray(result) == number).all()
    assert len(places) < 100  # otherwise no memory was reused, and nothing was tested


@pytest.mark.parametrize(
    "make",
    [
        lambda own: Dataset.from_tensors(own),
        lambda own: Dataset.from_tensors({"a": own}).map(lambda d: d["a"]),
        lambda own: Dataset.from_tensor_slices(own[None]),
        lambda own: ps.experimental.from_list([own]),
        lambda own: Dataset.from_tensors(own).cache(),
        lambda own: Dataset.from_tensor_slices(own).batch(len(own)),
        lambda own: Dataset.from_tensor_slices(own[None]).batch(1),
        lambda own: Dataset.from_tensor_slices(own[None]).batch(1).unbatch(),
        lambda own: Dataset.from_tensors(own).repeat(2).shuffle(2),
        lambda own: Dataset.from_tensors(0).map(lambda _: own),
        lambda own: Dataset.from_tensors(0).map(lambda _: own[:]),
        lambda own: Dataset.from_generator(lambda: iter([own])),
        lambda own: Dataset.from_indexable([own]),
    ],
)
def test_what_the_user_changes_later_is_not_seen(make):
    own = aligned(np.arange(32, dtype=np.float32))
    dataset = make(own)
    first, *_ = dataset.to_jax()
    own[:] = -1
    assert np.ravel(first).tolist() == list(range(32))
    del dataset
    gc.collect()
    own[:] = -2
    assert np.ravel(first).tolist() == list(range(32))


def test_a_batch_of_penstock_is_the_users_once_it_is_handed_out():
    batch = floats(64).batch(64).first()
    again = ps.Dataset.from_tensors(batch)
    (array,) = again.to_jax()
    batch[:] = -1
    assert array.tolist() == list(range(64))


@pytest.mark.parametrize("how", ["plain", "donated"])
def test_a_cache_is_not_changed_through_its_batches(how):
    cached = floats(64).batch(32).cache()
    wanted = [list(range(32)), list(range(32, 64))]
    step = jax.jit(lambda x: x * 0, donate_argnums=(0,) if how == "donated" else ())
    batches = cached.to_jax()
    for _ in range(3):
        arrays = list(batches)
        assert [a.tolist() for a in arrays] == wanted
        assert not any(float(step(a).sum()) for a in arrays)
    for plain in cached:
        with pytest.raises(ValueError, match="read-only"):
            plain[0] = 5
    assert [plain.tolist() for plain in cached] == wanted


def test_views_of_arrays_cannot_be_written_to():
    (array,) = floats(32).batch(32).to_jax()
    view = np.asarray(array)
    assert address(view) == array.unsafe_buffer_pointer()
    assert not view.flags.writeable
