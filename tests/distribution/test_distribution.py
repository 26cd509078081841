"""distribute: workers make the elements of a single process, whatever happens to them."""

import collections
import gc
import pickle
import random
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
from pipelines import PIPELINES, draw, one_process, shown

import penstock as ps
from compare import assert_same
from penstock.distribution.job import Job
from penstock.distribution.making import Maker
from penstock.distribution.settings import Settings
from penstock.distribution.work import Work
from penstock.distribution.workers import Event


def local(ds, num_workers=2, **more):
    return ds.distribute(engine="local", num_workers=num_workers, **more)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", PIPELINES)
def test_the_elements_are_those_of_one_process(kind, workers):
    ds = PIPELINES[kind]()
    it = iter(local(ds, workers, split=2))
    expected = one_process(ds, it.get_state())
    assert [shown(each) for each in it] == expected


@pytest.mark.parametrize("kind", PIPELINES)
def test_a_state_serves_any_number_of_workers_and_none(kind):
    ds = PIPELINES[kind]()
    it = iter(local(ds, 2, split=3))
    expected = one_process(ds, it.get_state())
    at = random.Random(kind).randrange(len(expected) + 1)
    before = [shown(next(it)) for _ in range(at)]
    state = it.get_state()
    it.close()
    assert before == expected[:at]
    assert one_process(ds, state) == expected[at:]
    other = iter(local(ds, 3, split=2))
    other.set_state(np.frombuffer(state, np.uint8))
    assert [shown(each) for each in other] == expected[at:]


@pytest.fixture
def seeded():
    ps.set_seed(7)
    yield
    ps.set_seed(None)


SHUFFLES = {
    "shuffle": lambda: ps.Dataset.range(12).shuffle(12),
    "one order": lambda: ps.Dataset.range(12).shuffle(12, reshuffle_each_iteration=False),
    "global_shuffle": lambda: ps.Dataset.range(12).global_shuffle(),
    "one global order": lambda: ps.Dataset.range(12).global_shuffle(reshuffle_each_iteration=False),
    "interleave": lambda: ps.Dataset.range(3).interleave(
        lambda x: ps.Dataset.range(4).shuffle(4).map(lambda y: 4 * x + y), num_parallel_calls=2
    ),
    "repeat": lambda: ps.Dataset.range(6).shuffle(6).repeat(2),
}


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("kind", SHUFFLES)
def test_a_pass_takes_one_seed_of_the_process_whatever_the_number_of_workers(kind, deterministic):
    def epochs(workers):
        ps.set_seed(7)
        ds = SHUFFLES[kind]()
        if workers:
            ds = local(ds, workers, split=2, deterministic=deterministic)
        found = [[int(x) for x in ds] for _ in range(3)]
        if not deterministic:
            found = [sorted(epoch) for epoch in found]
        return found, [int(x) for x in ps.Dataset.range(6).shuffle(6)]

    wanted, other = epochs(0)
    if not deterministic:
        wanted = [sorted(epoch) for epoch in wanted]
    for workers in (1, 2, 3):
        assert epochs(workers) == (wanted, other)


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("kind", SHUFFLES)
def test_epochs_after_a_restored_one_are_those_of_the_first_program(kind, workers):
    def rest_and_later(ds, it):
        rest = [int(x) for x in it]
        return rest, [[int(x) for x in ds] for _ in range(2)]

    ds = local(SHUFFLES[kind](), 2, split=2)
    it = iter(ds)
    for _ in range(5):
        next(it)
    state = it.get_state()
    wanted = rest_and_later(ds, it)
    ps.set_seed(99)
    ds = SHUFFLES[kind]()
    if workers:
        ds = local(ds, workers, split=3)
    it = iter(ds)
    it.set_state(state)
    assert rest_and_later(ds, it) == wanted


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("kind", SHUFFLES)
def test_consumers_of_a_shared_job_take_one_seed_for_a_pass(kind):
    def passes(workers):
        ps.set_seed(7)
        ds = SHUFFLES[kind]()
        if workers:
            job = {"shared": True, "name": f"{kind} {workers}", "num_consumers": 1}
            ds = local(ds, workers, split=2, consumer_index=0, **job)
        return [[int(x) for x in ds] for _ in range(2)], int(ps.Dataset.random().first())

    wanted = passes(0)
    assert [passes(1), passes(3)] == [wanted, wanted]


def test_a_state_of_an_iterator_without_workers_is_taken():
    ds = PIPELINES["repeat"]()
    it = iter(ds)
    first = [shown(next(it)) for _ in range(6)]
    other = iter(local(ds))
    other.set_state(it.get_state())
    assert len(first) == 6
    assert [shown(each) for each in other] == [shown(each) for each in it]


def test_epochs_differ_as_they_do_in_one_process():
    work = local(ps.Dataset.range(30).shuffle(30))
    first, second = ([int(x) for x in work] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(30))
    assert first != second


@pytest.mark.parametrize("kind", ["batch", "shuffle", "repeat", "enumerate", "zip", "take"])
def test_functions_are_called_for_each_element_once(kind, monkeypatch):
    calls = collections.Counter()

    def counted(x):
        calls[int(x)] += 1
        return draw(x)

    monkeypatch.setitem(PIPELINES[kind].__globals__, "draw", counted)
    ds = PIPELINES[kind]()
    made = len(list(local(ds, 3, split=2)))
    epochs = 4 if kind == "repeat" else 1
    assert made > 0
    assert max(calls.values()) == epochs


@pytest.mark.parametrize("seed", range(5))
def test_without_order_every_element_comes_once(seed):
    ds = ps.Dataset.range(200).shuffle(50).map(draw)
    it = iter(local(ds, 3, split=3, deterministic=False))
    expected = one_process(ds, it.get_state())
    got = []
    place = random.Random(seed)
    for _ in range(4):
        got += [shown(next(it)) for _ in range(place.randrange(40))]
        state = it.get_state()
        it.close()
        it = iter(local(ds, place.randrange(1, 4), split=place.randrange(1, 5)))
        it.set_state(state)
    got += [shown(each) for each in it]
    assert sorted(got) == sorted(expected)


def through(it):
    """Return elements and, at their positions, errors."""
    found = []
    while True:
        try:
            found.append(shown(next(it)))
        except StopIteration:
            return found
        except KeyError as error:
            found.append(repr(error))


def fails_at_times(x):
    if x % 10 == 3 or x in (24, 25):
        raise KeyError(int(x))
    return x


@pytest.mark.parametrize("batch", [1, 4])
def test_errors_come_at_their_places_and_the_rest_follows(batch):
    ds = ps.Dataset.range(50).map(fails_at_times).batch(batch)
    assert through(iter(local(ds, 3, split=2))) == through(iter(ds))


def test_an_error_is_itself_and_says_where_it_came_from():
    with pytest.raises(KeyError) as error:
        list(local(ps.Dataset.range(9).map(fails_at_times)))
    assert error.value.args == (3,)
    notes = "\n".join(error.value.__notes__)
    assert "map(fails_at_times), element 3" in notes
    assert "distribute: in thread" in notes
    assert "raise KeyError(int(x))" in "".join(traceback.format_exception(error.value))


def sent(made):
    """Return an element as another process receives it, with or without shared large arrays."""
    apart = []
    if made.steps % 2:
        return pickle.loads(pickle.dumps(made, protocol=4))
    return pickle.loads(pickle.dumps(made, 5, buffer_callback=apart.append), buffers=apart)


class Faulty:
    """Workers in this thread that are killed and repeat their answers at random."""

    def __init__(self, dataset, seed, kills=0.15, poison=None):
        self.draw = random.Random(seed)
        self.dataset = dataset
        self.kills, self.poison = kills, poison
        self.makers = [self.made() for _ in range(3)]
        self.orders = collections.deque()
        self.found = []
        self.closed = False

    def made(self):
        return Maker(self.dataset, "in a test")

    def ready(self):
        return [n for n in range(3) if self.draw.random() < 0.9]

    def give(self, worker, task, order):
        self.orders.append((worker, task, order))

    def events(self, seconds):
        if not self.found and self.orders:
            self.orders.rotate(self.draw.randrange(3))
            worker, task, order = self.orders.popleft()
            poisoned = order.first <= (self.poison or -1) < order.first + order.count
            if poisoned or self.draw.random() < self.kills:
                self.orders = collections.deque(o for o in self.orders if o[0] != worker)
                self.makers[worker] = self.made()
                self.found = [Event(worker, (-1, -1), None, "killed by signal 9")]
            else:
                self.found = [Event(worker, task, sent(self.makers[worker].make(order)))]
        return self.found

    def handled(self):
        repeated = self.found and self.found[0].made and self.draw.random() < 0.2
        self.found = self.found if repeated else []

    def close(self):
        self.closed = True


class FaultyWork(Work):
    """Work for such workers."""

    def __init__(self, dataset, **more):
        super().__init__(dataset, SETTINGS)
        self.dataset, self.more = dataset, more

    def open(self, place, ordered):
        return Job(lambda: Faulty(self.dataset, **self.more), SETTINGS, place, ordered)


SETTINGS = Settings("local", 3, 2, 60.0, None, 1, 0, {})


def faulty(ds, deterministic=True, **more):
    return ds._then("distribute", work=FaultyWork(ds, **more), deterministic=deterministic)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["batch", "shuffle", "repeat", "filter"])
def test_what_is_lost_with_a_worker_is_made_again(kind, seed):
    ds = PIPELINES[kind]()
    it = iter(faulty(ds, seed=seed))
    expected = one_process(ds, it.get_state())
    assert [shown(each) for each in it] == expected


@pytest.mark.parametrize(
    "ds",
    [
        lambda: ps.Dataset.range(9).map(lambda x: {"a": np.full((50, 90), x), "b": str(x)}),
        lambda: ps.Dataset.from_generator(lambda: iter([{1}, {2, 3}, {"a"}])),
        lambda: ps.Dataset.range(0),
    ],
)
def test_rows_come_from_other_processes(ds):
    it = iter(faulty(ds(), seed=1, kills=0.0))
    assert_same(list(it), list(ds()))


@pytest.mark.parametrize("batch", [1, 4])
def test_errors_come_from_other_processes(batch):
    ds = ps.Dataset.range(50).map(fails_at_times).batch(batch)
    assert through(iter(faulty(ds, seed=1, kills=0.0))) == through(iter(ds))


def test_an_element_that_kills_workers_is_a_worker_error():
    it = iter(faulty(ps.Dataset.range(50), seed=0, kills=0.0, poison=21))
    got = []
    with pytest.raises(ps.WorkerError) as error:
        got.extend(int(x) for x in it)
    text = str(error.value)
    assert "lease 10, elements 20 to 21 since the iterator began, was lost with 5 workers" in text
    assert "killed by signal 9" in text
    with pytest.raises(ps.WorkerError):
        next(it)


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("ps-distribute")]


def wait_for_the_end_of_workers():
    """Wait while letting Python run cleanup that is deferred to this thread."""
    while found := threads():
        found[0].join(0.01)


def test_closing_ends_the_workers():
    wait_for_the_end_of_workers()  # dropped by other tests
    with iter(local(ps.Dataset.counter(), 2)) as it:
        assert [int(next(it)) for _ in range(5)] == list(range(5))
        assert len(threads()) == 2
    assert not threads()
    assert list(it) == []


def test_dropping_the_iterator_ends_the_workers():
    wait_for_the_end_of_workers()  # dropped by other tests
    it = iter(local(ps.Dataset.counter(), 2))
    next(it)
    del it
    gc.collect()
    wait_for_the_end_of_workers()


def test_dropping_the_iterator_waits_for_no_function():
    inside, gate = threading.Event(), threading.Event()

    def waits(x):
        if x == 1:
            inside.set()
            gate.wait()
        return x

    it = iter(local(ps.Dataset.range(9).map(waits), 2))
    assert next(it) == 0
    inside.wait()
    del it
    gc.collect()
    next(iter(ps.Dataset.range(1)))  # frees everything that was dropped without the GIL
    assert threads()
    gate.set()
    wait_for_the_end_of_workers()


class Unlike(Exception):
    """An exception that copy cannot copy."""

    def __init__(self, text, more):
        super().__init__(text)
        self.more = more


def raises(x):
    if x == 5:
        raise Unlike("five", more=5)
    return x


@pytest.mark.parametrize("shared", [{}, {"shared": True, "num_consumers": 1, "consumer_index": 0}])
def test_an_iterator_that_was_left_by_an_exception_is_dropped(shared, request):
    wait_for_the_end_of_workers()  # dropped by other tests
    ds = ps.Dataset.range(9).map(raises)
    name = {"name": request.node.name} if shared else {}

    def left():
        it = iter(local(ds, 1, split=2, **shared, **name))
        with pytest.raises(Unlike) as error:
            list(it)
        assert (error.value.args, error.value.more) == (("five",), 5)
        assert "raise Unlike" in "".join(traceback.format_exception(error.value))

    left()
    gc.collect()
    wait_for_the_end_of_workers()


def test_the_end_ends_the_workers():
    wait_for_the_end_of_workers()  # dropped by other tests
    it = iter(local(ps.Dataset.range(9)))
    assert len(list(it)) == 9
    assert not threads()


def test_a_process_ends_with_a_live_iterator():
    program = (
        "import penstock as ps\n"
        "it = iter(ps.Dataset.counter().distribute(engine='local', num_workers=2))\n"
        "print(next(it), next(it))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100
    )
    assert (done.stdout, done.stderr, done.returncode) == ("0 1\n", "", 0)


def test_a_state_of_another_pipeline_is_refused():
    state = iter(ps.Dataset.range(9).batch(2)).get_state()
    with pytest.raises(ps.StateError, match="batch_size 3, the state has 2"):
        iter(local(ps.Dataset.range(9).batch(3))).set_state(state)


def test_len_spec_and_repr():
    ds = ps.Dataset.range(9).batch(2)
    work = local(ds, 3)
    assert len(work) == work.cardinality() == 5
    assert repr(work) == (
        "<Dataset range(start=0, stop=9, step=1, output_type=int64)"
        ".batch(batch_size=2, drop_remainder=False)"
        ".distribute(work=<3 local workers>, deterministic=True)>"
    )
    assert work.element_spec == ds.element_spec
    assert work.fingerprint() == ds.fingerprint()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"engine": "spark"}, "engine must be 'ray' or 'local', got 'spark'"),
        ({"split": 0}, "split must be >= 1, got 0"),
        ({"split": "files"}, "split must be a number or 'auto', got 'files'"),
        ({"lease_timeout": 0.0}, "lease_timeout must be > 0 seconds, got 0.0"),
        ({"num_workers": 0}, "num_workers must be >= 1, got 0"),
    ],
)
def test_wrong_arguments_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        ps.Dataset.range(3).distribute(**({"engine": "local", "num_workers": 1} | given))


def test_options_are_for_ray():
    with pytest.raises(TypeError, match="no argument 'num_cpus'; engine='local' has no options"):
        local(ps.Dataset.range(3), num_cpus=2)
