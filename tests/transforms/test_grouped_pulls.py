"""The lookahead of grouping stages, and their errors and states meanwhile."""

import contextlib
import queue
import re

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, Failure, steps
from scripts import run_script

KEYS = [int(k) for k in np.random.default_rng(3).integers(0, 5, 400)]
SIZES = [7, 20, 3, 11, 30]
ROW = ps.TensorSpec([None], np.int64)


class Pulled:
    """A generator of rows with the lengths of their keys; counts the requested rows."""

    def __init__(self, keys=KEYS):
        self.keys = keys
        self.rows = 0

    def __call__(self):
        for number, key in enumerate(self.keys):
            self.rows += 1
            yield np.full(key, number)

    def dataset(self):
        return ps.Dataset.from_generator(self, output_signature=ROW)


def window_ends(keys, size_of):
    """Return the number of rows needed for each window that becomes full."""
    counts = {}
    for rows, key in enumerate(keys, 1):
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == size_of(key):
            counts[key] = 0
            yield rows


def whole(key, window):
    return window.padded_batch(1000)


FORMS = {
    "one size": (lambda ds: ds.group_by_window(len, whole, 16), lambda key: 16),
    "a size for each key": (
        lambda ds: ds.group_by_window(
            len, whole, window_size_func=lambda key: SIZES[key] if key != 2 else 1
        ),
        lambda key: SIZES[key] if key != 2 else 1,
    ),
    "buckets": (
        lambda ds: ds.bucket_by_sequence_length(len, [1, 2, 3, 4], SIZES),
        lambda key: SIZES[key],
    ),
    "native buckets": (
        lambda ds: ds.bucket_by_sequence_length(
            ps.native(lambda x: ps.shape(x)[0]), [1, 2, 3, 4], SIZES
        ),
        lambda key: SIZES[key],
    ),
    "many keys": (
        lambda ds: ds.group_by_window(lambda x: sum(x.shape) * 1000 + x[:1].sum() % 97, whole, 2),
        None,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_full_window_comes_before_another_row_is_asked_for(form):
    make, size_of = FORMS[form]
    keys = KEYS
    if size_of is None:
        keys = [(k * 1000 + i % 97) if k else 0 for i, k in enumerate(KEYS)]
        size_of = lambda key: 2  # noqa: E731
    source = Pulled()
    it = iter(make(source.dataset()))
    for rows in window_ends(keys, size_of):
        next(it)
        assert source.rows == rows


@pytest.mark.parametrize("form", ["one size", "buckets", "native buckets"])
def test_a_generator_may_wait_for_the_window_of_the_rows_it_gave(form):
    waiting = queue.Queue()

    def rows():
        while (key := waiting.get(timeout=60)) is not None:
            yield np.full(key, 1)

    make, size_of = FORMS[form]
    it = iter(make(ps.Dataset.from_generator(rows, output_signature=ROW)))
    done = 0
    for end in window_ends(KEYS, size_of):
        for key in KEYS[done:end]:
            waiting.put(key)
        assert len(next(it)) == size_of(KEYS[end - 1])
        done = end
    waiting.put(None)
    assert all(len(batch) for batch in it)


def fails_at(*bad):
    def length(x):
        if x.size and int(x[0]) in bad:
            raise Boom(f"length of {x[0]}")
        return len(x)

    return length


def unready(*bad):
    """Return a map that fails for rows upstream."""

    def row(x):
        if x.size and int(x[0]) in bad:
            raise Boom(f"row {x[0]}")
        return x

    return row


ERRORS = {
    "of keys": lambda ds: ds.bucket_by_sequence_length(
        fails_at(5, 6, 17, 50, 51, 52), [1, 3], [40, 9, 25]
    ),
    "of windows of one size": lambda ds: ds.group_by_window(fails_at(5, 6, 17, 50), whole, 25),
    "upstream": lambda ds: ds.map(unready(5, 6, 17, 50)).bucket_by_sequence_length(
        len, [1, 3], [40, 9, 25]
    ),
    "of both": lambda ds: ds.map(unready(5, 17)).bucket_by_sequence_length(
        fails_at(6, 18, 50), [1, 3], [40, 9, 25]
    ),
    "of native keys": lambda ds: ds.map(
        lambda x: x if len(x) != 3 else x[0], output_signature=ps.TensorSpec(None, np.int64)
    ).bucket_by_sequence_length(
        ps.native(lambda x: ps.shape(x)[0]), [1, 3], [40, 9, 25], padded_shapes=[None]
    ),
}


def grouped(keys, bucket_of, size_of, bad):
    """Return the expected numbers in each window, or None, for rows of which some fail."""
    waiting = {}
    for number, key in enumerate(keys):
        if number in bad:
            yield None
            continue
        bucket = bucket_of(key)
        waiting.setdefault(bucket, []).append(number)
        if len(waiting[bucket]) == size_of(bucket):
            yield waiting.pop(bucket)
    for bucket in sorted(waiting):
        yield waiting[bucket]


@pytest.mark.parametrize("form", ["of keys", "upstream"])
def test_errors_come_at_their_places(form):
    keys = [k or 1 for k in KEYS[:120]]
    bad = {5, 6, 17, 50, *((51, 52) if form == "of keys" else ())}
    wanted = grouped(keys, lambda k: (k >= 1) + (k >= 3), [40, 9, 25].__getitem__, bad)
    came = steps(iter(ERRORS[form](Pulled(keys).dataset())))
    numbers = [None if isinstance(s, Failure) else s[:, 0].tolist() for s in came]
    assert numbers == list(wanted)


@pytest.mark.parametrize("ahead", [None, 2])
@pytest.mark.parametrize("form", ERRORS)
def test_states_between_errors_and_windows_are_exact(form, ahead):
    def run():
        ds = ERRORS[form](Pulled(KEYS[:120]).dataset())
        return iter(ds if ahead is None else ds.prefetch(ahead))

    def comparable(came):
        return [str(s) if isinstance(s, Failure) else s for s in came]

    everything = steps(run())
    assert sum(isinstance(s, Failure) for s in everything) >= 4
    for at in range(len(everything)):
        it = run()
        for _ in range(at):
            with contextlib.suppress(Boom, ValueError):
                next(it)
        other = run()
        other.set_state(it.get_state())
        it.close()
        assert_same(comparable(steps(other)), comparable(everything[at:]))


def test_the_errors_of_keys_name_their_elements():
    it = iter(ERRORS["of keys"](Pulled([1] * 60).dataset()))
    came = []
    for _ in range(14):
        try:
            next(it, None)
        except Boom as error:
            came.append(error.__notes__[0])
    numbers = [re.search(r"in stage bucket_by_sequence_length.*, element (\d+)", n) for n in came]
    assert [int(number[1]) for number in numbers] == [5, 6, 17, 50, 51, 52]


def test_a_row_that_waits_does_not_keep_those_it_came_with_in_memory():
    done = run_script(
        """
        row = ps.native(lambda x: ps.fill([512], x))
        rare = ps.native(lambda row: row[0] % 64 // 63)
        ds = Dataset.range(64 * 600).map(row).group_by_window(
            rare, lambda key, window: window.batch(1000), 600)
        batches = sum(batch.shape == (600, 512) for batch in ds)
        status = open("/proc/self/status").read()
        peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
        print(batches, peak)
    """,
        timeout=100,
    )
    assert done.stderr == ""
    batches, peak = done.stdout.split()
    assert int(batches) == 64
    assert float(peak) < 110  # MB: 600 rare rows are 2.4, all rows 157
