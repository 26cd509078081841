"""cache in memory: elements cached by a pass belong to the state of its readers."""

import pytest

import penstock as ps
from compare import assert_same
from contract import MOST_STATE


def noise(x):
    return x + ps.random.uniform((), dtype="float64")


@ps.native
def native_noise(x):
    return x + ps.random.uniform((), dtype="float64")


def numbers(n=5, function=noise, **how):
    return ps.Dataset.range(n).map(function, **how)


def nested():
    inner = numbers(3).cache().repeat(2)
    return inner.shuffle(4).map(noise).cache().repeat(2)


def beside():
    cached = numbers(3).cache()
    return ps.Dataset.zip(cached.repeat(2), cached.map(noise).repeat(2)).repeat(2)


def behind():
    cached = numbers(3).cache()
    return cached.concatenate(cached).concatenate(cached.shuffle(3)).repeat(2)


def filled_before():
    cached = numbers(4).cache()
    list(cached)
    return ps.Dataset.range(3).map(noise).concatenate(cached.map(noise)).repeat(2)


def inner_filled_before():
    cached = numbers(4).cache()
    list(cached)
    return cached.map(noise).cache().shuffle(3).repeat(3)


def mixed():
    ds = ps.Dataset.sample_from_datasets([numbers(4), numbers(4).shuffle(3)], [0.5, 0.5])
    return ds.cache().shuffle(3).repeat(3)


PLANS = {
    "mixed": mixed,
    "repeat": lambda: numbers().cache().repeat(2),
    "repeat inside": lambda: numbers().repeat(2).cache().repeat(2),
    "for ever": lambda: numbers().cache().repeat().take(17),
    "native": lambda: numbers(5, native_noise).cache().repeat(3),
    "shuffle before": lambda: numbers().shuffle(3).cache().repeat(2),
    "shuffle behind": lambda: numbers().cache().shuffle(3).repeat(3),
    "shuffle of all": lambda: numbers().cache().shuffle(5, seed=1).repeat(3),
    "shuffle around": lambda: numbers(6).shuffle(4).cache().map(noise).shuffle(4).repeat(3),
    "shuffle behind repeat": lambda: numbers().cache().repeat(3).shuffle(4),
    "prefetch": lambda: numbers().prefetch(2).cache().prefetch(2).repeat(3).prefetch(3),
    "prefetch and shuffle": lambda: numbers().cache().prefetch(1).shuffle(4).prefetch(1).repeat(3),
    "parallel map": lambda: (
        numbers(6, num_parallel_calls=3).cache().map(noise, num_parallel_calls=2).repeat(3)
    ),
    "parallel around": lambda: (
        numbers(6).cache().repeat(2).map(noise, num_parallel_calls=3).shuffle(3).repeat(2)
    ),
    "batch": lambda: numbers().cache().batch(2).repeat(3).unbatch(),
    "nested": nested,
    "nested directly": lambda: numbers(4).cache().cache().repeat(2).map(noise).cache().repeat(2),
    "beside": beside,
    "behind": behind,
    "filled before": filled_before,
    "inner filled before": inner_filled_before,
    "interleave behind": lambda: (
        numbers(3)
        .cache()
        .repeat(2)
        .interleave(lambda x: ps.Dataset.from_tensors(x).repeat(2), cycle_length=2)
    ),
}


def flat(elements):
    return [[float(x) for x in e] if isinstance(e, tuple) else float(e) for e in elements]


@pytest.mark.parametrize("name", PLANS)
def test_a_state_goes_on_with_what_the_cache_held(name):
    it = iter(PLANS[name]())
    state = it.get_state()
    wanted = flat(it)
    assert len(set(map(str, wanted))) > 2  # it is noise
    for at in range(len(wanted) + 1):
        saving = PLANS[name]()
        it = iter(saving)
        it.set_state(state)
        came = flat(next(it) for _ in range(at))
        middle = it.get_state()
        assert len(middle) < MOST_STATE
        assert came + flat(it) == wanted
        # With an empty cache, with the same one, and with one filled by another pass.
        other = PLANS[name]()
        list(other)
        for ds in (PLANS[name](), saving, other):
            resumed = iter(ds)
            resumed.set_state(middle)
            again = iter(PLANS[name]())
            again.set_state(resumed.get_state())
            assert came + flat(resumed) == wanted, (at, ds is saving, ds is other)
            assert came + flat(again) == wanted, at


def test_a_state_of_the_second_pass_over_a_dataset_goes_on_with_what_the_first_one_kept():
    ds = numbers(4).cache()
    first = flat(ds)
    for at in range(5):
        it = iter(ds)
        came = flat(next(it) for _ in range(at))
        resumed = iter(numbers(4).cache())
        resumed.set_state(it.get_state())
        assert came + flat(resumed) == first


def test_a_restore_changes_nothing_for_those_that_read_the_cache():
    ds = numbers(4).cache()
    kept = flat(ds)
    other = iter(numbers(4).cache().repeat(2))
    state = other.get_state()
    repeated = ds.repeat(2)
    running = iter(repeated)
    came = flat(next(running) for _ in range(3))
    resumed = iter(repeated)
    resumed.set_state(state)
    assert flat(resumed) == flat(other)  # its own noise, in both epochs
    assert came + flat(running) == kept * 2
    assert flat(ds) == kept


def test_what_is_made_again_after_a_restore_is_made_once():
    calls = ps.ignored([])
    ds = ps.Dataset.range(4).map(lambda x: calls.value.append(1) or noise(x)).cache().repeat(5)
    it = iter(ds)
    came = flat(next(it) for _ in range(9))
    state = it.get_state()
    wanted = came + flat(it)
    assert len(calls.value) == 4
    fresh = ps.Dataset.range(4).map(lambda x: calls.value.append(1) or noise(x)).cache().repeat(5)
    resumed = iter(fresh)
    resumed.set_state(state)
    assert came + flat(resumed) == wanted
    assert len(calls.value) == 8


@pytest.mark.parametrize("where", ["before", "behind"])
def test_a_cache_in_a_file_and_one_in_memory(tmp_path, where):
    def make(name):
        file = str(tmp_path / name)
        ds = numbers(3)
        kept = ds.cache().repeat(2).cache(file) if where == "before" else ds.cache(file).cache()
        return kept.shuffle(3).repeat(3)

    it = iter(make("first"))
    state = it.get_state()
    wanted = flat(it)
    for at in range(0, len(wanted) + 1, 2):
        it = iter(make(f"second{at}"))
        it.set_state(state)
        came = flat(next(it) for _ in range(at))
        middle = it.get_state()
        it.close()
        for name in (f"second{at}", f"third{at}"):
            resumed = iter(make(name))
            resumed.set_state(middle)
            assert came + flat(resumed) == wanted, (at, name)


def test_elements_of_a_cache_are_not_in_a_state():
    ds = ps.Dataset.from_tensor_slices(["secret"] * 50).cache().repeat(3)
    it = iter(ds)
    for _ in range(70):
        next(it)
    assert b"secret" not in it.get_state()
    assert_same(list(it), ["secret"] * 80)
