"""Absurdly large numbers of elements, bytes and threads: taken literally, or clearly refused."""

import numpy as np
import pytest

import penstock as ps

Dataset = ps.Dataset
GREAT = [2**40, 2**62, 2**63 - 1]


def boxed(ds):
    return ds.map(lambda x: x)  # no random access


TAKEN = {
    "prefetch": lambda ds, n: ds.prefetch(n),
    "shuffle": lambda ds, n: boxed(ds).shuffle(n),
    "shuffle of positions": lambda ds, n: ds.shuffle(n),
    "repeat": lambda ds, n: ds.repeat(n).take(5),
    "take": lambda ds, n: ds.take(n),
    "batch": lambda ds, n: ds.batch(n).unbatch(),
    "batch of parallel calls": lambda ds, n: ds.map(abs, num_parallel_calls=2).batch(n).unbatch(),
    "padded_batch": lambda ds, n: ds.padded_batch(n).unbatch(),
    "rebatch": lambda ds, n: ds.batch(2).rebatch([n, 1]).unbatch(),
    "window": lambda ds, n: ds.window(n, shift=n).flat_map(lambda window: window),
    "group_by_window": lambda ds, n: ds.group_by_window(
        lambda x: np.int64(0), lambda key, window: window, window_size=n
    ),
    "block_length": lambda ds, n: ds.interleave(
        Dataset.from_tensors, cycle_length=2, num_parallel_calls=2, block_length=n
    ),
    "buffer_output_elements": lambda ds, n: ds.interleave(
        Dataset.from_tensors, cycle_length=2, num_parallel_calls=2, buffer_output_elements=n
    ),
    "prefetch_input_elements": lambda ds, n: ds.interleave(
        Dataset.from_tensors, cycle_length=2, num_parallel_calls=2, prefetch_input_elements=n
    ),
    "open_packs": lambda ds, n: (
        ds.map(np.atleast_1d)
        .pack(5, open_packs=n)
        .flat_map(lambda values, ids, places: Dataset.from_tensor_slices(values))
    ),
}


@pytest.mark.parametrize("number", GREAT)
@pytest.mark.parametrize("name", TAKEN)
def test_great_numbers_take_no_memory_by_themselves(name, number):
    assert sorted(int(x) for x in TAKEN[name](Dataset.range(5), number)) == [0, 1, 2, 3, 4]


REFUSED = {
    "cycle_length": lambda ds, n: ds.interleave(Dataset.from_tensors, cycle_length=n),
    "num_parallel_calls": lambda ds, n: ds.map(abs, num_parallel_calls=n),
    "num_parallel_reads": lambda ds, n: ps.TextLineDataset(["a", "b"], num_parallel_reads=n),
}


@pytest.mark.parametrize("number", [2**20, *GREAT])
@pytest.mark.parametrize("name", REFUSED)
def test_numbers_of_threads_are_bounded(name, number):
    with pytest.raises(ValueError, match=rf"{name} must be <= 16384, got {number}"):
        REFUSED[name](Dataset.range(5), number)


@pytest.mark.parametrize("number", GREAT)
@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("threading", "private_threadpool_size"),
        ("autotune", "initial_parallelism"),
        ("autotune", "min_parallelism"),
    ],
)
def test_numbers_of_threads_in_options_are_bounded(group, name, number):
    with pytest.raises(ValueError, match=rf"{name} must be <= 16384, got {number}"):
        setattr(getattr(ps.Options(), group), name, number)


@pytest.mark.parametrize("number", GREAT)
def test_budgets_may_be_great(number):
    options = ps.Options()
    options.autotune.cpu_budget = options.autotune.ram_budget = number
    ds = Dataset.range(3).map(abs, num_parallel_calls=ps.AUTOTUNE).prefetch(2)
    assert [int(x) for x in ds.with_options(options)] == [0, 1, 2]


@pytest.mark.parametrize("number", GREAT)
def test_a_read_is_bounded_whatever_its_size(tmp_path, number):
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    assert list(ps.TextLineDataset(str(tmp_path / "a.txt"), buffer_size=number)) == [b"one", b"two"]


@pytest.mark.parametrize("number", [2**50, *GREAT[1:]])
def test_positions_without_memory_are_an_error_in_words(number):
    ds = Dataset.range(number).shuffle(number)
    for make in ds.take(1), ds.prefetch(1):
        with pytest.raises(MemoryError, match=r"shuffle: a buffer of .* use a smaller buffer_size"):
            next(iter(make))
    assert len(list(Dataset.range(number).shuffle(10).take(3))) == 3
