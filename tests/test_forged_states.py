"""Impossible numbers in a state: refused by stage and name, bounded, or treated as the end."""

import itertools
from pathlib import Path

import pytest

import penstock as ps
from forging import forged, opened, sealed, signed, text, varint
from penstock import Dataset
from scripts import run_script


def even(x):
    return x % 2 == 0


def nine():
    return Dataset.range(9)


def two():
    return Dataset.sample_from_datasets([nine(), nine()], [0.5, 0.5], seed=1)


FORGED = {
    "range": (nine(), "range", 0, 10, "range: rows given must be from 0 to 9, got 10"),
    "before": (nine(), "range", 0, -1, "range: rows given must be from 0 to 9, got -1"),
    "take": (nine().take(3), "take", 0, 4, "take: elements taken must be from 0 to 3, got 4"),
    "skip": (nine().skip(3), "skip", 0, -1, "skip: elements still to be skipped must be"),
    "enumerate": (nine().enumerate(5), "enumerate", 0, 3, "enumerate: no element can have this"),
    "concatenate": (
        nine().concatenate(nine()),
        "concatenate",
        0,
        3,
        "concatenate: datasets gone through must be from 0 to 2, got 3",
    ),
    "repeat": (nine().repeat(2), "repeat", 0, 3, "repeat: the epoch must be from -1 to 2, got 3"),
    "repeat, over": (nine().repeat(2), "repeat", 0, 2, "repeat: nothing runs after the last"),
    "batch": (nine().batch(2), "batch", 0, -1, "batch: steps pulled before must be from 0"),
    "window": (nine().window(4, 3), "window", 1, 4, "elements between two windows must be from 0"),
    "shuffle": (nine().shuffle(3), "shuffle", 1, 9, "shuffle: no more elements can be drawn than"),
    "interleave": (
        nine().interleave(lambda x: nine(), cycle_length=2),
        "interleave",
        1,
        2,
        "interleave: the turn must be from 0 to 1, got 2",
    ),
    "sample": (two(), "sample_from_datasets", 1, -1, "sample_from_datasets: turns drawn must be"),
    "count": (
        nine().apply(ps.experimental.assert_cardinality(9)),
        "assert_cardinality",
        0,
        12,
        "assert_cardinality: elements pulled must be from 0 to 11, got 12",
    ),
    "shards": (
        nine().shard_evenly(2, 0),
        "shard_evenly",
        1,
        10,
        "shard_evenly: elements distributed must be from 0 to 9, got 10",
    ),
    "flag": (nine().filter(even).take_while(even), "take_while", 1, 1, "damaged"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_number_out_of_range_is_refused_and_the_iterator_goes_on(name):
    ds, kind, field, number, words = FORGED[name]
    expected = list(map(repr, ds))
    with iter(ds) as it:
        got = [repr(next(it))]
        bad = forged(it.get_state(), kind, field, number)
        with pytest.raises(ValueError, match=r"^set_state: the state is damaged") as refused:
            it.set_state(bad)
        assert words in str(refused.value)
        got += map(repr, it)
    assert name in ("shuffle", "window") or got == expected


def test_a_state_that_is_refused_counts_no_run():
    def make():
        return Dataset.range(30).shuffle(30, seed=2)

    later = make()
    for _ in range(5):
        it = iter(later)
    begin, position = opened(it.get_state())
    ds = make()
    with pytest.raises(ValueError, match="set_state: the state is damaged"):
        iter(ds).set_state(sealed(begin, position + b"x"))
    other = make()
    iter(other)
    assert list(ds) == list(other)


@pytest.mark.parametrize("behind", ["prefetch", "map"])
def test_what_a_thread_takes_up_is_refused_at_the_first_element(behind):
    ds = nine().take(3)
    ds = ds.prefetch(1) if behind == "prefetch" else ds.map(abs, num_parallel_calls=2)
    with iter(ds) as it:
        next(it)
        bad = forged(it.get_state(), "take", 0, 4)
        it.set_state(bad)
        with pytest.raises(ValueError, match="set_state: the state is damaged: take: "):
            next(it)
        assert list(it) == []


def test_states_of_very_many_prefetches_are_taken_up():
    it = iter(nine())
    next(it)
    begin, position = opened(it.get_state())
    parts = [position[position.index(text(b"range")) - 1 :]]
    head = text(b"prefetch") + signed(0) + b"\x01"
    size = len(parts[0])
    for _ in range(50_000):
        parts.append(head + varint(size))
        size += len(parts[-1])
        parts.append(varint(size))
        size += len(parts[-1])
    deep = b"".join(reversed(parts))
    outer = position[: position.index(text(b"range")) - 2]
    it.set_state(sealed(begin, outer + text(deep)))
    assert list(it) == [*range(1, 9)]


ENDLESS = {
    "steps": "Dataset.zip(Dataset.counter(), Dataset.counter()).prefetch(1)",
    "values": "Dataset.from_generator(itertools.count).prefetch(1)",
    "tests": "Dataset.counter().filter(lambda x: True).prefetch(1)",
    "epochs": "Dataset.counter().filter(lambda x: True).cache().prefetch(1)",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_passing_over_steps_without_end_stops_when_the_iterator_is_closed(name):
    done = run_script(
        f"""
        import itertools, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from forging import forged, opened, replaced, sealed, signed, text
        ds = {ENDLESS[name]}
        it = iter(ds)
        begin, position = opened(it.get_state())
        name = position.index(text(b"prefetch"))
        it.set_state(
            sealed(begin, replaced(position, name, name + 9, name + 10, signed(2 ** 59)))
        )
        thread = threading.Thread(target=lambda: list(it), daemon=True)
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        it.close()
        thread.join()
        print("ended")
    """
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "ended", "")


@pytest.mark.parametrize("name", ["numbers", "rows"])
@pytest.mark.parametrize("size", [1, 2, 7, 2999, 4000])
def test_a_shuffle_is_found_again_far_into_it(name, size):
    ds = Dataset.range(3000)
    if name == "rows":
        ds = ds.filter(lambda x: True)
    ds = ds.shuffle(size, seed=3)
    it, whole = iter(ds), iter(ds)
    whole.set_state(it.get_state())
    expected = list(whole)
    at = 0
    for until in (0, 1, 40, 900, 3000 - size, 3001 - size, 2990, 3000):
        if until < at or until > 3000:
            continue
        assert list(itertools.islice(it, until - at)) == expected[at:until]
        at = until
        other = iter(ds)
        other.set_state(it.get_state())
        assert list(other) == expected[at:]


def test_a_shuffle_of_a_number_of_draws_that_nobody_has_made():
    # The work is bounded by the number of slots in the buffer, whatever the number.
    it = iter(Dataset.range(1 << 62).shuffle(50, seed=1))
    next(it)
    state = it.get_state()
    for field, number in enumerate((1 << 59, (1 << 59) + 49), 1):
        state = forged(state, "shuffle", field, number)
    for field in (6, 7):  # steps pulled, and pulled again
        state = forged(state, "shuffle", field, (1 << 59) + 49)
    it.set_state(state)
    assert (1 << 59) - 100_000 < next(it) < (1 << 59) + 51
