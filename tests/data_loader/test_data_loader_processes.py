"""ps.DataLoader with worker processes: parity with PyTorch's workers, and failures."""

import gc
import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import worker_datasets as sets

import penstock as ps
from compare import assert_same
from penstock.data_loader.in_worker import LoaderInWorker, Preparation
from penstock.workers import answering
from penstock.workers.parcels import packed_by_value
from scripts import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

PERSISTENT = [False, True]


def loader(dataset, batch_size=2, num_workers=2, **more):
    return ps.DataLoader(
        dataset, batch_size, num_workers=num_workers, worker_method="process", **more
    )


def first_leaf(batch):
    return np.atleast_2d(batch)[0].tolist()


def numbers(batches):
    return [np.asarray(batch).tolist() for batch in batches]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_batch_i_comes_from_worker_i_modulo_n(count):
    processes = set()
    for number, (i, worker, pid) in enumerate(loader(sets.Ones(), 2, count)):
        assert i.tolist() == [2 * number, 2 * number + 1]
        assert set(worker.tolist()) == {number % count}
        processes |= set(pid.tolist())
    assert len(processes) == count
    assert os.getpid() not in processes


def test_the_main_process_is_no_worker():
    assert ps.get_worker_info() is None


@pytest.mark.parametrize("options", [{"shuffle": True, "generator": 5}, {}, {"sampler": range(6)}])
def test_seeds_are_of_the_pass_and_of_the_worker(options):
    def passes():
        ps.random.set_seed(3)
        one = loader(sets.Drawn(), 3, **options)
        found = [list(one), list(one)]
        ps.random.set_seed(None)
        return found

    first, again = passes(), passes()
    for one, other in zip(first, again, strict=True):
        assert_same(list(map(tuple, one)), list(map(tuple, other)))
    seeds = {int(seed) for each in first for _, worker_seeds, *_ in each for seed in worker_seeds}
    assert len(seeds) == 4
    for draws in zip(*(batch[2:] for each in first for batch in each), strict=True):
        assert len(set(np.concatenate(draws).tolist())) == sum(len(d) for d in draws)


def test_no_more_is_drawn_than_for_threads():
    orders = []
    for method in ("thread", "process"):
        ps.random.set_seed(3)
        one = ps.DataLoader(range(9), 3, shuffle=True, num_workers=2, worker_method=method)
        orders.append([numbers(one), numbers(one), float(ps.random.uniform(()))])
    ps.random.set_seed(None)
    assert orders[0] == orders[1]


@pytest.mark.parametrize("persistent", PERSISTENT)
def test_persistent_workers_keep_their_dataset(persistent):
    one = loader(sets.Counted(), 3, persistent_workers=persistent)
    first = [given.tolist() for _, given in one]
    assert first == [[1, 2, 3], [1, 2, 3], [4, 5, 6], [4, 5, 6]]
    second = [given.tolist() for _, given in one]
    more = [[7, 8, 9], [7, 8, 9], [10, 11, 12], [10, 11, 12]]
    assert second == (more if persistent else first)


def test_other_workers_see_what_has_changed_between_the_passes():
    dataset = sets.Ones(4)
    one = loader(dataset)
    assert len(list(one)) == 2
    dataset.n = 8
    one = loader(dataset)
    assert len(list(one)) == 4


def test_processes_serve_pass_after_pass():
    first = {int(pid) for _, _, pids in loader(sets.Ones()) for pid in pids}
    second = {int(pid) for _, _, pids in loader(sets.Ones()) for pid in pids}
    assert first == second


@pytest.mark.parametrize("persistent", PERSISTENT)
def test_worker_init_fn_is_called_once_in_each_worker(persistent):
    one = loader(sets.Noted(), 2, worker_init_fn=sets.note, persistent_workers=persistent)
    for _ in range(2):
        assert [(n.tolist(), w.tolist()) for _, n, w in one] == [
            ([1, 1], [number % 2] * 2) for number in range(6)
        ]


@pytest.mark.parametrize("persistent", PERSISTENT)
def test_an_error_of_worker_init_fn_is_raised(persistent):
    one = loader(range(4), worker_init_fn=sets.refuse, persistent_workers=persistent)
    for _ in range(2):
        with pytest.raises(OSError, match="worker 0 is not ready") as error:
            next(iter(one))
        assert "in refuse" in str(error.value.__cause__)


def test_each_worker_reads_its_copy_of_an_iterable_dataset():
    found = [(i.tolist(), set(w.tolist())) for i, w in loader(sets.Stream(), 3)]
    batches = [[0, 1, 2], [3, 4, 5], [6]]
    assert found == [(batch, {worker}) for batch in batches for worker in (0, 1)]
    dropped = loader(sets.Stream(), 3, drop_last=True)
    assert [i.tolist() for i, _ in dropped] == [b for b in batches[:2] for _ in range(2)]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("persistent", PERSISTENT)
def test_workers_that_divide_a_dataset_give_each_number_once(count, persistent):
    one = loader(sets.Share(10), 2, count, persistent_workers=persistent)
    shares = [list(range(first, 10, count)) for first in range(count)]
    batches = [[share[i : i + 2] for i in range(0, len(share), 2)] for share in shares]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*batches))
    expected = [batch for batch in turns if batch]
    assert numbers(one) == expected
    assert numbers(one) == expected
    single = loader(sets.Share(10), None, count)
    assert sorted(numbers(single)) == list(range(10))


def test_out_of_order_the_first_made_comes_first(tmp_path):
    for count in (2, 3):
        file = tmp_path / f"go{count}"
        batches = iter(loader(sets.Sleeps(6, 0, file), 1, count, in_order=False))
        first = [int(next(batches)[0]) for _ in range(4)]
        assert 0 not in first
        file.touch()
        assert sorted(first + [int(b[0]) for b in batches]) == list(range(6))


def test_out_of_order_shares_of_a_stream_come_once():
    batches = numbers(loader(sets.Share(11), 2, 3, in_order=False))
    assert sorted(itertools.chain.from_iterable(batches)) == list(range(11))


def test_a_slow_batch_is_an_error_with_timeout(tmp_path):
    file = tmp_path / "go"
    dataset = sets.Sleeps(4, 1, file)
    batches = iter(loader(dataset, 1, timeout=20))
    assert next(batches).tolist() == [0]
    batches._timeout = 0.05
    with pytest.raises(RuntimeError, match=r"timed out after 0\.05 seconds: batch 1 "):
        next(batches)
    batches._timeout = 20
    file.touch()
    assert numbers(batches) == [[1], [2], [3]]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("kill", "is killed by signal: SIGKILL (9)"),
        ("exit", "has left with exit code 7"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}, {"prefetch_factor": 5}])
def test_a_worker_that_ends_is_an_error_of_the_batch_that_it_had(how, said, options):
    one = loader(sets.Ends(5, how), 2, **options)
    for _ in range(2):
        batches = iter(one)
        assert numbers(itertools.islice(batches, 2)) == [[0, 1], [2, 3]]
        with pytest.raises(ps.WorkerError) as error:
            next(batches)
        text = str(error.value)
        assert "DataLoader worker (pid " in text
        assert said in text
        assert text.endswith("while it made batch 2, of dataset[i] for i in [4, 5]")
        assert numbers(batches) == [[6, 7], [8, 9], [10, 11]]


@pytest.mark.parametrize("method", ["process", "thread"])
def test_a_dataset_that_leaves_the_program_does_so(method):
    batches = iter(ps.DataLoader(sets.Ends(5, "leave"), 2, num_workers=2, worker_method=method))
    assert numbers(itertools.islice(batches, 2)) == [[0, 1], [2, 3]]
    with pytest.raises(SystemExit) as left:
        next(batches)
    assert left.value.code == 3
    assert numbers(batches) == [[6, 7], [8, 9], [10, 11]]


def test_a_stream_goes_on_from_the_state_where_its_worker_has_ended(tmp_path):
    dataset = sets.EndsOnce(10, tmp_path / "ended")
    one = loader(dataset, 1)
    seen = []
    batches = iter(one)
    with pytest.raises(ps.WorkerError, match=r"DataLoader worker .* its next batch"):  # noqa: PT012
        for batch in batches:
            seen += batch.tolist()
    assert seen == [0, 1, 2, 3]
    assert list(batches) == []
    one.load_state_dict(one.state_dict())
    assert numbers(one) == [[4], [5], [6], [7], [8], [9]]


def test_workers_that_end_between_the_passes_are_replaced():
    for persistent in PERSISTENT:
        one = loader(sets.Ones(), 2, persistent_workers=persistent)
        pids = {int(pid) for _, _, pids in one for pid in pids}
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        again = {int(pid) for _, _, pids in one for pid in pids}
        assert len(again) == 2
        assert not pids & again


def test_an_exception_comes_with_the_lines_of_the_worker():
    batches = iter(loader(sets.Raises(), 2))
    assert numbers(itertools.islice(batches, 2)) == [[0, 1], [2, 3]]
    with pytest.raises(LookupError, match="row 5 is not there") as error:
        next(batches)
    assert error.value.__notes__ == ["DataLoader: raised by dataset[5]"]
    cause = str(error.value.__cause__)
    assert 'raise LookupError(f"row {i} is not there")' in cause
    assert "penstock" not in cause.replace("penstock: ", "")
    assert numbers(batches) == [[6, 7], [8, 9], [10, 11]]


def test_a_batch_that_cannot_be_pickled_is_an_error_of_its_own():
    batches = iter(loader(sets.Locked(4), None))
    assert next(batches) == 0
    with pytest.raises(TypeError, match=r"results that can be pickled.*lock"):
        next(batches)
    assert list(batches) == [2, 3]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dataset", {"dataset": [threading.Lock()]}),
        ("collate_fn", {"dataset": [1], "collate_fn": threading.Lock().acquire}),
        ("worker_init_fn", {"dataset": [1], "worker_init_fn": threading.Lock().acquire}),
    ],
)
def test_what_cannot_be_sent_is_named(name, options):
    one = loader(**options)
    with pytest.raises(TypeError, match=f"sends {name} to other processes.*cannot be pickled"):
        iter(one)


def test_lambdas_and_local_classes_go_with_cloudpickle():
    offset = 40

    class Local:
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return i + offset

    found = loader(Local(), 2, collate_fn=lambda rows: [row + 1 for row in rows])
    assert list(found) == [[41, 42], [43, 44]]


def test_objects_of_local_classes_come_back_as_theirs():
    class Box:
        def __init__(self, inside):
            self.inside = inside

    class Boxes:
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return Box(i)

    found = list(loader(Boxes(), 2, collate_fn=list))
    assert [box.inside for batch in found for box in batch] == [0, 1, 2, 3]
    assert {type(box) for batch in found for box in batch} == {Box}


def test_arrays_keep_their_values_however_long_they_are_kept():
    for options in ({}, {"persistent_workers": True}, {"collate_fn": list}):
        one = loader(sets.Large(12), 2, **options)
        kept = [list(one), list(one)]
        wanted = list(ps.DataLoader(sets.Large(12), 2, collate_fn=options.get("collate_fn")))
        gc.collect()
        if options.get("collate_fn"):
            kept = [[row["x"] for batch in each for row in batch] for each in kept]
            wanted = [row["x"] for batch in wanted for row in batch]
        assert_same(kept[0], wanted)
        assert_same(kept[1], wanted)
    array = kept[0][0]
    array[:] = 0  # it belongs to the caller
    assert not array.any()


def test_memory_is_used_again():
    one = loader(sets.Large(300), 4, persistent_workers=True)

    def mapped():
        return Path("/proc/self/maps").read_text().count("memfd:penstock")

    list(itertools.islice(one, 30))
    before = mapped()
    for _ in range(3):
        for _ in one:
            pass
    assert mapped() < before + 20


def test_each_worker_changes_its_copy_of_an_array_alone():
    dataset = sets.Table()
    found = [row for batch in loader(dataset, 1) for row in zip(*batch, strict=True)]
    firsts = [first for first, _ in found]
    assert firsts == [i * 40_000 for i in range(12)]
    assert [changed for _, changed in found] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert dataset.rows[0, 1] == 1


LOADERS = {
    "in order": lambda **more: ps.DataLoader(range(11), 3, **more),
    "shuffled": lambda **more: ps.DataLoader(range(11), 3, shuffle=True, generator=5, **more),
    "sampler": lambda **more: ps.DataLoader(range(11), 3, sampler=list(range(3, 11)), **more),
    "batches": lambda **more: ps.DataLoader(
        range(9), batch_sampler=[[1], [2, 3], [], [4]], collate_fn=list, **more
    ),
}
METHODS = [
    {},
    {"num_workers": 2},
    {"num_workers": 2, "worker_method": "process"},
    {"num_workers": 3, "worker_method": "process", "persistent_workers": True},
]


PAIRS = [
    pair
    for pair in itertools.product(METHODS, repeat=2)
    if any(method.get("worker_method") == "process" for method in pair)
]


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize(("goer", "saver"), PAIRS, ids=repr)
def test_a_pass_goes_on_from_every_batch_with_other_workers(name, saver, goer):
    make = LOADERS[name]
    for taken in range(6):
        first = make(**saver)
        batches = iter(first)
        list(itertools.islice(batches, taken))
        state = pickle.loads(pickle.dumps(first.state_dict()))
        rest = numbers(batches)
        behind = numbers(first)
        second = make(**goer)
        second.load_state_dict(state)
        if taken <= len(first):
            assert numbers(second) == rest
        assert numbers(second) == behind


@pytest.mark.parametrize("persistent", PERSISTENT)
@pytest.mark.parametrize("make", [lambda: sets.Share(23), lambda: sets.KeptShare(23)])
def test_a_stream_goes_on_from_every_batch(make, persistent):
    for taken in range(12):
        first = loader(make(), 3, 3, persistent_workers=persistent)
        batches = iter(first)
        list(itertools.islice(batches, taken))
        state = pickle.loads(pickle.dumps(first.state_dict()))
        rest = list(map(first_leaf, batches))
        second = loader(make(), 3, 3)
        second.load_state_dict(state)
        behind = list(map(first_leaf, loader(make(), 3, 3)))
        assert list(map(first_leaf, second)) == (rest if taken <= len(behind) else behind)


def test_a_stream_that_keeps_its_place_is_not_read_again():
    first = loader(sets.KeptShare(24), 3)
    batches = iter(first)
    for _ in range(4):
        next(batches)
    second = loader(sets.KeptShare(24), 3)
    second.load_state_dict(first.state_dict())
    assert [read.tolist() for _, read in second] == [[1, 2, 3], [1, 2, 3], [4, 5, 6], [4, 5, 6]]


def test_states_of_streams_are_of_so_many_readers():
    first = loader(sets.Share(20), 2)
    batches = iter(first)
    next(batches)
    state = first.state_dict()
    other = loader(sets.Share(20), 2, 3)
    other.load_state_dict(state)
    with pytest.raises(ps.StateError, match=r"a state of 3 worker processes .* got one of 2"):
        iter(other)
    threads = ps.DataLoader(sets.Share(20), 2)
    threads.load_state_dict(state)
    with pytest.raises(ps.StateError, match="pass worker_method='process' and num_workers=2"):
        next(iter(threads))
    one = ps.DataLoader(sets.Share(20), 2)
    next(iter(one))
    first.load_state_dict(one.state_dict())
    with pytest.raises(ps.StateError, match=r"a state of 2 worker processes .* got one of threads"):
        iter(first)


def test_batches_out_of_order_come_once(tmp_path):
    file = tmp_path / "go"
    first = loader(sets.Sleeps(8, 1, file), 1, in_order=False)
    batches = iter(first)
    seen = [int(next(batches)[0]) for _ in range(3)]
    state = first.state_dict()
    file.touch()
    assert 1 not in seen
    for more in ({}, {"num_workers": 2}, {"num_workers": 2, "worker_method": "process"}):
        second = ps.DataLoader(sets.Sleeps(8, 1, file), 1, **more)
        second.load_state_dict(state)
        assert sorted(seen + [int(b[0]) for b in second]) == list(range(8))


def test_batches_ahead_are_limited():
    for factor, most in ((None, 4), (1, 2), (6, 12), (1000, 128)):
        given = Counter()

        def endless():
            for i in itertools.count():
                given["all"] += 1  # noqa: B023
                yield i % 10

        one = loader(range(10), 1, sampler=endless(), prefetch_factor=factor)
        with iter(one) as batches:
            for _ in range(20):
                next(batches)
            assert given["all"] == 20 + most


@pytest.mark.parametrize("persistent", PERSISTENT)
def test_a_pass_that_is_left_leaves_its_workers_to_the_next(persistent):
    one = loader(sets.Ones(1000), 1, persistent_workers=persistent)
    for _ in range(3):
        batches = iter(one)
        assert next(batches)[0].tolist() == [0]
        batches.close()
        assert list(batches) == []
    for i, _, _ in one:
        assert i.tolist() == [0]
        break
    del batches
    gc.collect()
    assert [i.tolist() for i, _, _ in itertools.islice(one, 3)] == [[0], [1], [2]]


@pytest.mark.parametrize("method", ["process", "thread"])
def test_without_order_a_slow_worker_does_not_hold_back_another_share(tmp_path, method):
    file = tmp_path / "file"
    stream = sets.SleepingShare(20, file)
    one = ps.DataLoader(stream, 1, num_workers=2, in_order=False, worker_method=method, timeout=20)
    batches = iter(one)
    assert numbers(itertools.islice(batches, 10)) == [[i] for i in range(0, 20, 2)]
    file.touch()
    assert numbers(batches) == [[i] for i in range(1, 20, 2)]


@pytest.mark.parametrize("persistent", PERSISTENT)
@pytest.mark.parametrize("taken", [0, 1])
def test_an_abandoned_pass_over_a_stream_leaves_its_workers_to_the_next(persistent, taken):
    end_idle()
    one = loader(sets.Share(100), 1, persistent_workers=persistent)
    batches = iter(one)
    for _ in range(taken):
        next(batches)
    pids = {member.process.pid for member in batches._members}
    del batches
    gc.collect()
    assert len(answering._idle) == (0 if persistent or not taken else 2)
    with iter(one) as later:
        next(later)
        assert {member.process.pid for member in later._members} == pids


def test_the_state_of_a_pass_that_is_not_kept_has_the_states_of_its_copies():
    one = loader(sets.KeptShare(10), 1, num_workers=2)
    iter(one)
    each = one.state_dict()["_snapshot"]["_worker_snapshots"]
    assert [state["dataset_state"] for state in each.values()] == [{"at": None}, {"at": None}]


def test_a_worker_loads_its_object_although_the_first_series_of_requests_was_abandoned():
    process = answering.AnsweringProcess()
    os.kill(process.pid, signal.SIGSTOP)
    dataset = LoaderInWorker(ps.DataLoader([3, 4, 5], 2))
    process.load(answering.ObjectFile(packed_by_value(dataset)), Preparation(0, 1, 0))
    process.renew()
    process.ask(0, [0, 2])
    os.kill(process.pid, signal.SIGCONT)
    answers = {}
    while 0 not in answers:
        number, answers[number] = process.receive()
        process.received()
    assert answers[0].batch.tolist() == [3, 5]
    process.kill()


@pytest.mark.parametrize("persistent", PERSISTENT)
def test_two_passes_at_once_do_not_meet(persistent):
    one = loader(sets.Ones(8), 2, persistent_workers=persistent)
    pairs = [(a[0].tolist(), b[0].tolist()) for a, b in zip(one, one, strict=True)]
    assert pairs == [([i, i + 1], [i, i + 1]) for i in range(0, 8, 2)]


def test_a_hung_worker_does_not_stop_the_next_pass(tmp_path):
    batches = iter(loader(sets.Sleeps(4, 0, tmp_path / "never"), 1))
    batches.close()
    assert numbers(loader(range(4), 2)) == [[0, 1], [2, 3]]


def test_a_worker_that_is_still_starting_serves_the_next_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(answering, "_UNFINISHED", 0.0)
    end_idle()
    begun, file = tmp_path / "begun", tmp_path / "file"
    one = loader(sets.Opens(2, begun, file), 1, num_workers=1)
    first = iter(one)
    (member,) = first._members
    wait_until(begun.exists)
    first.close()
    assert len(answering._idle) == 1

    def let_it_start():
        wait_until(lambda: not answering._idle)
        monkeypatch.setattr(answering, "_UNFINISHED", 60.0)
        file.touch()

    thread = threading.Thread(target=let_it_start)
    thread.start()
    pids = {int(pid) for _, _, pids in one for pid in pids}
    thread.join()
    assert pids == {member.process.pid}


def test_a_free_worker_is_used_rather_than_one_that_is_still_starting(tmp_path):
    end_idle()
    begun, file = tmp_path / "begun", tmp_path / "file"
    starting = iter(loader(sets.Opens(2, begun, file), 1, num_workers=1))
    list(loader(sets.Ones(2), 1, num_workers=1))
    (free,) = answering._idle
    wait_until(begun.exists)
    starting.close()  # so it would be reused first
    process, used = answering.take()
    file.touch()
    assert (process, used) == (free, True)
    process.give_back()


def test_a_persistent_worker_that_is_busy_keeps_its_dataset(tmp_path, monkeypatch):
    monkeypatch.setattr(answering, "_UNFINISHED", 0.0)
    file = tmp_path / "file"
    one = loader(sets.Sleeps(4, 2, file), 1, num_workers=1, persistent_workers=True)
    first = iter(one)
    assert next(first).tolist() == [0]
    pid = one._team.members[0].process.pid
    first.close()
    renew = answering.AnsweringProcess.renew

    def renew_and_go_on(process):
        renew(process)
        file.touch()

    monkeypatch.setattr(answering.AnsweringProcess, "renew", renew_and_go_on)
    assert [batch.tolist() for batch in one] == [[0], [1], [2], [3]]
    assert one._team.members[0].process.pid == pid


def end_idle():
    """Stop the idle workers of other tests."""
    gc.collect()  # a pass without a batch is in a reference cycle
    while answering._idle:
        answering._idle.pop().kill()


def test_idle_workers_keep_no_dataset():
    end_idle()
    list(loader(sets.Table(), 1))
    wait_until(lambda: all(each.finishes() for each in answering._idle))
    for process in answering._idle:
        maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
        ranges = [line.split()[0].split("-") for line in maps if "memfd:penstock" in line]
        assert ranges  # the heaps
        assert max(int(last, 16) - int(first, 16) for first, last in ranges) < 12 * 40_000 * 8


def test_a_worker_is_used_by_one_thread_at_a_time():
    process, _ = answering.take()
    ended = threading.Thread(target=process.receive)  # no request was sent
    ended.start()

    def is_refused(use):
        try:
            use()
        except ps.WorkerError as error:
            return "used by one thread at a time" in str(error)
        return False

    wait_until(lambda: is_refused(process.fileno))
    for use in (process.receive, process.finishes, process.renew, process.kill):
        assert is_refused(use)
    os.kill(process.pid, signal.SIGKILL)
    ended.join(60)
    assert not ended.is_alive()


def test_a_worker_has_no_workers_of_its_own():
    with pytest.raises(RuntimeError, match="was asked for by a worker process"):
        next(iter(loader(sets.Nested())))


def test_a_multiprocessing_context_makes_workers_processes():
    spawn, fork = (multiprocessing.get_context(method) for method in ("spawn", "fork"))
    for context in ("spawn", "forkserver", "fork", spawn, fork):
        one = ps.DataLoader(sets.Ones(4), 2, num_workers=1, multiprocessing_context=context)
        assert one.worker_method == "process"
        assert all(os.getpid() not in pids for _, _, pids in one)
    for context, kind in [("bad", ValueError), (object(), TypeError)]:
        with pytest.raises(kind, match="must be one of fork, forkserver, spawn, or a context"):
            loader(range(4), multiprocessing_context=context)
    with pytest.raises(ValueError, match="needs num_workers > 0"):
        ps.DataLoader(range(4), multiprocessing_context="spawn")


def test_spawn_starts_new_interpreters_and_the_other_methods_fork_from_the_server():
    pids = {}
    for method in ("forkserver", "spawn", "fork"):
        for context in (method, multiprocessing.get_context(method)):
            one = ps.DataLoader(sets.Started(4), 2, num_workers=1, multiprocessing_context=context)
            for _, forked, made_by in one:
                assert forked.tolist() == [method != "spawn"] * 2
                pids.setdefault(method, set()).update(made_by.tolist())
    assert not pids["spawn"] & (pids["fork"] | pids["forkserver"])


def test_a_worker_that_replaces_a_spawned_one_is_spawned_too():
    dataset = sets.Started(3, ends=[0])
    batches = iter(ps.DataLoader(dataset, 1, num_workers=1, multiprocessing_context="spawn"))
    with pytest.raises(ps.WorkerError, match="exit code 3"):
        next(batches)
    assert [forked.tolist() for _, forked, _ in batches] == [[False], [False]]


@pytest.mark.parametrize("method", ["thread", "process"])
def test_more_workers_than_cores_warn(method):
    cores = len(os.sched_getaffinity(0))
    with pytest.warns(UserWarning, match=f"and {cores} CPU cores are available") as seen:
        ps.DataLoader(range(4), num_workers=cores + 1, worker_method=method)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ps.DataLoader(range(4), num_workers=cores, worker_method=method)


def test_wrong_methods_say_what_was_expected():
    with pytest.raises(ValueError, match="worker_method must be 'thread' or 'process', got 'fork'"):
        ps.DataLoader(range(4), num_workers=1, worker_method="fork")
    with pytest.raises(ValueError, match="executor='process' to its map"):
        loader(ps.Dataset.range(4))
    assert len(ps.DataLoader(ps.Dataset.range(4), worker_method="process")) == 4


def test_debug_mode_runs_everything_here():
    class Here:
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return os.getpid()

    with ps.experimental.debug_mode():
        assert numbers(loader(Here())) == [[os.getpid()] * 2] * 2


def test_a_memory_mapped_file_is_mapped_by_each_worker(tmp_path):
    file = tmp_path / "rows"
    expected = np.arange(100_000, dtype=np.float32)
    expected.tofile(file)
    made = list(loader(sets.OfFile(file), 10))
    assert np.array_equal(np.concatenate([rows for rows, _, _ in made]), expected.reshape(-1, 1000))
    assert all(np.all(mapped) for _, mapped, _ in made)
    assert len({int(pid) for _, _, pids in made for pid in pids} - {os.getpid()}) == 2
