"""Failures of servers and networks: nothing is lost, repeated or corrupted."""

import hashlib
import random

import numpy as np
import pytest

import penstock as ps
from contract import steps
from records import frame

pytest.importorskip("obstore")

RECORDS = [random.Random(i).randbytes(200 + i % 50) for i in range(200)]
FILE = b"".join(map(frame, RECORDS))
MANY = random.Random(2).randbytes(30 << 20)
TRANSIENT = [
    *("unavailable", "busy", "expired", "reset", "closed", "short", "long"),
    *("stall", "silence", "trickle", "whole", "other"),
]


@pytest.mark.parametrize("percent", [1, 5, 20])
@pytest.mark.parametrize("fault", TRANSIENT)
def test_pipelines_lose_and_repeat_nothing(server, fault, percent):
    """Many small files, alternating with one of several megabytes, with failing requests."""
    ps.remote.configure(storage_options={"timeout": 1.0, "max_attempts": 30})
    small = {f"{i}": b"".join(map(frame, RECORDS[5 * i : 5 * i + 5])) for i in range(40)}
    server.files = {**small, "many": MANY[: 9 << 20]}
    server.faults = {fault: percent / 100}
    server.seed = percent
    *urls, many = server.urls()
    expected = list(ps.Dataset.range(40).interleave(_records_of, 8, num_parallel_calls=1))
    for _ in range(3):
        read = list(ps.TFRecordDataset(urls, num_parallel_reads=8))
        assert read == expected
        assert hashlib.md5(ps.io.read_file(many)).digest() == hashlib.md5(MANY[: 9 << 20]).digest()
    assert server.failed[fault] > 0


def _records_of(number):
    return ps.Dataset.from_tensor_slices(np.array(RECORDS, object)[5 * number : 5 * number + 5])


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_request_that_fails_once_is_made_again(server, fault):
    server.files = {"a": FILE}
    server.first = {"a": fault}
    ps.remote.configure(storage_options={"timeout": 0.3})
    assert list(ps.TFRecordDataset(server.urls()[0])) == RECORDS
    assert server.failed == {fault: 1}
    assert len(server.asked) == 2


def test_all_faults_at_once(server):
    server.files = {"many": MANY}
    server.faults = dict.fromkeys(("unavailable", "reset", "short", "long", "closed"), 0.1)
    for _ in range(2):
        read = b"".join(ps.FixedLengthRecordDataset(server.urls()[0], 1 << 16))
        assert hashlib.md5(read).digest() == hashlib.md5(MANY).digest()
    assert server.failed.total() > 0


@pytest.mark.parametrize(
    ("fault", "kind", "cause"),
    [
        ("unavailable", "OSError", "503"),
        ("cut", "OSError", "shorter than was announced"),
        ("silence", "OSError", "no bytes within 0.2 s"),
        ("expired", "PermissionError", "401"),
    ],
)
def test_the_error_names_url_range_attempts_and_cause(server, fault, kind, cause):
    server.files = {"a": FILE, "b": b"fine"}
    server.first = {"a": f"{fault} " * 10}
    ps.remote.configure(storage_options={"timeout": 0.2, "max_attempts": 3})
    error, *rest = steps(iter(ps.TextLineDataset(server.urls())))
    assert rest == [b"fine"]
    assert error.kind == kind or error.kind in ("BlockingIOError", "TimeoutError")
    assert f"{server.url}/a: cannot read bytes 0 to 4194303 after 3 requests in" in error.text
    assert cause in error.text


@pytest.mark.parametrize(("fault", "kind"), [("forbidden", "PermissionError")])
def test_what_stays_wrong_is_not_asked_again(server, fault, kind):
    server.files = {"a": FILE}
    server.first = {"a": f"{fault} " * 10}
    (error,) = steps(iter(ps.TFRecordDataset(server.urls()[0])))
    assert error.kind == kind
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/a", "http://no.such.host.invalid/a"], ids=["refused", "unknown"]
)
def test_a_server_that_is_not_there(url):
    ps.remote.configure(storage_options={"max_attempts": 2})
    with pytest.raises(OSError, match="after 2 requests"):
        ps.io.read_file(url)


@pytest.mark.parametrize("tagged", [True, False])
def test_a_file_that_is_replaced_while_it_is_read_is_an_error(server, tagged):
    server.tagged = tagged
    many = MANY * 5  # more than is read ahead
    server.files = {"many": many}
    it = iter(ps.FixedLengthRecordDataset(server.urls()[0], 1 << 20))
    next(it)
    server.wait_until_quiet()
    server.files = {"many": many[::-1]}
    server.modified = "Tue, 02 Jan 2024 00:00:00 GMT"
    *before, error = steps(it)
    assert error.kind == "DataError"
    assert "was replaced" in error.text
    assert b"".join(before) == many[1 << 20 :][: len(before) << 20]


def test_a_server_without_ranges_sends_the_file_once(server):
    server.files = {"many": MANY}
    server.ignores_ranges = True
    read = b"".join(ps.FixedLengthRecordDataset(server.urls()[0], 1 << 16))
    assert hashlib.md5(read).digest() == hashlib.md5(MANY).digest()
    assert len(server.asked) <= 3


def test_a_redirected_file_is_read_where_it_is(server):
    server.files = {"many": b"", "many.moved": MANY}
    server.first = {"many": "redirect " * 9}
    read = b"".join(ps.FixedLengthRecordDataset(f"{server.url}/many", 1 << 16))
    assert hashlib.md5(read).digest() == hashlib.md5(MANY).digest()


def test_redirects_without_end_are_an_error(server):
    server.files = {"a": b"one"}
    server.first = {"a": "redirects"}
    with pytest.raises(OSError, match="too many redirects"):
        ps.io.read_file(f"{server.url}/a")


def test_a_slow_request_is_sent_a_second_time(server):
    server.files = {"many": MANY}
    ps.io.read_file(server.urls()[0])  # measures the request latency
    ps.io.read_file(server.urls()[0])
    server.first = {"many": "ok ok ok silence"}
    ps.remote.configure(f"{server.url}/other")
    asked = len(server.asked)
    assert ps.io.read_file(server.urls()[0]) == MANY
    assert server.failed["silence"] == 1
    assert len(server.asked) - asked == 9  # eight ranges, one of them requested twice


def test_errors_can_be_left_out(server):
    server.files = {"a": b"one", "c": b"three"}
    urls = [f"{server.url}/{name}" for name in "abc"]
    assert list(ps.TextLineDataset(urls, on_error="skip")) == [b"one", b"three"]
