"""Requests for ranges: the concurrency limits, and the requests that are hedged."""

import asyncio
import email.utils
import random
import time

import pytest

from penstock.remote import attempts as module
from penstock.remote import line as module_of_line
from penstock.remote.attempts import Attempts
from penstock.remote.failures import Failure, NoRanges, of_status, seconds_to_wait
from penstock.remote.line import Line
from penstock.remote.obstore_files import Reply
from penstock.storage_options import Limits

PATIENCE = 60.0  # seconds after which a test fails
NEVER = (10 * PATIENCE, 10 * PATIENCE)


class FakeFiles:
    """Files whose requests are answered by a function of the request number."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = 0

    def path_of(self, url):
        return url

    async def open(self, path, start, size, first):
        self.asked += 1
        await self.answers(self.asked)

        async def parts(least):
            yield bytes(size)

        return Reply(start, start + size, 1 << 20, "tag", parts)


def run(work):
    async def limited():
        async with asyncio.timeout(PATIENCE):
            return await work()

    return asyncio.run(limited())


@pytest.mark.parametrize("status", [500, 503])
def test_the_end_of_an_outage_ends_all_waits(monkeypatch, status):
    waits = dict.fromkeys(module._WAITS, NEVER)
    monkeypatch.setattr(module, "_WAITS", waits)

    async def work():
        failed = asyncio.Event()

        async def answers(number):
            if number <= 20:
                if number == 20:
                    failed.set()
                raise of_status(status, "not now")

        store = Attempts(FakeFiles(answers), Limits(max_seconds=PATIENCE * 100))
        ranges = [asyncio.create_task(store.read("a", i, 1, False, "")) for i in range(20)]
        await failed.wait()
        await asyncio.sleep(0)
        await store.read("a", 99, 1, False, "")
        assert [answer.offset for answer in await asyncio.gather(*ranges)] == list(range(20))

    run(work)


def test_requests_that_stall_in_all_slots_are_sent_again(monkeypatch):
    monkeypatch.setattr(module, "_UNKNOWN_HEDGE", 0.02)
    monkeypatch.setattr(module, "_MIN_HEDGE", 0.02)

    async def work():
        async def answers(number):
            if number <= 4:  # the initial limit
                await asyncio.Event().wait()

        files = FakeFiles(answers)
        limits = Limits(timeout=100 * PATIENCE, max_seconds=100 * PATIENCE, max_requests=8)
        store = Attempts(files, limits)
        reads = [store.read("a", i, 1, False, "") for i in range(40)]
        assert [answer.offset for answer in await asyncio.gather(*reads)] == list(range(40))
        assert files.asked <= 40 + 4 + module._MAX_HEDGES

    run(work)


def test_hedges_that_stall_are_sent_again(monkeypatch):
    monkeypatch.setattr(module, "_UNKNOWN_HEDGE", 0.02)
    monkeypatch.setattr(module, "_MIN_HEDGE", 0.02)

    async def work():
        async def answers(number):
            if number <= 8:  # the first requests and their hedges
                await asyncio.Event().wait()

        limits = Limits(timeout=100 * PATIENCE, max_seconds=100 * PATIENCE, max_requests=8)
        store = Attempts(FakeFiles(answers), limits)
        reads = [store.read("a", i, 1, False, "") for i in range(4)]
        assert [answer.offset for answer in await asyncio.gather(*reads)] == list(range(4))

    run(work)


def test_a_range_has_one_hedge_at_most(monkeypatch):
    monkeypatch.setattr(module, "_UNKNOWN_HEDGE", 0.01)
    monkeypatch.setattr(module, "_MIN_HEDGE", 0.01)

    async def work():
        running = most = 0

        async def answers(number):
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                if number < 6:
                    await asyncio.Event().wait()
            finally:
                running -= 1

        store = Attempts(FakeFiles(answers), Limits(timeout=0.1))
        await store.read("a", 0, 1, False, "")
        assert most == 2

    run(work)


def test_a_hedge_continues_where_the_slow_request_is(monkeypatch):
    monkeypatch.setattr(module, "_UNKNOWN_HEDGE", 0.01)
    starts = []

    class Slow(FakeFiles):
        async def open(self, path, start, size, first):
            starts.append(start)

            async def parts(least):
                if start == 0:
                    yield bytes(1000)
                    await asyncio.Event().wait()
                yield bytes(range(256)) * (size // 256)

            return Reply(start, start + size, 1 << 20, "tag", parts)

    store = Attempts(Slow(None), Limits())
    answer = run(lambda: store.read("a", 0, 1000 + 512, False, ""))
    assert starts == [0, 1000]
    assert bytes(answer.buffer) == bytes(1000) + bytes(range(256)) * 2


@pytest.mark.parametrize("fault", ["too long", "whole"])
def test_no_request_continues_bytes_that_were_discarded(monkeypatch, fault):
    """A hedge reveals that the bytes are invalid, while the first request continues."""
    monkeypatch.setattr(module, "_UNKNOWN_HEDGE", 0.01)
    content = random.Random(1).randbytes(3000)

    class Files(FakeFiles):
        async def open(self, path, start, size, first):
            self.asked += 1
            if self.asked == 2 and fault == "whole":
                self.failed.set()
                raise NoRanges("the whole file", again=True)
            number = self.asked

            async def parts(least):
                if number == 1:
                    yield content[:1000]
                    await self.failed.wait()
                    yield content[1000:]
                elif number == 2:
                    self.failed.set()
                    yield bytes(2001)
                else:
                    yield content[start:]

            return Reply(start, start + size, len(content), "tag", parts)

        async def open_whole(self, path):
            async def parts(least):
                yield content

            return Reply(0, len(content), len(content), "tag", parts)

    async def work():
        files = Files(None)
        files.failed = asyncio.Event()
        return await Attempts(files, Limits()).read("a", 0, len(content), False, "")

    answer = run(work)
    assert (answer.offset, bytes(answer.buffer)) == (0, content)


def test_a_whole_file_that_is_refused_ends_the_attempts():
    class Files(FakeFiles):
        async def open(self, path, start, size, first):
            raise NoRanges("no ranges", again=True)

        async def open_whole(self, path):
            self.asked += 1
            raise NoRanges("no whole files", again=True)

    files = Files(None)
    with pytest.raises(Failure, match="no whole files"):
        run(lambda: Attempts(files, Limits(max_attempts=3)).read("a", 0, 1, True, ""))
    assert files.asked == 3


@pytest.mark.parametrize(("status", "least"), [(503, 30.0), (429, 30.0)])
def test_a_server_is_left_alone_as_long_as_it_says(monkeypatch, status, least):
    waits = []
    sleep = asyncio.sleep

    async def record(seconds):
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", record)

    async def answers(number):
        if number == 1:
            raise of_status(status, "not now", 30.0)

    run(lambda: Attempts(FakeFiles(answers), Limits()).read("a", 0, 1, False, ""))
    assert len(waits) == 1
    assert waits[0] >= least


def test_a_server_that_limits_requests_is_asked_ever_less_often(monkeypatch):
    waits = []
    sleep = asyncio.sleep

    async def record(seconds):
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", record)

    async def answers(number):
        raise of_status(429, "too many")

    with pytest.raises(Failure, match="after 8 requests"):
        run(lambda: Attempts(FakeFiles(answers), Limits()).read("a", 0, 1, False, ""))
    assert len(waits) == 7
    assert waits[0] >= 1.0
    assert sum(waits) > 30.0


def test_what_the_header_says():
    assert seconds_to_wait({}) == 0.0
    assert seconds_to_wait({"Retry-After": "7"}) == 7.0
    assert seconds_to_wait({"Retry-After": "soon"}) == 0.0
    date = email.utils.formatdate(time.time() + 1000, usegmt=True)
    assert 900 < seconds_to_wait({"Retry-After": date}) <= 1000
    past = email.utils.formatdate(time.time() - 1000, usegmt=True)
    assert seconds_to_wait({"Retry-After": past}) == 0.0


def test_a_status_and_its_header_are_found_in_errors_of_file_systems():
    pytest.importorskip("fsspec")
    from penstock.remote.fsspec_files import _failure

    class OfAiohttp(Exception):
        status = 429
        headers = {"Retry-After": "3"}

    class Response:
        status_code = 503
        headers = {"Retry-After": "4"}

    class OfRequests(Exception):
        response = Response

    limited, busy = _failure(OfAiohttp("no")), _failure(OfRequests("no"))
    assert (limited.kind, limited.after, limited.again) == ("limited", 3.0, True)
    assert (busy.kind, busy.after, busy.again) == ("busy", 4.0, True)


def simulate(connection, line, requests=64):
    """Send requests over a line with a limited rate; return the limits at the end of each.

    Rates are in requests per second: of each connection, and of all together.
    """
    now = 0.0

    async def work():
        nonlocal now
        sent = Line(requests)
        limits = []

        async def one():
            nonlocal now
            async with sent.turn():
                rate = min(connection, line / sent._running)
                began = now
                for _ in range(8):
                    await asyncio.sleep(0)
                    now += 1 / rate / 8 / max(1, sent._running)
                    sent.arrived(1 << 17)
                sent.ended(now - began, 1 << 20)
                limits.append(sent.limit)

        await asyncio.gather(*(one() for _ in range(2000)))
        return limits

    return work, lambda: now


@pytest.mark.parametrize(
    ("connection", "line", "low", "high"),
    [(1000.0, 1e9, 64, 64), (0.1, 1e9, 40, 64), (1000.0, 0.5, 1, 8)],
    ids=["fast", "slow connections", "slow line"],
)
def test_the_number_of_requests_adapts_to_the_line(monkeypatch, connection, line, low, high):
    work, now = simulate(connection, line)
    monkeypatch.setattr("penstock.remote.line.time.monotonic", now)
    limits = asyncio.run(work())
    assert low <= sum(limits[-500:]) / 500 <= high


def test_replies_are_kept_in_parts_unless_a_fast_line_has_had_no_break():
    line, size = Line(64), 4 << 20
    assert line.part_of(size, 30.0) == 1
    while line._sound < module_of_line._SOUND:
        line.ended(0.1, size)
        assert line.part_of(None, 30.0) <= module_of_line._MAX_PART
    assert line.part_of(size, 30.0) == size
    assert line.part_of(size, 0.1) < size  # progress must show within the timeout
    line.ended(10.0, size)
    assert line.part_of(size, 30.0) < size
    line.ended(0.1, size)
    line.broke()
    line.ended(0.1, size)
    assert line.part_of(size, 30.0) < size


def test_a_server_that_refuses_requests_gets_fewer():
    line = Line(64)
    for _ in range(64):
        line.ended(0.01, 1 << 20)
    assert line.limit == 64
    line.refused()
    line.refused()  # at the same time
    assert line.limit == 32
