"""distribute(shared=True): elements are made once for several consumers in this process."""

import collections
import gc
import itertools
import queue
import random
import threading
import time
import weakref

import pytest
from pipelines import draw, shown

import penstock as ps


class Counted:
    """A function that counts its calls in a place that its fingerprint ignores."""

    def __init__(self):
        self.noted = queue.SimpleQueue()

    def __call__(self, x):
        self.noted.put(int(x))
        return draw(x)

    def calls(self):
        """Return the number of calls for each element since the last query."""
        return collections.Counter(self.noted.get() for _ in range(self.noted.qsize()))


# One pipeline per consumer, as in separate processes: another pass over one dataset is another
# epoch.


def shared(ds, count, index, name, **more):
    how = {"engine": "local", "num_workers": 2, "split": 2, "shared": True} | more
    return ds.distribute(name=name, num_consumers=count, consumer_index=index, **how)


def in_threads(runs):
    """Call each function in a separate thread; return their results."""
    results = [None] * len(runs)

    def run(number):
        try:
            results[number] = runs[number]()
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(runs))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(0.05)
        for result in results:
            if isinstance(result, Exception):
                raise result
    return results


def test_lease_timeout_may_be_as_long_as_any_wait(request):
    how = {"lease_timeout": threading.TIMEOUT_MAX}
    consumers = [
        shared(ps.Dataset.range(40), 2, i, request.node.name, **how).shard_evenly(2, i)
        for i in range(2)
    ]
    left = iter(consumers[0])
    next(left)
    left.close()  # the other consumer's place is kept
    assert [int(x) for x in consumers[1]] == list(range(1, 40, 2))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_has_its_share_and_all_is_made_once(count, request):
    function = Counted()

    def pipeline():
        return ps.Dataset.range(60).shuffle(20).map(function)

    alone = [shown(x) for x in pipeline().shard_evenly(1, 0)]
    function.calls()

    def consumer(index):
        work = shared(pipeline(), count, index, request.node.name).shard_evenly(count, index)
        return [shown(x) for x in work]

    got = in_threads([lambda i=i: consumer(i) for i in range(count)])
    for index, own in enumerate(got):
        assert own == alone[index::count]
    assert set(function.calls().values()) == {1}


def test_epochs_are_shared_too(request):
    function = Counted()

    def consumer(index):
        ds = ps.Dataset.range(30).shuffle(30).map(function)
        work = shared(ds, 2, index, request.node.name).shard_evenly(2, index).batch(3)
        return [[shown(x) for x in work] for _ in range(3)]

    first, second = in_threads([lambda i=i: consumer(i) for i in range(2)])
    assert first[0] != first[1]
    assert [len(epoch) for epoch in first + second] == [5] * 6
    assert set(function.calls().values()) == {3}


def test_a_repeat_after_it_is_shared_too(request):
    function = Counted()

    def consumer(index):
        ds = ps.Dataset.range(20).map(function)
        work = shared(ds, 2, index, request.node.name).repeat(2).shard_evenly(2, index)
        return [int(x) for x, _ in work]

    first, second = in_threads([lambda i=i: consumer(i) for i in range(2)])
    assert first == [*range(0, 20, 2)] * 2
    assert second == [*range(1, 20, 2)] * 2
    assert set(function.calls().values()) == {2}


def test_consumers_may_take_the_whole_order(request):
    function = Counted()

    def begun(index):
        ds = ps.Dataset.range(40).map(function)
        ps.set_seed(3)  # as each of several processes would
        return iter(shared(ds, 2, index, request.node.name))

    its = [begun(0), begun(1)]
    ps.set_seed(None)
    first, second = in_threads([lambda it=it: [shown(x) for x in it] for it in its])
    assert first == second
    assert len(first) == 40
    assert set(function.calls().values()) == {1}


def test_one_that_stops_early_holds_up_no_one(request):
    def early():
        ds = ps.Dataset.range(300)
        with iter(shared(ds, 2, 0, request.node.name).shard_evenly(2, 0)) as it:
            return [int(next(it)) for _ in range(3)]

    def whole():
        ds = ps.Dataset.range(300)
        return [int(x) for x in shared(ds, 2, 1, request.node.name).shard_evenly(2, 1)]

    first, second = in_threads([early, whole])
    assert first == [0, 2, 4]
    assert second == list(range(1, 300, 2))


def test_a_dropped_consumer_holds_up_no_one(request):
    def dropped():
        ds = ps.Dataset.range(300)
        it = iter(shared(ds, 2, 0, request.node.name).shard_evenly(2, 0))
        return int(next(it))

    def whole():
        ds = ps.Dataset.range(300)
        return [int(x) for x in shared(ds, 2, 1, request.node.name).shard_evenly(2, 1)]

    assert in_threads([dropped, whole]) == [0, list(range(1, 300, 2))]


def test_one_that_never_comes_is_waited_for_no_longer_than_the_timeout(request):
    work = shared(ps.Dataset.range(200), 2, 1, request.node.name, lease_timeout=0.2)
    assert [int(x) for x in work.shard_evenly(2, 1)] == list(range(1, 200, 2))


def test_one_that_comes_late_makes_what_it_needs(request):
    def begun(index):
        ds = ps.Dataset.range(300)
        work = shared(ds, 2, index, request.node.name, lease_timeout=0.5)
        return iter(work.shard_evenly(2, index))

    with begun(0) as first:
        got = [int(next(first)) for _ in range(50)]  # more than the kept elements
        late = [int(x) for x in begun(1)]
        got += [int(x) for x in first]
    assert got == list(range(0, 300, 2))
    assert late == list(range(1, 300, 2))


def test_errors_come_to_all_at_their_places(request):
    def fails(x):
        if x % 7 == 3:
            raise KeyError(int(x))
        return x

    def consumer(index):
        ds = ps.Dataset.range(40).map(fails)
        it = iter(shared(ds, 2, index, request.node.name).shard_evenly(2, index))
        came = []
        while True:
            try:
                came.append(int(next(it)))
            except StopIteration:
                return came
            except KeyError as error:
                came.append(error.args)

    wanted = [(x,) if x % 7 == 3 else x for x in range(40)]
    assert in_threads([lambda i=i: consumer(i) for i in range(2)]) == [wanted[::2], wanted[1::2]]


def test_a_state_serves_another_number_of_consumers_and_none(request):
    def pipeline():
        return ps.Dataset.range(48).shuffle(20).map(draw)

    whole = [shown(x) for x in pipeline().shard_evenly(1, 0)]

    def begin(index):
        it = iter(shared(pipeline(), 2, index, request.node.name).shard_evenly(2, index).batch(3))
        for _ in range(2):
            next(it)
        state = it.get_state()
        it.close()
        return state

    state, _ = in_threads([lambda i=i: begin(i) for i in range(2)])
    assert len(state) < 1024

    def go_on(index):
        work = shared(pipeline(), 3, index, request.node.name + "3").shard_evenly(3, index)
        it = iter(work.batch(2))
        it.set_state(state)
        return [each for numbers, draws in it for each in zip(numbers, draws, strict=True)]

    got = in_threads([lambda i=i: go_on(i) for i in range(3)])
    for index, own in enumerate(got):
        assert [shown(each) for each in own] == whole[12 + index :: 3]
    it = iter(pipeline().shard_evenly(4, 3).batch(5))
    it.set_state(state)
    numbers, draws = next(it)
    assert [*zip(numbers.tolist(), draws.tolist(), strict=True)] == whole[15:36:4][:5]


def test_one_state_is_restored_in_all(request):
    function = Counted()

    def begun(index, state):
        ds = ps.Dataset.range(200).shuffle(9).map(function)
        it = iter(shared(ds, 2, index, request.node.name).shard_evenly(2, index))
        if state is not None:
            it.set_state(state)
        return it

    def consumer(index, state):
        with begun(index, state) as it:
            return [int(next(it)[0]) for _ in range(20)], it.get_state()

    begun_together = in_threads([lambda i=i: consumer(i, None) for i in range(2)])
    halves, states = zip(*begun_together, strict=True)
    function.calls()

    def rest(index):
        return [int(x) for x, _ in begun(index, states[1])]

    rests = in_threads([lambda i=i: rest(i) for i in range(2)])
    assert sorted(itertools.chain(*halves, *rests)) == list(range(200))
    assert [len(each) for each in rests] == [80, 80]
    assert set(function.calls().values()) == {1}
    with begun(0, states[0]) as first, begun(1, states[1]) as second:
        next(first)
        with pytest.raises(ValueError, match="restore one state in all"):
            next(second)


def test_one_that_begins_again_takes_no_seat_of_others(request):
    function = Counted()

    def begun(index):
        ds = ps.Dataset.range(100).shuffle(9).map(function)
        return iter(shared(ds, 2, index, request.node.name).shard_evenly(2, index))

    with begun(0) as it:
        first = [int(next(it)[0]) for _ in range(3)]
    with begun(0) as again:
        assert [int(next(again)[0]) for _ in range(3)] == first
        whole = [int(x) for x, _ in begun(1)]  # the first pass alone

        def rest():
            return first + [int(x) for x, _ in again]

        def other():
            return [int(x) for x, _ in begun(1)]

        shares = in_threads([rest, other])
    assert sorted(itertools.chain(*shares)) == list(range(100))
    assert shares[1] == whole
    assert max(function.calls().values()) == 2


def test_one_that_is_started_again_from_its_state_works_alone(request):
    def begun(index):
        ds = ps.Dataset.range(400).shuffle(9)
        return iter(
            shared(ds, 2, index, request.node.name, lease_timeout=0.5).shard_evenly(2, index)
        )

    def whole():
        return [int(x) for x in begun(0)]

    def started_again():
        with begun(1) as it:
            before = [int(next(it)) for _ in range(10)]
            state = it.get_state()
            for _ in range(5):
                next(it)
        it = begun(1)
        it.set_state(state)
        return before + [int(x) for x in it]

    shares = in_threads([whole, started_again])
    assert sorted(itertools.chain(*shares)) == list(range(400))


def test_those_who_begin_again_elsewhere_before_all_have_come_are_taken(request):
    def begun(index, state):
        work = shared(ps.Dataset.range(90), 3, index, request.node.name, lease_timeout=0.3)
        it = iter(work.shard_evenly(3, index))
        if state is not None:
            it.set_state(state)
        return it

    for _ in range(3):
        rest = []
        for index in (0, 1):
            with begun(index, None) as it:
                first = [int(next(it)) for _ in range(4 + index)]
                state = it.get_state()
            rest.append(begun(index, state))
            assert [*first, int(next(rest[-1]))] == list(range(index, 3 * (5 + index), 3))
        assert [int(x) for x in rest[0]] == list(range(15, 90, 3))
        assert [int(x) for x in rest[1]] == list(range(19, 90, 3))


def test_one_of_which_nothing_is_heard_is_waited_for_no_longer(request, monkeypatch):
    monkeypatch.setattr("penstock.distribution.shared.Coordinator.alive", lambda self, token: None)

    def begun(index):
        ds = ps.Dataset.range(400)
        return iter(
            shared(ds, 2, index, request.node.name, lease_timeout=0.5).shard_evenly(2, index)
        )

    with begun(0) as silent:
        assert next(silent) == 0
        assert [int(x) for x in begun(1)] == list(range(1, 400, 2))
        assert [int(x) for x in silent] == list(range(2, 400, 2))


def test_a_wait_for_others_ends_when_the_iterator_is_closed(request):
    it = iter(shared(ps.Dataset.range(400), 2, 0, request.node.name))
    got = []

    def consumer():
        got.extend(int(x) for x in it)

    thread = threading.Thread(target=consumer)
    thread.start()
    while len(got) < 32:
        thread.join(0.01)
    it.close()
    thread.join(60)
    assert not thread.is_alive()
    assert got == list(range(32))


def test_another_pipeline_under_the_name_is_refused(request):
    with iter(shared(ps.Dataset.range(9), 2, 0, request.node.name)) as it:
        next(it)
        with pytest.raises(ValueError, match="is shared by consumers of another pipeline"):
            next(iter(shared(ps.Dataset.range(8), 2, 1, request.node.name)))
        with pytest.raises(ValueError, match="is shared by 2 consumers, got num_consumers=3"):
            next(iter(shared(ps.Dataset.range(9), 3, 1, request.node.name)))


def test_consumers_with_other_seeds_are_refused(request):
    def begun(index):
        return iter(shared(ps.Dataset.range(9).shuffle(9), 2, index, request.node.name))

    with begun(0) as first, begun(1) as second:
        next(first)
        with pytest.raises(ValueError, match="have all consumers draw from one seed"):
            next(second)


@pytest.mark.parametrize(
    "given",
    [
        {"name": None},
        {"name": ""},
        {"num_consumers": None},
        {"consumer_index": None},
        {"deterministic": False},
        {"num_consumers": 0},
        {"consumer_index": 2},
        {"consumer_index": -1},
    ],
)
def test_what_sharing_needs_is_asked_for(given):
    how = {"engine": "local", "num_workers": 1, "shared": True, "name": "a"}
    with pytest.raises(ValueError, match="distribute: "):
        ps.Dataset.range(3).distribute(**(how | {"num_consumers": 2, "consumer_index": 0} | given))


@pytest.mark.parametrize("given", [{"num_consumers": 2}, {"consumer_index": 0}])
def test_consumers_are_for_sharing(given):
    with pytest.raises(ValueError, match="num_consumers and consumer_index are for shared=True"):
        ps.Dataset.range(3).distribute(engine="local", num_workers=1, **given)


def test_workers_end_with_the_last_consumer(request):
    def begun(index):
        work = shared(ps.Dataset.counter(), 2, index, request.node.name)
        return iter(work.shard_evenly(2, index))

    before = set(threading.enumerate())  # other tests' workers may still exist

    def workers():
        others = set(threading.enumerate()) - before
        return [each for each in others if each.name.startswith("ps-distribute")]

    with begun(0) as first, begun(1) as second:
        next(first), next(second)
        assert len(workers()) == 2
    assert not workers()


def test_a_consumer_that_a_worker_error_has_ended_is_dropped(request, monkeypatch):
    def broken(self, order):
        raise OSError("no disk")

    monkeypatch.setattr("penstock.distribution.making.Maker.make", broken)

    def ended():
        it = iter(shared(ps.Dataset.range(9), 1, 0, request.node.name))
        with pytest.raises(ps.WorkerError, match="no disk"):
            next(it)
        return weakref.ref(it)

    of_iterator = ended()
    gc.collect()
    assert of_iterator() is None


@pytest.mark.parametrize("seed", range(4))
def test_whatever_consumers_do_each_gets_its_elements_once_in_order(seed, request):
    def pipeline(index):
        ds = ps.Dataset.range(150).shuffle(30).map(draw)
        work = shared(ds, 3, index, request.node.name, lease_timeout=0.3)
        return work.shard_evenly(3, index)

    whole = [shown(x) for x in ps.Dataset.range(150).shuffle(30).map(draw).shard_evenly(1, 0)]

    def consumer(index):
        does = random.Random(f"{seed} {index}")
        got, state = [], None
        while True:
            it = iter(pipeline(index))
            if state is not None:
                it.set_state(state)
            ends = does.random() < 0.4
            try:
                for _ in range(50 if ends else does.randrange(30)):
                    if (element := next(it, None)) is None:
                        return got
                    got.append(shown(element))
            except ValueError as error:  # all left together: then they should share one state
                if "restore one state in all" not in str(error):
                    raise
                continue  # the others stop waiting for it after a while
            if does.random() < 0.3:
                time.sleep(does.random())  # a slow step
            state = it.get_state()
            if does.random() < 0.5:
                it.close()
            del it

    assert in_threads([lambda i=i: consumer(i) for i in range(3)]) == [
        whole[i::3] for i in range(3)
    ]
