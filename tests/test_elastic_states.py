"""A state saved with one number of processes resumes with any other number."""

import itertools
import pathlib
import random
import threading

import numpy as np
import pytest

import forging
import penstock as ps
from compare import assert_same
from even_shards import POLICIES, SOURCES, even_shards
from penstock.loader_states import signed

COUNTS = [1, 2, 3, 4, 6, 8, 16]
GLOBAL = 48  # rows of all processes together: divisible by every process count
ROWS = 5 * GLOBAL


def numbers(n=ROWS):
    return ps.Dataset.range(n)


def drawn(x):
    return x, ps.random.uniform((), 0, 1000)


def lines(folder):
    """Return the names of files with different lengths."""
    names = [pathlib.Path(folder) / f"lines-{i}.txt" for i in range(5)]
    if not names[0].exists():
        for i, count in enumerate([90, 3, 0, 100, 60]):
            names[i].write_text("".join(f"{i}:{j}\n" for j in range(count)))
    return [str(name) for name in names]


def records(folder):
    names = [str(pathlib.Path(folder) / f"records-{i}.tfrecord") for i in range(3)]
    if not pathlib.Path(names[0]).exists():
        for i, count in enumerate([100, 70, 90]):
            with ps.io.TFRecordWriter(names[i]) as writer:
                for j in range(count):
                    writer.write(f"{i}:{j}".encode())
    return names


class Rows:
    """An indexable object."""

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        return np.int64(i * 3)


def of_length(x):
    return np.full(x % 5 + 1, x)


def ragged(n=ROWS):
    return numbers(n).map(of_length, output_signature=ps.TensorSpec((None,), np.int64))


# Stages before the elements are split: each defines one order, of at least ROWS elements.
BEFORE = {
    "range": lambda _: numbers(),
    "slices": lambda _: ps.Dataset.from_tensor_slices({"x": np.arange(ROWS), "y": np.ones(ROWS)}),
    "indexable": lambda _: ps.Dataset.from_indexable(Rows()).shuffle(ROWS),
    "parallel indexable": lambda _: ps.Dataset.from_indexable(Rows(), num_parallel_calls=2),
    "shuffle": lambda _: numbers().shuffle(40),
    "seeded shuffle": lambda _: numbers().shuffle(40, seed=5),
    "shuffle of a map": lambda _: numbers().map(lambda x: x + 1, 2).shuffle(20),
    "two shuffles": lambda _: numbers().shuffle(20).map(lambda x: x).shuffle(10),
    "global shuffle": lambda _: ps.Dataset.from_tensor_slices(np.arange(ROWS)).global_shuffle(),
    "select": lambda _: numbers().select(np.arange(ROWS)[::-1]),
    "map": lambda _: numbers().map(lambda x: x * 2),
    "native map": lambda _: numbers().map(ps.native(lambda x: x * 2 + 1)),
    "random map": lambda _: numbers().map(drawn),
    "parallel random map": lambda _: numbers().map(drawn, 2),
    "unordered map": lambda _: numbers().map(drawn, 2, deterministic=False),
    "shuffled random map": lambda _: numbers().shuffle(30).map(drawn).prefetch(3),
    "filter": lambda _: numbers(2 * ROWS).filter(lambda x: x % 2 == 0),
    "random filter": lambda _: numbers(3 * ROWS).filter(
        lambda x: ps.random.uniform((), 0, 1) < 0.5
    ),
    "flat_map": lambda _: numbers(ROWS).flat_map(
        lambda x: ps.Dataset.range(x % 3).map(lambda y: y + 10 * x)
    ),
    "interleave": lambda _: numbers(30).interleave(
        lambda x: ps.Dataset.range(10 * x, 10 * x + 9), cycle_length=4, block_length=2
    ),
    "parallel interleave": lambda _: numbers(30).interleave(
        lambda x: ps.Dataset.range(10 * x, 10 * x + 9), cycle_length=3, num_parallel_calls=2
    ),
    "mix": lambda _: ps.Dataset.sample_from_datasets(
        [numbers().shuffle(20), ps.Dataset.range(1000, 1000 + ROWS)], weights=[0.3, 0.7]
    ),
    "choose": lambda _: ps.Dataset.choose_from_datasets(
        [numbers(), ps.Dataset.range(1000, 1000 + ROWS)], numbers(2 * ROWS).map(lambda x: x % 2)
    ),
    "concatenate and zip": lambda _: ps.Dataset.zip(
        numbers(100).concatenate(numbers(ROWS)), numbers(400).shuffle(9)
    ),
    "pack": lambda _: ragged(3 * ROWS).pack(6, open_packs=3),
    "padded batches": lambda _: ragged(3 * ROWS).padded_batch(3),
    "bucketed batches": lambda _: ragged(4 * ROWS).bucket_by_sequence_length(
        lambda x: x.shape[0], [2, 4], [2, 3, 4]
    ),
    "batches": lambda _: numbers(2 * ROWS).shuffle(50).batch(2),
    "unbatched": lambda _: numbers().batch(7).unbatch(),
    "windows": lambda _: (
        numbers().window(4, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(4))
    ),
    "scan": lambda _: numbers().scan(np.int64(0), lambda s, x: (s + x, s + x)),
    "unique": lambda _: numbers(2 * ROWS).map(lambda x: x // 2).unique(),
    "enumerate, take, skip": lambda _: numbers(300).shuffle(9).enumerate().skip(7).take(280),
    "cache": lambda _: numbers().map(drawn).cache(),
    "repeated cache": lambda _: numbers(90).map(drawn).cache().shuffle(15).repeat(4),
    "repeat": lambda _: numbers(100).shuffle(30).map(drawn).repeat(3),
    "endless": lambda _: numbers(70).shuffle(70).repeat(),
    "files": lambda folder: ps.TextLineDataset(lines(folder)),
    "shuffled files": lambda folder: ps.TFRecordDataset(records(folder)).shuffle(50),
    "several files at a time": lambda folder: ps.Dataset.list_files(
        records(folder), seed=3
    ).interleave(ps.TFRecordDataset, cycle_length=3),
    "generator": lambda _: ps.Dataset.from_generator(lambda: iter(range(ROWS))),
    "shuffled generator": lambda _: ps.Dataset.from_generator(lambda: iter(range(ROWS))).shuffle(
        20
    ),
}

# Stages after the split: from the elements of one process to its batches with this number of rows.
AFTER = [
    lambda ds, rows: ds.batch(rows),
    lambda ds, rows: ds.map(lambda *x: x, 2).batch(rows, drop_remainder=True).prefetch(2),
    lambda ds, rows: ds.prefetch(3).batch(rows, num_parallel_calls=2).map(lambda *x: x),
]
ONE_BY_ONE = {"pack", "padded batches", "bucketed batches"}  # no later stage applies to these


def as_rows(batch):
    """Return the elements of a batch of tuples, or of a tuple of arrays."""
    if isinstance(batch, tuple) and len(batch) == 1:
        batch = batch[0]
    if isinstance(batch, tuple):
        return list(zip(*map(as_rows, batch), strict=True))
    if isinstance(batch, dict):
        return [{k: v[i] for k, v in batch.items()} for i in range(len(batch["x"]))]
    return list(batch)


class Processes:
    """Pipelines with one order, built anew for each process."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        with iter(self.dataset(1, 0)) as it:
            self.whole = list(itertools.islice(it, ROWS))

    def dataset(self, count, index):
        return BEFORE[self.name](self.folder).shard_evenly(count, index)

    def start(self, count, index, after):
        """Return an iterator over batches, and their number of rows."""
        ds = self.dataset(count, index)
        if self.name in ONE_BY_ONE:
            return iter(ds.prefetch(index % 3)), None
        return iter(after(ds, GLOBAL // count)), GLOBAL // count

    def check(self, it, rows, count, index, begin):
        """Take the next batch, and compare it with the order from `begin` on."""
        came = next(it)
        if rows is None:
            assert_same([came], [self.whole[begin + index]])
            return begin + count
        assert_same(as_rows(came), self.whole[begin + index : begin + GLOBAL : count])
        return begin + GLOBAL


@pytest.mark.parametrize("name", BEFORE)
def test_any_number_of_processes_goes_on_where_another_was(name, tmp_path):
    processes = Processes(name, tmp_path)
    rng = random.Random(name)
    for former, after in zip(COUNTS, itertools.cycle(AFTER)):
        index = rng.randrange(former)
        it, rows = processes.start(former, index, after)
        position = 0
        with it:
            for _ in range(rng.randrange(1, 4)):
                position = processes.check(it, rows, former, index, position)
            state = it.get_state()
        assert len(state) <= 1024
        for count in COUNTS:
            for own in {0, count - 1, rng.randrange(count)}:
                it, rows = processes.start(count, own, after)
                with it:
                    it.set_state(state)
                    processes.check(it, rows, count, own, position)


# --- stages after the split ---


def state_after(ds, steps):
    with iter(ds) as it:
        for _ in range(steps):
            next(it)
        return it.get_state()


def rest_of(ds, state):
    with iter(ds) as it:
        it.set_state(state)
        return list(it)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("remainder", POLICIES)
def test_the_end_of_the_order_is_that_of_those_who_get_there(source, remainder):
    n = 23
    for former, count, steps in [
        (4, 3, 2),
        (3, 4, 5),
        (2, 5, 11),
        (5, 1, 4),
        (1, 6, 22),
        (4, 3, 5),
    ]:
        state = state_after(SOURCES[source](n).shard_evenly(former, former - 1, remainder), steps)
        begin = min(former * steps, n)
        for index, wanted in enumerate(even_shards(range(n), count, remainder, begin=begin)):
            ds = SOURCES[source](n).shard_evenly(count, index, remainder)
            assert [numbers_of(x) for x in rest_of(ds, state)] == wanted


def numbers_of(x):
    return (int(x[0]), bool(x[1])) if isinstance(x, tuple) else int(x)


@pytest.mark.parametrize("rows", [24, 12, 96], ids=["same", "half", "twice"])
def test_the_global_batch_may_stay_or_change(rows):
    def process(count, index, rows):
        return numbers().shuffle(30).shard_evenly(count, index).batch(rows // count).prefetch(1)

    whole = [int(x) for x in numbers().shuffle(30).shard_evenly(1, 0)]
    state = state_after(process(4, 1, 24), 3)
    for count in (1, 2, 3, 4, 6):
        for index in range(count):
            ds = process(count, index, rows)
            assert rest_of(ds, state)[0].tolist() == whole[72 + index : 72 + rows : count]


@pytest.mark.parametrize("kind", ["padded_batch", "ragged_batch"])
def test_padded_and_ragged_batches_after_it(kind):
    def process(count, index):
        ds = ragged().shard_evenly(count, index)
        return getattr(ds, kind)(12 // count)

    state = state_after(process(3, 2), 4)
    rows = [row.tolist() for row in ragged()]
    for index in range(2):
        batch = rest_of(process(2, index), state)[0]
        wanted = rows[48 + index : 60 : 2]
        if kind == "padded_batch":
            longest = max(map(len, wanted))
            wanted = [row + [0] * (longest - len(row)) for row in wanted]
            assert batch.tolist() == wanted
        else:
            assert batch[0].tolist() == list(itertools.chain(*wanted))


N = 50


@pytest.mark.parametrize("count", [-1, 3])
@pytest.mark.parametrize("dropped", [True, False])
@pytest.mark.parametrize("ahead", [False, True])
def test_epochs_that_are_counted_after_it(ahead, dropped, count):
    def process(processes, index):
        ds = numbers(N).shuffle(20).shard_evenly(processes, index)
        ds = ds.map(lambda x: x, 2).prefetch(2) if ahead else ds
        ds = ds.batch(12 // processes, drop_remainder=dropped).repeat(count)
        return ds.prefetch(3) if ahead else ds

    with iter(numbers(N).shuffle(20).shard_evenly(1, 0).repeat(3)) as it:
        whole = [int(x) for x in it]

    def steps_of(rounds, rows):
        return rounds // rows if dropped else -(-rounds // rows)

    for former, steps in itertools.product((1, 3, 6), range(13)):
        epoch_steps = steps_of(N // former, 12 // former)
        epoch, step = divmod(steps, epoch_steps)
        state = state_after(process(former, 0), steps)
        for processes, index in ((2, 0), (2, 1), (4, 3), (former, 0)):
            came = [
                x.tolist()
                for x in itertools.islice(process_at(process(processes, index), state), 2)
            ]
            begin = min(12 * step, N // former * former)
            wanted = []
            for each in range(epoch, 3):
                rounds = (N - begin) // processes
                own = whole[each * N + begin : each * N + begin + rounds * processes][
                    index::processes
                ]
                rows = 12 // processes
                wanted += [own[i * rows :][:rows] for i in range(steps_of(rounds, rows))]
                begin = 0
            if epoch < 2:
                assert came == wanted[:2], (former, steps, processes, index)


def process_at(ds, state):
    with iter(ds) as it:
        it.set_state(state)
        yield from it


def test_random_draws_after_it_are_those_of_the_seed(tmp_path):
    def process(count, index):
        ps.set_seed(5)
        try:
            ds = numbers().shuffle(30).shard_evenly(count, index).map(drawn, 2)
            return iter(ds.batch(24 // count))
        finally:
            ps.set_seed(None)

    with process(1, 0) as it:
        whole = as_rows(next(it)) + as_rows(next(it)) + as_rows(next(it))
    with process(4, 1) as it:
        assert_same(as_rows(next(it)), whole[1:24:4])
        state = it.get_state()
    for index in range(3):
        with process(3, index) as it:
            it.set_state(state)
            assert_same(as_rows(next(it)), whole[24 + index : 48 : 3])


def test_numbers_may_change_again_and_again(tmp_path):
    for name in ("shuffled random map", "mix", "repeated cache", "shuffled files", "endless"):
        processes = Processes(name, tmp_path)
        rng = random.Random(name)
        position, state = 0, None
        for _ in range(4):
            count = rng.choice(COUNTS)
            index = rng.randrange(count)
            it, rows = processes.start(count, index, AFTER[1])
            with it:
                if state is not None:
                    it.set_state(state)
                position = processes.check(it, rows, count, index, position)
                state = it.get_state()


def test_shards_for_torch(monkeypatch):
    def process(count, index):
        monkeypatch.setenv("WORLD_SIZE", str(count))
        monkeypatch.setenv("RANK", str(index))
        return ps.Dataset.from_indexable(Rows()).shuffle(ROWS).shard_for_torch().batch(12 // count)

    with iter(process(1, 0)) as it:
        whole = [int(x) for batch in it for x in batch]
    state = state_after(process(4, 3), 5)
    for index in range(3):
        assert rest_of(process(3, index), state)[0].tolist() == whole[60 + index : 72 : 3]


# --- unsupported cases ---

NOT_AFTER = {
    "shuffle mixes elements of several steps": lambda ds: ds.shuffle(5),
    "filter gives more or fewer elements": lambda ds: ds.filter(lambda x: x > 1),
    "flat_map gives more or fewer": lambda ds: ds.flat_map(lambda x: ps.Dataset.range(2)),
    "unbatch gives more or fewer": lambda ds: ds.batch(2).unbatch(),
    "cache keeps the elements of one process": lambda ds: ds.cache(),
    "take counts the elements of one process": lambda ds: ds.take(5),
    "enumerate counts": lambda ds: ds.enumerate(),
    "pack mixes": lambda ds: ds.map(lambda x: np.full(2, x)).pack(5),
    "scan makes its results": lambda ds: ds.scan(np.int64(0), lambda s, x: (s + x, x)),
    "zip mixes": lambda ds: ps.Dataset.zip(ds, ps.Dataset.range(100)),
    "repeat repeats a number of elements that is not known": lambda ds: ds.repeat(2),
    "window mixes": lambda ds: ds.window(2).flat_map(lambda w: w.batch(2)),
}


@pytest.mark.parametrize("words", NOT_AFTER)
def test_a_stage_that_cannot_is_named_before_anything_runs(words):
    def process(count):
        source = ps.Dataset.range(40)
        if words.startswith("repeat"):
            source = source.filter(lambda x: x >= 0)
        return NOT_AFTER[words](source.shard_evenly(count, 0))

    state = state_after(process(2), 1)
    called = words if not words.startswith("window") else "flat_map"
    with iter(process(3)) as it:
        with pytest.raises(ps.StateError, match=f"one of 2 shards, this is one of 3, and {called}"):
            it.set_state(state)
        assert it.stats() == []
    assert len(rest_of(process(2), state)) > 0


@pytest.mark.parametrize("words", NOT_AFTER)
def test_before_anything_was_delivered_every_stage_can(words):
    def process(count):
        return NOT_AFTER[words](ps.Dataset.range(40).shuffle(9).shard_evenly(count, 0))

    def begun(count):
        ps.set_seed(5)
        try:
            return iter(process(count))
        finally:
            ps.set_seed(None)

    with begun(2) as it:
        state = it.get_state()
    assert ps.describe_state(state, process(3)).count("differs from the dataset") == 0
    assert_same(rest_of(process(3), state), list(begun(3)))
    again = iter(process(3))
    again.set_state(state)
    assert_same(rest_of(process(4), again.get_state()), list(begun(4)))


def test_a_generator_that_cannot_begin_again_is_named():
    taken = iter(range(40))

    def process(count, generator):
        return ps.Dataset.from_generator(generator).shard_evenly(count, 0)

    state = state_after(process(2, lambda: taken), 1)
    with pytest.raises(
        ps.StateError, match=r"from_generator: .* from taken, a range_iterator that"
    ):
        iter(process(3, lambda: taken)).set_state(state)
    values = range(40)
    state = state_after(process(2, lambda: iter(values)), 1)
    assert [int(x) for x in rest_of(process(3, lambda: iter(values)), state)[:2]] == [2, 5]


def test_other_differences_are_still_differences():
    def process(count, size=10, **how):
        return ps.Dataset.range(40).shuffle(size).shard_evenly(count, 0, **how).batch(2)

    state = state_after(process(2), 2)
    for other in (process(3, size=9), process(3, seed=1)):
        with pytest.raises(ps.StateError, match="set_state: the state is of other data: sh"):
            iter(other).set_state(state)
    with pytest.raises(ps.StateError, match="of this one nothing more"):
        iter(ps.Dataset.range(40).shuffle(10).shard_evenly(3, 0)).set_state(state)
    with pytest.raises(ps.StateError, match="remainder 'drop', the state has 'repeat'"):
        iter(process(3)).set_state(state_after(process(2, remainder="repeat"), 1))


def test_elements_delivered_out_of_order_have_no_position():
    released = threading.Event()

    def slow(x):
        if x == 0:
            released.wait(60)
        return x

    def process(count):
        ds = ps.Dataset.range(40).shard_evenly(count, 0)
        return ds.map(slow, 2, deterministic=False)

    with iter(process(2)) as it:
        assert int(next(it)) == 2
        state = it.get_state()
        released.set()
    assert "out of order" in ps.describe_state(state)
    with iter(process(3)) as other, pytest.raises(ValueError, match="map were delivered out of"):
        other.set_state(state)
    with iter(process(2)) as same:
        same.set_state(state)
        assert sorted(int(x) for x in same) == [0, *range(4, 40, 2)]


# --- states of several processes ---


def states_at(steps, rows=1, **how):
    count = len(steps)
    return [
        state_after(numbers().shard_evenly(count, i, **how).batch(rows), n)
        for i, n in enumerate(steps)
    ]


def test_states_at_one_step_are_one_state():
    states = states_at([3, 3, 3, 3], rows=2)
    random.Random(1).shuffle(states)
    merged = ps.merge_states(iter(states))
    assert rest_of(numbers().shard_evenly(2, 1).batch(3), merged)[0].tolist() == [25, 27, 29]


@pytest.mark.parametrize("steps", [[2, 1, 1, 1], [2, 2, 1, 1], [3, 3, 3, 2], [1, 0]])
def test_the_first_processes_may_be_one_element_ahead(steps):
    had = sum(steps)
    merged = ps.merge_states(np.frombuffer(state, np.uint8) for state in states_at(steps))
    assert f"after {had} elements of all" in ps.describe_state(merged)
    for count in COUNTS:
        for index in range(count):
            with iter(numbers().shard_evenly(count, index).batch(1)) as it:
                it.set_state(merged)
                assert next(it).tolist() == [had + index]
                again = it.get_state()
            with iter(numbers().shard_evenly(1, 0)) as one, pytest.raises(ps.StateError):
                one.set_state(again)
            assert f"after {had + count} elements of all" in ps.describe_state(again)


def test_positions_that_are_no_beginning_are_told():
    for steps, rows in (([1, 2, 1], 1), ([3, 1, 1], 1), ([2, 1, 1], 2)):
        with pytest.raises(ps.StateError, match="no position") as failure:
            ps.merge_states(states_at(steps, rows))
        for i, n in enumerate(steps):
            assert f"process {i} is at element {n * rows * 3} of the order" in str(failure.value)
        assert len(failure.value.differences) == 3


def test_states_that_do_not_belong_together_are_refused():
    states = states_at([2, 2, 2])
    for given, words in [
        ([], "at least one state was expected"),
        (states[:2], "missing is that of process 2"),
        (states[:1], "missing are those of processes 1, 2"),
        ([*states, states[1]], "two states are of process 1"),
        ([*states[:2], states_at([2, 2])[0]], "state 2 is not of the same pipeline as state 0"),
        ([*states[:2], states_at([2, 2, 2], seed=4)[2]], "shard_evenly: seed 0, the state has 4"),
        ([state_after(numbers(), 1)] * 2, "without shard_evenly"),
        ([b"abc"], "merge_states: these bytes are not a state"),
        ([states[0][:-1], *states[1:]], "merge_states: the state is damaged"),
    ]:
        with pytest.raises(ValueError, match=words):
            ps.merge_states(given)
    with pytest.raises(TypeError, match="merge_states: bytes of get_state were expected"):
        ps.merge_states([1.5])
    alone = state_after(numbers(), 1)
    assert ps.merge_states([alone]) == alone


WHOLE = {
    "penstock": 2,
    "account": "",
    "shared": {"processes": 1, "batch_size": 1, "rows": 9},
    "process": 0,
    "batches": 2,
    "order": {"samplers": []},
}


@pytest.mark.parametrize(
    "change",
    [
        {"shared": None},
        {"shared": {"processes": "2"}},
        {"shared": {"processes": 10**15, "batch_size": 1, "rows": 9}},
        {"process": [0]},
        {"batches": "2"},
        {"account": None},
        {"order": [1]},
        {"order": {"samplers": [3]}},
    ],
)
def test_modified_loader_states_are_rejected(change):
    assert ps.merge_states([signed(WHOLE)]) == signed(WHOLE)
    with pytest.raises(ps.StateError, match="state 0 is damaged"):
        ps.merge_states([signed(WHOLE) | change])


# --- contents of a state ---


def test_a_state_says_what_it_holds():
    def process(count, rows=2):
        return numbers().shuffle(30, seed=4).shard_evenly(count, 1).batch(rows).repeat(3)

    state = state_after(process(4), 33)
    text = ps.describe_state(state)
    version = ".".join(ps.__version__.split(".")[:2])
    assert f"saved by penstock {version}, python 3." in text
    assert "position: after 33 elements of the iterator, run 0" in text
    assert "after 24 elements of all in epoch 1, saved by process 1 of 4; any number" in text
    assert "seed of the run: " in text
    assert "  shuffle: buffer_size 30, seed 4, reshuffle_each_iteration True" in text
    assert ps.describe_state(state, process(4)).endswith("does not differ from the dataset")
    assert "continues with the dataset's own number" in ps.describe_state(state, process(3, 4))
    other = numbers(9).shuffle(30, seed=4).shard_evenly(3, 1).batch(2).repeat(3)
    assert "differs from the dataset:\n  range: stop 9, the state has 240" in ps.describe_state(
        np.frombuffer(state, np.uint8), other
    )
    with iter(process(4)) as it:
        it.set_state(state)
        next(it)
        assert "after 34 elements of the iterator" in ps.describe_state(it.get_state())


def test_asking_about_a_state_begins_no_run():
    ds = numbers(40).shuffle(40)
    ps.set_seed(3)
    try:
        first, state = list(ds), state_after(ds, 0)
        ps.describe_state(state, ds)
        assert "run 2" in ps.describe_state(state_after(ds, 0))
    finally:
        ps.set_seed(None)
    assert len(first) == 40


# --- forged states ---


def test_no_forged_state_of_another_number_crashes():
    def process(count, rows):
        ds = numbers(60).shuffle(9).shard_evenly(count, 0, "pad").map(lambda x, real: x, 2)
        return ds.batch(rows).repeat(4).prefetch(2)

    begin, body = forging.opened(state_after(process(4, 2), 17))
    rng = random.Random(7)
    refused = taken = 0
    for at in range(len(body)):
        for number in (0, 1, 127, rng.randrange(128)):
            forged = forging.sealed(begin, body[:at] + bytes([number]) + body[at + 1 :])
            try:
                with iter(process(3, 3)) as it:
                    it.set_state(forged)
                    list(itertools.islice(it, 3))
                taken += 1
            except (ValueError, RuntimeError, MemoryError, OverflowError):
                refused += 1
    assert refused > 100
    assert taken > 20


def test_great_numbers_in_the_position_of_all_are_refused_or_hold():
    state = state_after(numbers().shard_evenly(4, 1).batch(2), 3)
    for number in (2, 3, 4):
        merged = ps._core.state_with_more(state, number)
        assert rest_of(numbers().shard_evenly(1, 0).batch(4), merged)[0][0] == 24 + number
    with pytest.raises(ValueError, match="damaged"):
        iter(numbers().shard_evenly(1, 0).batch(4)).set_state(ps._core.state_with_more(state, 5))
    alone = ps._core.state_with_more(state_after(numbers(), 1), 0)
    assert rest_of(numbers(), alone)[0] == 1
