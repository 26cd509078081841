"""A state identifies its pipeline: only what determines the data is compared."""

import functools
import itertools
import struct
import threading
from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from referred import CHANGED, READ, TABLES, VALUES, Settings, naming, reading
from states import difference, state_of

Dataset = ps.Dataset
BASE = Dataset.range(40)
FACTOR = 3
TABLE = {"a": 1, "b": [2, 3]}


def scaled(x):
    return x * FACTOR


def looked_up(x):
    return x + TABLE["a"]


def shifted(x, by=1):
    return x + by


def closure(n):
    return lambda x: x + n


def opening(inner):
    return lambda x: inner


class Shift:
    def __init__(self, by):
        self.by = by
        self.calls = 0
        self.lock = threading.Lock()

    def __call__(self, x):
        self.calls += 1
        return x + self.plus()

    def plus(self):
        return self.by


class Rows:
    def __init__(self, rows):
        self.rows = rows
        self.seen = {}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        self.seen[int(i)] = True
        return np.int64(self.rows[i])


@ps.native
def native_one(x):
    return x + 1


@ps.native
def native_two(x):
    return x + 2


def array(first=0, n=9, dtype=np.int64):
    data = np.arange(n, dtype=dtype)
    data[0] = first
    return data


DIFFERENT = {
    "argument": (BASE.batch(64), BASE.batch(32), "batch: batch_size 32, the state has 64"),
    "range": (BASE, Dataset.range(41), "range: stop 41, the state has 40"),
    "output_type": (
        BASE,
        Dataset.range(40, output_type=np.int32),
        "range: output_type int32, the state has int64",
    ),
    "seed": (BASE.shuffle(3), BASE.shuffle(3, seed=2), "shuffle: seed 2, the state has None"),
    "no seed": (BASE.shuffle(3, seed=2), BASE.shuffle(3), "shuffle: seed None, the state has 2"),
    "in the middle": (
        BASE.skip(1).batch(2),
        BASE.skip(2).batch(2),
        "skip: count 2, the state has 1",
    ),
    "function": (
        BASE.map(scaled),
        BASE.map(shifted),
        "map(shifted): the function has changed, the state has scaled",
    ),
    "function of a stage with a name": (
        BASE.map(lambda x: x + 1, name="shift"),
        BASE.map(lambda x: x + 2, name="shift"),
        "map(name='shift'): the function has changed (its code)",
    ),
    "batch with a name": (
        BASE.batch(64, name="rows"),
        BASE.batch(32, name="rows"),
        "batch(name='rows'): batch_size 32, the state has 64",
    ),
    "constant": (
        BASE.map(lambda x: x + 1),
        BASE.map(lambda x: x + 2),
        "map: the function has changed (its code)",
    ),
    "closure": (BASE.map(closure(1)), BASE.map(closure(2)), "map: the function has changed (n)"),
    "partial": (
        BASE.map(functools.partial(shifted, by=2)),
        BASE.map(functools.partial(shifted, by=3)),
        "map(shifted): the function has changed",
    ),
    "closure over an array": (
        BASE.map(closure(array(0))),
        BASE.map(closure(array(1))),
        "map: the function has changed (n)",
    ),
    "object": (BASE.map(Shift(1)), BASE.map(Shift(2)), "map(Shift): the function has changed (by)"),
    "method": (
        BASE.map(Shift(1).__call__),
        BASE.map(Shift(2).__call__),
        "map(Shift.__call__): the function has changed (by)",
    ),
    "native": (
        BASE.map(native_one),
        BASE.map(native_two),
        "map(native_two): the function has changed, the state has native_one",
    ),
    "filter": (
        BASE.filter(lambda x: x < 30),
        BASE.filter(lambda x: x < 31),
        "filter: the function has changed (its code)",
    ),
    "opened": (
        BASE.flat_map(lambda x: Dataset.range(x, x + 2)),
        BASE.flat_map(lambda x: Dataset.range(x, x + 3)),
        "flat_map: the function has changed (its code)",
    ),
    "captured dataset": (
        BASE.flat_map(opening(BASE.take(2))),
        BASE.flat_map(opening(BASE.take(3))),
        "flat_map: the function has changed",
    ),
    "one of several functions": (
        BASE.group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), 2),
        BASE.group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), 2),
        "group_by_window: the function key_func has changed (its code)",
    ),
    "array": (
        Dataset.from_tensor_slices(array(0)),
        Dataset.from_tensor_slices(array(1)),
        "from_tensor_slices: the values of tensors have changed",
    ),
    "shape": (
        Dataset.from_tensor_slices(array(0, 9)),
        Dataset.from_tensor_slices(array(0, 10)),
        "from_tensor_slices: tensors <int64 (10,)>, the state has <int64 (9,)>",
    ),
    "dtype": (
        Dataset.from_tensor_slices(array(0)),
        Dataset.from_tensor_slices(array(0, dtype=np.int32)),
        "from_tensor_slices: tensors <int32 (9,)>, the state has <int64 (9,)>",
    ),
    "large array": (
        Dataset.from_tensor_slices(array(0, 100_000)),
        Dataset.from_tensor_slices(array(1, 100_000)),
        "from_tensor_slices: the values of tensors have changed",
    ),
    "strings": (
        Dataset.from_tensor_slices(["a", "b"]),
        Dataset.from_tensor_slices(["a", "c"]),
        "from_tensor_slices: tensors ['a', 'c'], the state has ['a', 'b']",
    ),
    "order of many strings": (
        Dataset.from_tensor_slices([*"abcdefghijklmnopq"]),
        Dataset.from_tensor_slices([*"acbdefghijklmnopq"]),
        "from_tensor_slices: the values of tensors have changed",
    ),
    "generator": (
        Dataset.from_generator(lambda: iter(range(9))),
        Dataset.from_generator(lambda: iter(range(8))),
        "from_generator: the function has changed (its code)",
    ),
    "zip": (
        Dataset.zip(BASE, BASE.take(3)),
        Dataset.zip(BASE, BASE.take(4)),
        "take: count 4, the state has 3",
    ),
    "weights": (
        Dataset.sample_from_datasets([BASE, BASE.skip(1)], [0.5, 0.5]),
        Dataset.sample_from_datasets([BASE, BASE.skip(1)], [0.25, 0.75]),
        "sample_from_datasets: the values of weights have changed",
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_state_of_other_data_is_refused_in_words(name):
    saved, own, words = DIFFERENT[name]
    assert difference(saved, own) == words


def test_other_rows_of_an_object():
    state = state_of(Dataset.from_indexable(Rows([1, 2])))
    with pytest.raises(ps.StateError, match=r"from_indexable: .*Rows of 3 rows.*Rows of 2 rows"):
        iter(Dataset.from_indexable(Rows([1, 2, 3]))).set_state(state)
    with pytest.raises(ps.StateError, match=r"from_indexable: .* have changed"):
        iter(Dataset.from_indexable(Rows((1, 3)))).set_state(
            state_of(Dataset.from_indexable(Rows((1, 2))))
        )


def test_several_differences_are_all_listed():
    state = state_of(BASE.shuffle(5).batch(64))
    with pytest.raises(ps.StateError) as refused:
        iter(Dataset.range(41).shuffle(6).batch(32)).set_state(state)
    words = ("range: stop 41, the state has 40", "shuffle: buffer_size 6, the state has 5")
    assert refused.value.differences == (*words, "batch: batch_size 32, the state has 64")


def test_a_state_of_other_stages_is_refused_even_where_it_is_not_strict():
    state = state_of(BASE.batch(2))
    for strict in (True, False):
        with pytest.raises(ps.StateError, match="stage 2 of it is batch, of this one skip"):
            iter(BASE.skip(2)).set_state(state, strict=strict)


def test_going_on_all_the_same():
    state = state_of(BASE.batch(2), 3)
    it = iter(Dataset.range(20).batch(2))
    with pytest.warns(RuntimeWarning, match="range: stop 20, the state has 40"):
        it.set_state(state, strict=False)
    assert next(it).tolist() == [6, 7]
    assert len(list(it)) == 6


# --- unchanged identity ---


def same(ds, **how):
    return ds.map(scaled, **how).filter(lambda x: x >= 0).shuffle(4, seed=3).batch(2)


SAME = {
    "as it is": same,
    "prefetch": lambda ds: same(ds.prefetch(3)).prefetch(ps.AUTOTUNE),
    "calls": lambda ds: same(ds, num_parallel_calls=2),
    "order kept": lambda ds: same(ds, num_parallel_calls=2, deterministic=True),
    "names": lambda ds: same(ds, name="scale"),
    "options": lambda ds: same(ds).with_options(ps.Options()),
}


@pytest.mark.parametrize(("one", "two"), list(itertools.permutations(SAME, 2)))
def test_what_changes_only_the_timing_never_counts(one, two):
    resumed = iter(SAME[two](BASE))
    resumed.set_state(state_of(SAME[one](BASE), 2))
    assert [x.tolist() for x in resumed] == [x.tolist() for x in SAME["as it is"](BASE)][2:]


def logging(log):
    return lambda x: log.append(1) or x


def counting():
    calls = 0

    def count(x):
        nonlocal calls
        calls += 1
        return x

    return count


def remembering(memory):
    def remember(x):
        if int(x) not in memory:
            memory[int(x)] = x
        return memory[int(x)]

    return remember


def drawing(rng):
    return lambda x: x + 0 * rng.integers(3)


def taking(numbers):
    return lambda x: x + 0 * next(numbers)


def made(name, **members):
    return type(name, (), members)


def counted_by_class(self, x):
    type(self).calls += 1
    self.seen[int(x)] = True
    return x


def remembering_in(memory):
    return lambda x: memory.values.setdefault(int(x), x)


def handing_on(shift):
    return lambda x: apply(shift, x)


def apply(shift, x):
    return shift(x)


def appending(log):
    append = log.append
    return lambda x: append(1) or x


CHANGING = {
    "log": lambda: BASE.map(logging([])),
    "counter": lambda: BASE.map(counting()),
    "memory": lambda: BASE.map(remembering({})),
    "generator": lambda: BASE.map(drawing(np.random.default_rng(3))),
    "object": lambda: BASE.map(Shift(2)),
    "rows": lambda: Dataset.from_indexable(Rows(list(range(30)))),
    "iterator": lambda: BASE.map(taking(itertools.count())),
    "class": lambda: BASE.map(made("ByClass", calls=0, seen={}, __call__=counted_by_class)()),
    "class by its name": lambda: BASE.map(remembering_in(made("Memory", values={}))),
    "object that is handed on": lambda: BASE.map(handing_on(Shift(2))),
    "append of a list": lambda: BASE.map(appending([])),
    "cached function": lambda: BASE.map(functools.lru_cache(lambda x: x * 2)),
    "dispatched function": lambda: BASE.map(functools.singledispatch(lambda x: x * 2)),
}


@pytest.mark.parametrize("name", CHANGING)
def test_what_functions_change_while_they_run_does_not_count(name):
    ds = CHANGING[name]()
    it = iter(ds)
    early = it.get_state()
    came = [int(next(it)) for _ in range(5)]
    wanted = came + [int(x) for x in it]
    # The first time, the functions are examined after five calls; later, before any.
    late = state_of(ds, 5)
    for state, rest in ((early, wanted), (late, wanted[5:])):
        for own in (ds, CHANGING[name]()):
            resumed = iter(own)
            resumed.set_state(state)
            assert [int(x) for x in resumed] == rest


def test_what_functions_read_and_do_not_change_counts(monkeypatch):
    state = state_of(BASE.map(looked_up))
    iter(BASE.map(looked_up)).set_state(state)
    monkeypatch.setitem(TABLE, "a", 2)
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(BASE.map(looked_up)).set_state(state)
    monkeypatch.undo()
    monkeypatch.setitem(globals(), "FACTOR", 4)
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(BASE.map(scaled)).set_state(state_of_scaled)


state_of_scaled = state_of(BASE.map(scaled))


@pytest.mark.parametrize("name", READ)
def test_attributes_that_a_function_reads_of_an_object_count(name):
    function, settings = READ[name]
    state = state_of(BASE.map(function(settings(scale=1))), 3)
    iter(BASE.map(function(settings(scale=1)))).set_state(state)
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(BASE.map(function(settings(scale=2)))).set_state(state)


@pytest.mark.parametrize("name", CHANGED)
def test_all_that_a_function_is_made_of_counts(name):
    state = state_of(BASE.map(CHANGED[name](1)), 3)
    iter(BASE.map(CHANGED[name](1))).set_state(state)
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(BASE.map(CHANGED[name](2))).set_state(state)


def test_attributes_that_a_function_does_not_read_do_not_count():
    state = state_of(BASE.map(reading(Settings(2, unread=1))), 3)
    it = iter(BASE.map(reading(Settings(2, unread=5))))
    it.set_state(state)
    assert next(it) == 6


def test_the_format_of_a_struct_counts():
    one, other = (BASE.map(naming(struct.Struct(form))) for form in ("<i", ">i"))
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(other).set_state(state_of(one, 3))


@pytest.mark.parametrize("name", VALUES)
def test_values_of_the_standard_library_count(name):
    one, other = (BASE.map(naming(value)) for value in VALUES[name])
    state = state_of(one, 3)
    iter(one).set_state(state)
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(other).set_state(state)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_tables_count(package, name):
    library = pytest.importorskip(package)
    if package == "polars" and name == "labels":
        pytest.skip("series of Polars have no labels")
    tables = [TABLES[name](library, last) for last in (3, 3, 4)]
    one, same_again, other = (BASE.map(naming(table)) for table in tables)
    state = state_of(one, 3)
    _ = list(tables[1]), repr(tables[1])
    iter(same_again).set_state(state)
    with pytest.raises(ps.StateError, match=r"map.*: the function has changed"):
        iter(other).set_state(state)


class Lazy:
    @functools.cached_property
    def table(self):
        return {"by": 2}


def test_what_is_computed_at_the_first_use_does_not_count():
    lazy = Lazy()
    state = state_of(BASE.map(lambda x: x * lazy.table["by"]), 0)
    lazy = Lazy()
    it = iter(BASE.map(lambda x: x * lazy.table["by"]))
    assert next(it) == 0
    late = it.get_state()
    it.set_state(state)
    assert [int(next(it)) for _ in range(2)] == [0, 2]
    it.set_state(late)
    assert next(it) == 2


class Difficult:
    def __getattr__(self, name):
        raise RuntimeError(name)

    def __len__(self):
        raise RuntimeError("len")


def test_objects_that_cannot_be_looked_at_count_by_their_type():
    difficult = Difficult()
    ds = BASE.map(lambda x: x if difficult is not None else 0)
    it = iter(ds)
    it.set_state(state_of(ds, 3))
    assert next(it) == 3


@pytest.mark.parametrize("how", ["cache", "snapshot"])
def test_classes_for_the_files_of_a_stage_do_not_decide_its_data(tmp_path, how):
    class Pair(NamedTuple):
        x: int
        y: int

    ds = ps.Dataset.range(5).map(lambda x: Pair(x, x))
    it = iter(getattr(ds, how)(tmp_path / "kept", structures=[Pair]))
    next(it)
    again = iter(getattr(ds, how)(tmp_path / "kept"))
    again.set_state(it.get_state())
    assert [int(pair.x) for pair in again] == [1, 2, 3, 4]


@pytest.mark.filterwarnings("ignore:set_state:RuntimeWarning")
@pytest.mark.parametrize(
    "source", [Dataset.range, lambda n: Dataset.from_tensor_slices(np.arange(n))]
)
def test_a_source_that_has_become_shorter_is_said_to_be(source):
    state = state_of(source(10).batch(2), 4)
    it = iter(source(3).batch(2))
    with pytest.raises(ValueError, match=r"source that was longer: .* got 8; .* the 3 elements"):
        it.set_state(state, strict=False)
