"""distribute(shared=True): what is made once for several consumers of this process."""

import collections
import threading

import pytest
from pipelines import draw, shown

import penstock as ps


class Counted:
    """A function that counts its calls by element."""

    def __init__(self):
        self.calls = collections.Counter()

    def __call__(self, x):
        self.calls[int(x)] += 1
        return draw(x)


def shared(ds, count, name, **more):
    how = {"engine": "local", "num_workers": 2, "split": 2, "shared": True} | more
    return ds.distribute(name=name, num_consumers=count, **how)


def in_threads(runs):
    """Call each in a thread of its own; return what they have returned."""
    results = [None] * len(runs)

    def run(number):
        try:
            results[number] = runs[number]()
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_has_its_share_and_all_is_made_once(count, request):
    function = Counted()

    def pipeline():  # a new one each time: a second pass over one dataset is another epoch
        return ps.Dataset.range(60).shuffle(20).map(function)

    alone = [shown(x) for x in pipeline().shard_evenly(1, 0)]
    function.calls.clear()

    def consumer(index):
        work = shared(pipeline(), count, request.node.name).shard_evenly(count, index)
        return [shown(x) for x in work]

    got = in_threads([lambda i=i: consumer(i) for i in range(count)])
    for index, own in enumerate(got):
        assert own == alone[index::count]
    assert set(function.calls.values()) == {1}


def test_epochs_are_shared_too(request):
    function = Counted()
    ds = ps.Dataset.range(30).shuffle(30).map(function)

    def consumer(index):
        work = shared(ds, 2, request.node.name).shard_evenly(2, index).batch(3)
        return [[shown(x) for x in work] for _ in range(3)]

    first, second = in_threads([lambda i=i: consumer(i) for i in range(2)])
    assert first[0] != first[1]
    assert [len(epoch) for epoch in first + second] == [5] * 6
    assert set(function.calls.values()) == {3}


def test_a_repeat_after_it_is_shared_too(request):
    function = Counted()
    ds = ps.Dataset.range(20).map(function)

    def consumer(index):
        work = shared(ds, 2, request.node.name).repeat(2).shard_evenly(2, index)
        return [int(x) for x, _ in work]

    first, second = in_threads([lambda i=i: consumer(i) for i in range(2)])
    assert first == [*range(0, 20, 2)] * 2
    assert second == [*range(1, 20, 2)] * 2
    assert set(function.calls.values()) == {2}


def test_consumers_may_take_the_whole_order(request):
    function = Counted()
    ds = ps.Dataset.range(40).map(function)

    def begun():
        ps.set_seed(3)  # as each of several processes would
        return iter(shared(ds, 2, request.node.name))

    its = [begun(), begun()]
    ps.set_seed(None)
    first, second = in_threads([lambda it=it: [shown(x) for x in it] for it in its])
    assert first == second
    assert len(first) == 40
    assert set(function.calls.values()) == {1}


def test_one_that_stops_early_holds_up_no_one(request):
    ds = ps.Dataset.range(300)

    def early():
        with iter(shared(ds, 2, request.node.name).shard_evenly(2, 0)) as it:
            return [int(next(it)) for _ in range(3)]

    def whole():
        return [int(x) for x in shared(ds, 2, request.node.name).shard_evenly(2, 1)]

    first, second = in_threads([early, whole])
    assert first == [0, 2, 4]
    assert second == list(range(1, 300, 2))


def test_a_dropped_consumer_holds_up_no_one(request):
    ds = ps.Dataset.range(300)

    def dropped():
        it = iter(shared(ds, 2, request.node.name).shard_evenly(2, 0))
        return int(next(it))

    def whole():
        return [int(x) for x in shared(ds, 2, request.node.name).shard_evenly(2, 1)]

    assert in_threads([dropped, whole]) == [0, list(range(1, 300, 2))]


def test_one_that_never_comes_is_waited_for_no_longer_than_the_timeout(request):
    work = shared(ps.Dataset.range(200), 2, request.node.name, lease_timeout=0.2)
    assert [int(x) for x in work.shard_evenly(2, 1)] == list(range(1, 200, 2))


def test_one_that_comes_late_makes_what_it_needs(request):
    function = Counted()
    ds = ps.Dataset.range(200).map(function)
    work = shared(ds, 1, request.node.name)
    with iter(work.shard_evenly(2, 0)) as first:
        got = [int(next(first)[0]) for _ in range(50)]
        late = [int(x) for x, _ in work.shard_evenly(2, 1)]
        got += [int(x) for x, _ in first]
    assert got == list(range(0, 200, 2))
    assert late == list(range(1, 200, 2))


def test_errors_come_to_all_at_their_places(request):
    def fails(x):
        if x % 7 == 3:
            raise KeyError(int(x))
        return x

    ds = ps.Dataset.range(40).map(fails)

    def consumer(index):
        it = iter(shared(ds, 2, request.node.name).shard_evenly(2, index))
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
    ds = ps.Dataset.range(48).shuffle(20).map(draw)
    whole = [shown(x) for x in ds.shard_evenly(1, 0)]

    def begin(index):
        it = iter(shared(ds, 2, request.node.name).shard_evenly(2, index).batch(3))
        first = [shown(next(it)) for _ in range(2)]
        state = it.get_state()
        it.close()
        return first, state

    (_, state), _ = in_threads([lambda i=i: begin(i) for i in range(2)])
    assert len(state) < 1024

    def go_on(index):
        it = iter(shared(ds, 3, request.node.name + "3").shard_evenly(3, index))
        it.set_state(of_elements)
        return [shown(x) for x in it]

    it = iter(ds.shard_evenly(4, 3).batch(5))
    it.set_state(state)
    numbers, draws = next(it)
    assert [*zip(numbers.tolist(), draws.tolist(), strict=True)] == whole[15:36:4][:5]
    with iter(shared(ds, 1, request.node.name + "1").shard_evenly(2, 1)) as it:
        for _ in range(6):
            next(it)
        of_elements = it.get_state()
    got = in_threads([lambda i=i: go_on(i) for i in range(3)])
    for index, own in enumerate(got):
        assert own == whole[12 + index :: 3]


def test_another_pipeline_under_the_name_is_refused(request):
    it = iter(shared(ps.Dataset.range(9), 2, request.node.name))
    with iter(shared(ps.Dataset.range(8), 2, request.node.name)) as other:
        first = threading.Thread(target=next, args=(it,))
        first.start()
        first.join()
        with pytest.raises(ValueError, match="is shared by consumers of another pipeline"):
            next(other)
    it.close()


def test_consumers_with_other_seeds_are_refused(request):
    work = shared(ps.Dataset.range(9).shuffle(9), 2, request.node.name)
    with iter(work) as first, iter(work) as second:
        next(first)
        with pytest.raises(ValueError, match="have all consumers draw from one seed"):
            next(second)


@pytest.mark.parametrize(
    "given",
    [{"name": None}, {"num_consumers": None}, {"deterministic": False}, {"num_consumers": 0}],
)
def test_what_sharing_needs_is_asked_for(given):
    how = {"engine": "local", "num_workers": 1, "shared": True, "name": "a", "num_consumers": 2}
    with pytest.raises(ValueError, match="distribute: "):
        ps.Dataset.range(3).distribute(**(how | given))


def test_the_number_of_consumers_is_for_sharing():
    with pytest.raises(ValueError, match="num_consumers is for shared=True, got 2"):
        ps.Dataset.range(3).distribute(engine="local", num_workers=1, num_consumers=2)


def test_workers_end_with_the_last_consumer(request):
    work = shared(ps.Dataset.counter(), 2, request.node.name)
    with iter(work.shard_evenly(2, 0)) as first, iter(work.shard_evenly(2, 1)) as second:
        next(first), next(second)
        assert [t for t in threading.enumerate() if t.name.startswith("ps-distribute")]
    assert not [t for t in threading.enumerate() if t.name.startswith("ps-distribute")]
