"""Assignment of a shared job's elements, under a simulated clock: deaths, pauses, joins, ends."""

import heapq
import os
import random

import pytest

from penstock.distribution.shared import SharedPass

SCHEDULES = int(os.environ.get("PENSTOCK_SCHEDULES", "20000")) // 5
TIMEOUT = 10.0
END = -1


class Simulation:
    """Consumers that fail in every way; those dropped from a pass begin another at their position.

    Everything is derived from the seed: the same seed produces the same schedule. A pass has a
    result for each element.
    """

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.length = self.draw.randrange(0, 30)
        self.window = self.draw.randrange(1, 6)
        self.count = self.draw.randrange(1, 5)
        self.faults = self.draw.randrange(0, 6)
        self.now = 0.0
        self.events = []
        self.number = 0
        self.passes = []  # where each begins
        self.made = {}  # number of times that each pass made each element
        self.of = {}  # maps consumers to their pass and its beginning
        self.got = {}
        self.ended = set()

    def at(self, delay, event, *about):
        self.number += 1
        heapq.heappush(self.events, (self.now + delay, self.number, event, about))

    def run(self):
        for consumer in range(self.count):
            self.got[consumer] = []
            late = self.draw.random() < 0.1 and self.faults > 0
            self.at(3 * TIMEOUT if late else self.draw.random(), "join", consumer)
        steps = 0
        while self.events:
            steps += 1
            assert steps < 20_000, "the consumers do not end"
            self.now, _, event, about = heapq.heappop(self.events)
            getattr(self, event)(*about)
        return self.ended

    def join(self, consumer, lost=False):
        begin = len(self.got[consumer])
        found = [made for made, at in self.passes if at == begin and not lost]
        made = next((made for made in found if made.join(consumer, self.now)), None)
        if made is None:
            made = SharedPass([consumer] if lost else range(self.count), self.window, TIMEOUT)
            assert made.join(consumer, self.now)
            self.made[made] = [0] * self.length
            if not lost:
                self.passes.append((made, begin))
        self.of[consumer] = made, begin
        self.at(0.0, "take", consumer)

    def take(self, consumer):
        made, begin = self.of[consumer]
        while made.room() and self.draw.random() < 0.7:
            self.make(made, begin)
        made.expire(self.now)
        found = made.take(consumer, len(self.got[consumer]) - begin, self.now)
        assert len(made._kept) <= self.window
        if found is False:
            self.join(consumer, lost=True)
        elif found is True:
            made.leave(consumer, self.now)
            self.ended.add(consumer)
        else:
            if found is not None:
                self.got[consumer].append(found[0])
            self.at(self.pause(consumer, made), "take", consumer)

    def make(self, made, begin):
        element = begin + made._made
        if element >= self.length:
            made.end()
            return
        self.made[made][element] += 1
        made.add(element)

    def pause(self, consumer, made):
        fault = self.draw.random() if self.faults > 0 else 1.0
        if fault < 0.1:
            self.faults -= 1
        if fault < 0.03:  # a partition, or a very long step without a message
            return 2 * TIMEOUT
        if fault < 0.06:  # it dies, and is restarted from an earlier state
            back = self.draw.randrange(len(self.got[consumer]) + 1)
            del self.got[consumer][back:]
            self.at(self.draw.random() * 3 * TIMEOUT, "join", consumer)
            return self.never(consumer)
        if fault < 0.08:  # it dies, and is not restarted
            return self.never(consumer)
        if fault < 0.1:  # it stops early
            made.leave(consumer, self.now)
            return self.never(consumer)
        return self.draw.random()

    def never(self, consumer):
        self.at(float("inf"), "nothing", consumer)
        return float("inf")

    def nothing(self, consumer):
        self.events.clear()  # all remaining elements belong to consumers that are gone


@pytest.mark.parametrize("part", range(5))
def test_every_consumer_gets_every_element_once_in_order(part):
    for seed in range(part * (SCHEDULES // 5), (part + 1) * (SCHEDULES // 5)):
        simulation = Simulation(seed)
        ended = simulation.run()
        for consumer, got in simulation.got.items():
            wanted = list(range(simulation.length if consumer in ended else len(got)))
            assert got == wanted, f"seed {seed}, consumer {consumer}"
        assert all(max(made, default=0) <= 1 for made in simulation.made.values()), f"seed {seed}"


def test_without_faults_all_is_made_once():
    for seed in range(200):
        simulation = Simulation(seed)
        simulation.faults = 0
        assert simulation.run() == set(range(simulation.count))
        assert len(simulation.passes) == 1


def test_nothing_is_let_go_of_before_all_have_joined():
    shared = SharedPass(range(2), 3, TIMEOUT)
    assert shared.join(0, 0.0)
    for i in range(3):
        assert shared.room()
        shared.add(i)
        assert shared.take(0, i, 0.0) == (i,)
    assert not shared.room()
    assert shared.waits()
    assert shared.join(1, 1.0)
    assert not shared.join(2, 1.0)
    for number in range(2):
        assert shared.take(1, number, 1.0) == (number,)
    assert shared.room()
    assert shared.take(1, 1, 1.0) == (1,)  # an interrupt arrived before it received the element


def test_those_who_never_join_are_waited_for_no_longer_than_the_timeout():
    shared = SharedPass(range(2), 1, TIMEOUT)
    shared.join(0, 0.0)
    shared.add(0)
    assert shared.take(0, 0, 0.0) == (0,)
    assert shared.take(0, 1, 0.0) is None
    assert shared.take(0, 1, TIMEOUT - 0.1) is None
    assert not shared.room()
    assert shared.take(0, 1, TIMEOUT) is None
    assert shared.room()
    assert not shared.join(1, TIMEOUT)


def test_a_dead_consumer_holds_up_no_one():
    shared = SharedPass(range(2), 1, TIMEOUT)
    shared.join(0, 0.0)
    shared.join(1, 0.0)
    shared.add(0)
    assert shared.take(0, 0, 0.0) == (0,)
    assert shared.take(0, 1, 0.0) is None
    assert not shared.room()
    shared.alive(0, TIMEOUT)
    shared.expire(TIMEOUT)
    assert shared.room()
    assert shared.take(1, 0, TIMEOUT) is False
    shared.leave(0, TIMEOUT)
    assert shared.over(TIMEOUT)


def test_a_pass_waits_for_those_who_are_still_to_join_though_the_others_have_left():
    shared = SharedPass(range(2), 4, TIMEOUT)
    assert shared.join(0, 0.0)
    shared.leave(0, 1.0)
    assert not shared.over(1.0)
    assert shared.join(1, 1.0)
    shared.leave(1, 1.0)
    assert shared.over(1.0)


def test_a_pass_that_all_have_left_waits_no_longer_than_the_timeout():
    shared = SharedPass(range(2), 4, TIMEOUT)
    assert shared.join(0, 0.0)
    shared.leave(0, 1.0)
    assert not shared.over(0.5 + TIMEOUT)
    assert shared.over(1.0 + TIMEOUT)
