"""Interrupted responses are resumed; servers without ranges, lengths or HEAD are still read."""

import random

import pytest

import penstock as ps
from contract import steps
from penstock.remote import line
from penstock.remote.reading import ObjectReader

pytest.importorskip("obstore")

MANY = random.Random(3).randbytes(9 << 20)


def read(url):
    return b"".join(ps.FixedLengthRecordDataset(url, 1 << 16))


def test_replies_that_always_end_after_a_mebibyte_are_continued(server):
    server.files = {"many": MANY}
    server.faults = {"mebibyte": 1.0}
    ps.remote.configure(storage_options={"max_attempts": 2})
    assert read(server.urls()[0]) == MANY
    assert len(MANY) <= server.sent <= 1.05 * len(MANY)
    assert len({asked.range for asked in server.asked}) == len(server.asked)


@pytest.mark.parametrize("fault", ["reset", "closed", "short", "stall"])
def test_a_broken_reply_is_continued_at_the_missing_byte(server, fault):
    server.files = {"some": MANY[: 2 << 20]}
    server.first = {"some": f"{fault} " * 6}
    ps.remote.configure(storage_options={"max_attempts": 2, "timeout": 0.5})
    assert read(server.urls()[0]) == MANY[: 2 << 20]
    starts = [asked.range[0] for asked in server.asked]
    assert starts == sorted(set(starts))
    assert len(starts) == 7


def test_a_reply_that_breaks_after_quick_ones_loses_little(server):
    server.files = {"other": MANY * 3, "many": MANY}
    other, many = server.urls()
    for _ in range(4):  # responses are kept in increasingly large parts
        assert read(other) == MANY * 3
    server.first = {"many": "closed closed closed"}
    server.sent = 0
    assert read(many) == MANY
    assert server.sent <= len(MANY) + 3 * line._MAX_PART


@pytest.mark.parametrize(
    "fault",
    ["whole", "long", "other", "short", "chunked", "unsized", "unknown_size", "gzip", "redirect"],
)
def test_an_unexpected_reply_to_a_continuation_loses_nothing(server, fault):
    server.files = {"some": MANY[: 2 << 20], "some.moved": MANY[: 2 << 20]}
    server.first = {"some": f"mebibyte {fault}"}
    assert read(server.urls()[0]) == MANY[: 2 << 20]
    assert server.failed["mebibyte"] == server.failed[fault] == 1


def test_many_ranges_that_share_a_slow_line(server):
    server.files = {"many": MANY * 2}
    server.rate = 6e6  # bytes in a second: all requests take longer than the timeout
    ps.remote.configure(storage_options={"timeout": 0.5, "max_attempts": 2, "max_seconds": 0.6})
    assert read(server.urls()[0]) == MANY * 2
    assert server.sent <= 1.1 * len(MANY * 2)
    assert server.most_open > 1


@pytest.mark.parametrize("tagged", [True, False])
def test_a_file_that_is_replaced_between_a_reply_and_its_continuation_is_an_error(server, tagged):
    server.tagged = tagged
    server.modified = ""
    server.files = {"some": MANY[: 2 << 20]}
    server.first = {"some": "mebibyte"}
    server.changes = {"some": MANY[1 << 20 : 4 << 20]}
    (error,) = steps(iter(ps.FixedLengthRecordDataset(server.urls()[0], 1 << 21)))
    assert error.kind == "DataError"
    assert "was replaced" in error.text


def test_a_slow_reply_does_not_time_out_while_bytes_arrive(server):
    server.files = {"some": MANY[: 1 << 20]}
    server.first = {"some": "slow"}
    ps.remote.configure(storage_options={"timeout": 0.8})
    assert read(server.urls()[0]) == MANY[: 1 << 20]
    assert len(server.asked) == 1


def test_a_whole_file_of_another_version_is_an_error(server):
    """The server ignores the range of a resumed request, and the file was replaced in between."""
    server.files = {"many": MANY}
    server.first = {"many": "mebibyte whole"}
    server.changes = {"many": MANY[::-1]}
    ps.remote.configure(storage_options={"max_requests": 1})
    (error,) = steps(iter(ps.FixedLengthRecordDataset(server.urls()[0], 1 << 16)))
    assert error.kind == "DataError"
    assert "was replaced" in error.text


@pytest.mark.parametrize("tagged", [True, False])
def test_a_file_that_is_replaced_while_a_library_reads_it_is_an_error(server, tagged):
    server.tagged = tagged
    server.modified = ""
    server.files = {"some": MANY[: 2 << 20]}
    reader = ObjectReader(server.urls()[0])
    server.files = {"some": MANY[1 << 20 : 4 << 20]}
    with pytest.raises(OSError, match="was replaced"):
        reader.read(1 << 20)


@pytest.mark.parametrize("fault", ["chunked", "whole"])
def test_a_library_reads_a_whole_file_once(server, fault):
    server.files = {"some": MANY[: 1 << 20]}
    server.faults = {fault: 1.0}
    reader = ObjectReader(server.urls()[0])
    asked = len(server.asked)
    for at in (0, 5, (1 << 20) - 3, 1 << 20):
        reader.seek(at)
        assert reader.read(7) == MANY[at : 1 << 20][:7]
    assert len(server.asked) == asked


@pytest.mark.parametrize("fault", ["chunked", "unsized"])
def test_a_file_without_a_length_is_read(server, tmp_path, fault):
    server.files = {"some": MANY[: 1 << 20], "none": b""}
    server.faults = {fault: 1.0}
    some, none = server.urls()
    assert read(some) == MANY[: 1 << 20]
    assert ps.io.read_file(none) == b""
    assert list(ps.Dataset.list_files(some)) == [some]
    ps.remote.configure(cache_dir=tmp_path / "copies")
    assert read(some) == MANY[: 1 << 20]


def test_a_file_without_a_length_that_is_cut_is_requested_again(server):
    server.files = {"some": MANY[: 1 << 20]}
    server.faults = {"chunked": 1.0}
    server.first = {"some": "chunked chunked chunked_cut"}
    assert read(server.urls()[0]) == MANY[: 1 << 20]
    assert server.failed["chunked_cut"] == 1


def test_a_file_that_the_server_compresses_is_decoded(server):
    server.files = {"lines.txt": b"one\ntwo\n" * 9}
    server.faults = {"gzip": 1.0}
    assert list(ps.TextLineDataset(server.urls()[0])) == [b"one", b"two"] * 9
    assert {asked.headers["accept-encoding"] for asked in server.asked} == {"identity"}


def test_a_server_that_refuses_head_is_listed(server):
    server.files = {"some": b"one"}
    server.faults = {"no_head": 1.0}
    assert list(ps.Dataset.list_files(f"{server.url}/some?key=1")) == [f"{server.url}/some?key=1"]


def test_a_broken_whole_file_is_continued_where_ranges_work_later(server):
    server.files = {"some": MANY[: 4 << 20]}
    server.first = {"some": "whole mebibyte"}
    assert read(server.urls()[0]) == MANY[: 4 << 20]


def test_a_server_without_ranges_whose_replies_break_is_an_error(server):
    server.files = {"some": MANY[: 4 << 20]}
    server.ignores_ranges = True
    server.faults = {"mebibyte": 1.0}
    ps.remote.configure(storage_options={"max_attempts": 4})
    with pytest.raises(OSError, match=r"after \d+ requests"):
        read(server.urls()[0])
