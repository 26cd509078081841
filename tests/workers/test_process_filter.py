"""filter with executor="process": the results of threads, and processes that die."""

import os
import signal
import sys
import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps
from penstock import _core

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

CALLS = [None, 2]


def numbers():
    return ps.Dataset.range(12)


def third(x):
    return x % 3 == 0


class TestInProcesses(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.filter(
            third, num_parallel_calls=num_parallel_calls, executor="process"
        )
    )
    expected = [0, 3, 6, 9]


def parent(x, pid):
    return os.getpid() == pid


@pytest.mark.parametrize("calls", CALLS)
def test_other_processes_call_the_predicate(calls):
    ds = numbers().map(lambda x: (x, os.getpid()))
    assert list(ds.filter(parent, num_parallel_calls=calls, executor="process")) == []
    assert len(list(ds.filter(parent, num_parallel_calls=calls))) == 12


def big(image, number):
    return image.sum() % 2 == 0


@pytest.mark.parametrize("calls", CALLS)
def test_elements_stay_as_they_are(calls):
    ds = numbers().map(lambda x: (np.full((50, 61), x), f"{x}"))
    wanted = list(ds.filter(big))
    assert_same(list(ds.filter(big, num_parallel_calls=calls, executor="process")), wanted)


def drawn(x, rng):
    return (rng.integers(2) == 1) != (ps.random.uniform(()) > 0.5)


@pytest.mark.parametrize("calls", CALLS)
def test_random_draws_are_those_of_threads(calls):
    def kept(**options):
        ps.random.set_seed(5)
        return list(ps.Dataset.range(64).filter(drawn, **options))

    assert_same(kept(num_parallel_calls=calls, executor="process"), kept())


def wrong(x):
    if x == 4:
        raise Boom(f"at {x}")
    return x if x == 6 else True


@pytest.mark.parametrize("calls", CALLS)
def test_errors_are_those_of_threads(calls):
    wanted = steps(iter(numbers().filter(wrong)))
    ds = numbers().filter(wrong, num_parallel_calls=calls, executor="process")
    assert steps(iter(ds)) == wanted
    assert "filter: the predicate must return one bool, got" in wanted[6].text
    with pytest.raises(Boom) as caught:
        list(ds)
    assert caught.value.__notes__ == ["penstock: in stage filter(wrong), element 4 (4)"]
    assert 'raise Boom(f"at {x}")' in str(caught.value.__cause__)
    skipped = numbers().filter(wrong, num_parallel_calls=calls, executor="process", on_error="skip")
    assert [int(x) for x in skipped] == [0, 1, 2, 3, 5, 7, 8, 9, 10, 11]


def ends(x):
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x % 2 == 0


@pytest.mark.parametrize("calls", CALLS)
def test_a_worker_that_ends_is_an_error_of_the_element_that_it_had(calls):
    found = steps(iter(numbers().filter(ends, num_parallel_calls=calls, executor="process")))
    assert isinstance(found[2], Failure)
    assert found[2].kind == "WorkerError"
    assert "filter: worker process" in found[2].text
    assert_same(found[:2] + found[3:], [0, 2, 4, 6, 8, 10])


@pytest.mark.parametrize("calls", CALLS)
def test_a_state_of_threads_goes_on_in_processes(calls):
    it = iter(numbers().filter(third))
    head = [int(next(it)) for _ in range(2)]
    other = iter(numbers().filter(third, num_parallel_calls=calls, executor="process"))
    other.set_state(it.get_state())
    assert head + [int(x) for x in other] == [0, 3, 6, 9]


def test_native_predicates_need_no_process():
    before = set(_core.idle_workers())
    assert_same(list(numbers().filter(ps.native(third), executor="process")), [0, 3, 6, 9])
    assert set(_core.idle_workers()) == before


def test_what_cannot_be_sent_is_refused_by_name():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="filter: executor='process' sends the function to other"):
        numbers().filter(lambda x: lock and x, executor="process")
