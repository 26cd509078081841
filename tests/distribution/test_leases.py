"""Leases under a simulated clock: kills, delays, duplicates, partitions, joins and leaves."""

import heapq
import os
import random

import pytest

from penstock.distribution.leases import Lease, Leases, LostTooOften, Result

SCHEDULES = int(os.environ.get("PENSTOCK_SCHEDULES", "20000"))
TIMEOUT = 5.0


class Simulation:
    """Workers that fail in every way, and a network that loses, delays and repeats messages.

    Everything is derived from the seed: the same seed produces the same schedule.
    """

    def __init__(self, seed, ordered):
        self.draw = random.Random(seed)
        self.length = self.draw.randrange(0, 24)
        self.leases = Leases(self.draw.randrange(1, 7), TIMEOUT, most_lost=10**6, ordered=ordered)
        self.now = 0.0
        self.events = []
        self.count = 0
        self.workers = set()
        self.born = 0
        self.faults = self.draw.randrange(0, 12)
        self.delivered = []

    def at(self, delay, event, *about):
        self.count += 1
        heapq.heappush(self.events, (self.now + delay, self.count, event, about))

    def join(self):
        self.born += 1
        self.workers.add(self.born)
        self.at(0.0, "ask", self.born)

    def run(self):
        for _ in range(self.draw.randrange(1, 4)):
            self.join()
        steps = 0
        while not self.leases.over():
            steps += 1
            assert steps < 5000, "the leases do not end"
            if not self.events:
                self.join()
            self.now, _, event, about = heapq.heappop(self.events)
            getattr(self, event)(*about)
            if self.draw.random() < 0.8:
                self.consume()
        return self.delivered

    def ask(self, worker):
        if worker not in self.workers:
            return
        lease = self.leases.deal(worker, self.draw.randrange(1, 5), self.now)
        if lease is None:
            self.at(0.5, "ask", worker)
            return
        seconds = self.draw.random()
        fault = self.draw.random() if self.faults > 0 else 1.0
        if fault < 0.7:
            self.faults -= 1
        if fault < 0.15:  # killed: it stays silent, which is detected a little later
            self.at(seconds, "die", worker)
        elif fault < 0.25:  # it dies after sending an answer that has not arrived
            self.at(seconds + 1.0, "answer", worker, lease)
            self.at(seconds, "die", worker)
        elif fault < 0.4:  # a partition: longer than the timeout, then the answer arrives anyway
            self.at(seconds + 2 * TIMEOUT, "answer", worker, lease)
            self.at(seconds + 2 * TIMEOUT, "ask", worker)
        elif fault < 0.5:  # the answer arrives twice
            self.at(seconds, "answer", worker, lease)
            self.at(2 * seconds, "answer", worker, lease)
            self.at(seconds, "ask", worker)
        elif fault < 0.6:  # it leaves and announces it; another one joins
            self.at(seconds, "leave", worker)
        elif fault < 0.7:  # the answer is lost, the worker continues
            self.at(seconds, "ask", worker)
        else:
            self.at(seconds, "answer", worker, lease)
            self.at(seconds, "ask", worker)

    def answer(self, worker, lease):
        made = range(min(lease.first, self.length), min(lease.last, self.length))
        result = Result(lease, len(made), lease.last > self.length, list(made))
        self.leases.done(result)

    def die(self, worker):
        self.workers.discard(worker)
        self.leases.lost(worker, "killed")
        self.join()

    def leave(self, worker):
        self.workers.discard(worker)
        self.leases.returned(worker)
        self.at(self.draw.random(), "come")

    def come(self):
        self.join()

    def consume(self):
        while (result := self.leases.take()) is not None:
            self.delivered += result.payload


@pytest.mark.parametrize("part", range(10))
def test_no_schedule_loses_or_repeats_an_element(part):
    each = SCHEDULES // 10
    for seed in range(part * each, (part + 1) * each):
        simulation = Simulation(seed, ordered=seed % 2 == 0)
        delivered = simulation.run()
        simulation.consume()
        expected = list(range(simulation.length))
        assert (delivered if seed % 2 == 0 else sorted(delivered)) == expected, f"seed {seed}"


def result_of(lease, ended=False):
    return Result(lease, lease.last - lease.first, ended, lease.number)


def test_results_are_taken_in_order_and_once():
    leases = Leases(4, TIMEOUT)
    first, second = (leases.deal("a", 2, 0.0) for _ in range(2))
    assert (first, second) == (Lease(0, 0, 2), Lease(1, 2, 4))
    assert leases.done(result_of(second))
    assert leases.take() is None
    assert leases.done(result_of(first))
    assert not leases.done(result_of(first))
    assert [leases.take().payload for _ in range(2)] == [0, 1]


def test_no_more_are_dealt_than_the_window_has():
    leases = Leases(2, TIMEOUT)
    held = [leases.deal("a", 1, 0.0) for _ in range(3)]
    assert held[2] is None
    leases.done(result_of(held[0]))
    assert leases.deal("a", 1, 0.0) is None  # it was not taken
    leases.take()
    assert leases.deal("a", 1, 0.0) == Lease(2, 2, 3)


def test_what_a_worker_loses_goes_to_another_first():
    leases = Leases(8, TIMEOUT)
    for _ in range(2):
        leases.deal("a", 1, 0.0)
    leases.deal("b", 1, 0.0)
    leases.lost("a", "killed")
    assert [leases.deal("b", 1, 0.0).number for _ in range(3)] == [0, 1, 3]


def test_a_late_lease_is_dealt_to_one_more_worker():
    leases = Leases(1, TIMEOUT)
    lease = leases.deal("a", 1, 0.0)
    assert leases.deal("b", 1, TIMEOUT - 1) is None
    assert leases.deal("a", 1, TIMEOUT) is None
    assert leases.deal("b", 1, TIMEOUT) == lease
    assert leases.deal("c", 1, 1.5 * TIMEOUT) is None


def test_a_worker_is_given_again_what_it_seems_to_have_forgotten():
    leases = Leases(1, TIMEOUT)
    lease = leases.deal("a", 1, 0.0)
    assert leases.deal("a", 1, 3 * TIMEOUT) is None
    assert leases.deal("a", 1, 4 * TIMEOUT) == lease


def test_a_lease_that_is_lost_too_often_is_an_error():
    leases = Leases(1, TIMEOUT, most_lost=2)
    for worker in "ab":
        leases.deal(worker, 3, 0.0)
        leases.lost(worker, "killed")
    leases.deal("c", 3, 0.0)
    with pytest.raises(LostTooOften) as error:
        leases.lost("c", "killed by signal 9")
    assert error.value.args == (Lease(0, 0, 3), 3, "killed by signal 9")


def test_a_lease_that_waited_for_its_turn_was_not_lost():
    leases = Leases(2, TIMEOUT, most_lost=1)
    for now, worker in enumerate("ab"):
        assert [leases.deal(worker, 3, float(now)).number for _ in range(2)] == [0, 1]
        if worker == "a":
            leases.lost(worker, "killed")
    leases.done(Result(Lease(0, 0, 3), 3, False, None))
    leases.lost("b", "killed")
    assert leases.deal("c", 3, 2.0).number == 1
    with pytest.raises(LostTooOften) as error:
        leases.lost("c", "killed")
    assert error.value.args == (Lease(1, 3, 6), 2, "killed")


def test_ranges_that_were_delivered_before_are_not_dealt():
    leases = Leases(9, TIMEOUT, done=[(6, 9), (2, 4), (4, 5)])
    dealt = [leases.deal("a", 4, 0.0) for _ in range(4)]
    assert [(lease.first, lease.last) for lease in dealt] == [(0, 2), (5, 6), (9, 13), (13, 17)]


def test_nothing_is_dealt_after_the_end():
    leases = Leases(4, TIMEOUT)
    dealt = [leases.deal("a", 2, 0.0) for _ in range(4)]
    leases.done(Result(dealt[3], 0, True, None))
    leases.done(Result(dealt[1], 1, True, None))
    assert leases.deal("a", 2, 0.0) is None
    leases.done(result_of(dealt[0]))
    assert [leases.take().count for _ in range(2)] == [2, 1]
    assert leases.over()
