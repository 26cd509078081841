"""With `count_all`, the memory limit covers everything in a run; otherwise there is an error."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

STATUS = Path("/proc/self/status")
MB = 1 << 20
LIMIT = 48 * MB


def row(x):
    """Return 100 kB."""
    return np.full(25_000, x, np.float32)


def small_row(x):
    return np.full(500, x, np.float32)


def rows_of(k):
    return ps.Dataset.range(60).map(row)


def length(x):
    return x[0].astype(np.int64) % 5 + 1


def counted(ds, limit=LIMIT):
    options = ps.Options()
    options.memory_limit = limit
    options.count_all = True
    return ds.with_options(options)


# The builder of each pipeline, and its number of elements.
PIPELINES = {
    "prefetch": (lambda n: n.map(row, ps.AUTOTUNE).prefetch(ps.AUTOTUNE), 1200),
    "cache": (lambda n: n.take(300).map(row).cache().repeat(3), 900),
    "shuffle": (lambda n: n.map(row, 4).shuffle(350), 1200),
    "shuffle of small rows": (lambda n: n.repeat(30).map(small_row).shuffle(16_000), 36_000),
    "shuffle of batches": (lambda n: n.map(row, 4).shuffle(200).batch(20).prefetch(-1), 60),
    "buckets": (
        lambda n: n.map(row, 4).bucket_by_sequence_length(length, [2, 3, 4, 5], [60] * 5),
        20,
    ),
    "interleave": (
        lambda n: n.take(20).interleave(rows_of, 8, num_parallel_calls=4).shuffle(200),
        1200,
    ),
}


def peak():
    """Return the peak resident bytes of this process since the last reset."""
    found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())
    return int(found[1]) * 1024


def report(name):
    """Print the number of elements of a pipeline, and its peak memory."""
    make, _ = PIPELINES[name]
    for _ in ps.Dataset.range(8).map(row, 4).batch(2):  # the first run keeps some memory allocated
        pass
    ds = counted(make(ps.Dataset.range(1200)))
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    elements = sum(1 for _ in ds)
    print(elements, peak() - before)


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="reads memory in /proc")
@pytest.mark.parametrize("name", PIPELINES)
def test_the_peak_of_memory_is_at_most_the_limit_and_a_tenth(name):
    code = f"from tests.memory.test_memory_limit import report; report({name!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    elements, most = map(int, done.stdout.split())
    assert elements == PIPELINES[name][1]
    assert most < 1.1 * LIMIT


TOO_LARGE = {
    "shuffle": (lambda n: n.shuffle(400), "use a smaller buffer_size"),
    "shuffle of large rows": (lambda n: n.batch(10).shuffle(40), "use a smaller buffer_size"),
    "cache": (lambda n: n.cache(), "give the cache a file name"),
    "group_by_window": (
        lambda n: n.group_by_window(lambda x: np.int64(0), lambda _, w: w.batch(400), 400),
        "use smaller windows",
    ),
    "bucket_by_sequence_length": (
        lambda n: n.bucket_by_sequence_length(lambda x: 1, [2], [400, 400]),
        "use smaller windows",
    ),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_can_never_fit_is_an_error_that_says_what_to_do(name):
    make, advice = TOO_LARGE[name]
    rows = ps.Dataset.range(400).map(small_row)
    whole = sum(1 for _ in make(rows))
    stage = name.split(" ")[0]
    with pytest.raises(
        MemoryError, match=rf"{stage}: it holds \d+ bytes, and all stages \d+, .*{advice}"
    ):
        list(counted(make(rows), limit=100_000))
    assert sum(1 for _ in counted(make(rows), limit=10 * MB)) == whole


def test_a_cache_that_is_too_large_gives_its_elements_before_the_error():
    seen = []
    rows = ps.Dataset.range(400).map(small_row).cache()
    with pytest.raises(MemoryError, match="give the cache a file name"):
        seen.extend(int(x[0]) for x in counted(rows, limit=100_000))
    assert seen == list(range(len(seen)))
    assert 40 < len(seen) < 60


def test_what_two_stages_hold_is_added_up():
    ds = ps.Dataset.range(400).map(small_row).shuffle(30).cache()
    fits = counted(ps.Dataset.range(30).map(small_row).shuffle(30).cache(), limit=150_000)
    assert len(list(fits)) == 30
    with pytest.raises(MemoryError, match="and all stages"):
        list(counted(ds, limit=150_000))


def test_without_it_only_what_runs_ahead_counts():
    options = ps.Options()
    options.memory_limit = 100_000
    ds = ps.Dataset.range(400).map(small_row).shuffle(400).cache().with_options(options)
    assert len(list(ds)) == 400


def test_a_state_is_restored_under_the_limit():
    rows = ps.Dataset.range(400).map(small_row)
    ds = counted(rows.shuffle(50, seed=3, reshuffle_each_iteration=False), limit=300_000)
    whole = [int(x[0]) for x in ds]
    it = iter(ds)
    for _ in range(123):
        next(it)
    again = iter(ds)
    again.set_state(it.get_state())
    assert [int(x[0]) for x in again] == whole[123:]
