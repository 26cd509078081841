"""Files of a web server: all sources, positions, ends, listing."""

import gc
import hashlib
import random
import threading

import numpy as np
import pytest

import penstock as ps
from contract import steps
from records import frame

pytest.importorskip("obstore")

LINES = [b"line %d" % i for i in range(5000)]
MANY = random.Random(1).randbytes(9 << 20)  # more than two requests


def test_every_source_of_files_reads_urls(server):
    server.files = {
        "lines.txt": b"\n".join(LINES),
        "records": b"".join(map(frame, LINES)),
        "fixed": b"".join(b"%08d" % i for i in range(1000)),
        "table.csv": b"1,a\n2,b\n",
    }
    lines, records, fixed, table = server.urls()
    assert list(ps.TextLineDataset(lines)) == LINES
    assert list(ps.TFRecordDataset(records)) == LINES
    assert list(ps.FixedLengthRecordDataset(fixed, 8))[-1] == b"00000999"
    assert list(ps.experimental.CsvDataset(table, [np.int64(0), ""])) == [(1, "a"), (2, "b")]
    assert ps.io.read_file(lines) == server.files["lines.txt"]
    assert list(ps.TextLineDataset([lines, lines], num_parallel_reads=2)) == [
        line for line in LINES for _ in range(2)
    ]


def test_large_files_come_whole_and_in_few_requests(server):
    server.files = {"many": MANY}
    read = b"".join(ps.FixedLengthRecordDataset(server.urls()[0], 1 << 18))
    assert hashlib.md5(read).digest() == hashlib.md5(MANY).digest()
    assert len(server.asked) == 3
    assert hashlib.md5(ps.io.read_file(server.urls()[0])).digest() == hashlib.md5(MANY).digest()


@pytest.mark.parametrize("size", [0, 1, (4 << 20) - 1, 4 << 20, (4 << 20) + 1])
def test_files_of_any_length_end_where_they_end(server, size):
    server.files = {"some": MANY[:size]}
    assert ps.io.read_file(server.urls()[0]) == MANY[:size]


def test_names_are_sent_as_they_are(server):
    server.files = {"a b/ü%+&.txt": b"one", "c/../d": b"two"}
    assert ps.io.read_file(f"{server.url}/a%20b/%C3%BC%25+&.txt") == b"one"


def test_a_query_is_left_in_the_url(server):
    server.files = {"a.txt": b"one"}
    assert ps.io.read_file(f"{server.url}/a.txt?signature=a%2Fb") == b"one"
    assert server.targets[-1] == "/a.txt?signature=a%2Fb"


def test_a_state_goes_on_at_any_byte(server):
    server.files = {"many": MANY}
    ds = ps.FixedLengthRecordDataset(server.urls()[0], 1 << 18)
    it = iter(ds)
    taken = [next(it) for _ in range(20)]
    state = it.get_state()
    other = iter(ds)
    other.set_state(state)
    assert taken + list(other) == list(ds)


def test_what_a_state_is_past_is_not_asked_for(server):
    server.files = {"many": MANY * 4}
    ds = ps.FixedLengthRecordDataset(server.urls()[0], 1 << 20)
    it = iter(ds)
    first = [next(it) for _ in range(30)]
    state = it.get_state()
    it.close()
    server.wait_until_quiet()
    before = len(server.asked)
    other = iter(ds)
    other.set_state(state)
    assert b"".join([*first, *other]) == MANY * 4
    asked = server.asked[before:]
    assert not [each for each in asked if (4 << 20) < each.range[0] < (30 << 20)]


def test_a_file_that_is_not_there_is_an_error_at_its_position(server):
    server.files = {"a": b"one\n", "b": b"two\n"}
    urls = [f"{server.url}/{name}" for name in ("a", "none", "b")]
    one, error, two = steps(iter(ps.TextLineDataset(urls)))
    assert (one, two) == (b"one", b"two")
    assert error.kind == "FileNotFoundError"
    assert urls[1] in error.text


def test_a_closed_iterator_ends_its_requests(server):
    server.files = {"many": MANY}
    server.latency = 60.0
    it = iter(ps.TextLineDataset(server.urls()[0]).prefetch(1))
    threading.Timer(0.3, it.close).start()
    with pytest.raises((RuntimeError, StopIteration)):
        next(it)
    assert server.open  # it has not answered yet
    del it
    gc.collect()


@pytest.mark.parametrize("stage", ["map", "prefetch"])
def test_a_closed_iterator_does_not_wait_for_files_that_functions_read(server, stage):
    server.files = {"a": b"one"}
    server.latency = 60.0
    names = ps.Dataset.from_tensor_slices(server.urls() * 4)
    calls = 2 if stage == "map" else None
    it = iter(names.map(ps.native(ps.io.read_file), num_parallel_calls=calls).prefetch(1))
    threading.Timer(0.3, it.close).start()
    with pytest.raises((RuntimeError, StopIteration)):
        next(it)
    assert server.open  # it has not answered yet


def test_what_is_read_ahead_counts_against_the_memory_of_the_run(server):
    server.files = {"many": MANY * 8}
    options = ps.Options()
    options.memory_limit = 8 << 20
    it = iter(ps.FixedLengthRecordDataset(server.urls()[0], 1 << 10).with_options(options))
    next(it)
    server.wait_until_quiet()
    held = sum(end - begin for begin, end in (asked.range for asked in server.asked))
    assert held <= 3 * (4 << 20)
    assert len(list(it)) == 8 * len(MANY) // 1024 - 1


def test_many_files_are_read_at_a_time_by_one_thread(server):
    server.files = {f"{i}": b"%d\n" % i for i in range(40)}
    server.latency = 0.05
    before = threading.active_count()
    names = ps.Dataset.from_tensor_slices(server.urls())
    read = names.interleave(ps.TextLineDataset, cycle_length=20, num_parallel_calls=20)
    assert sorted(read) == sorted(b"%d" % i for i in range(40))
    assert server.most_open >= 10
    assert threading.active_count() - before < 40


def test_files_are_found_by_patterns_only_where_stores_can_list(server):
    server.files = {"a.txt": b"one"}
    url = server.urls()[0]
    assert list(ps.Dataset.list_files(url)) == [url]
    assert list(ps.io.matching_files(f"{server.url}/none.txt")) == []
    with pytest.raises(OSError, match="list"):
        ps.Dataset.list_files(f"{server.url}/*.txt")


def test_a_file_url_is_a_path(tmp_path):
    (tmp_path / "a b.txt").write_text("one\n")
    assert list(ps.TextLineDataset((tmp_path / "a b.txt").as_uri())) == [b"one"]


@pytest.mark.parametrize("copies", [False, True])
def test_an_index_is_not_used_for_other_content_of_the_same_size(server, tmp_path, copies):
    if copies:
        ps.remote.configure(cache_dir=tmp_path / "copies")
    server.files = {"records": b"".join(map(frame, LINES))}
    url = server.urls()[0]
    ps.index(url, tmp_path, format="tfrecord")
    indexed = ps.TFRecordDataset(url, indexed=tmp_path)
    assert indexed[17] == LINES[17]
    assert list(ps.TFRecordDataset(url)) == LINES
    server.wait_until_quiet()
    assert ps.TFRecordDataset(url, indexed=tmp_path)[18] == LINES[18]
    others = LINES[2500:] + LINES[:2500]
    server.files = {"records": b"".join(map(frame, others))}
    if copies:  # it checks the URL again
        ps.remote.configure(cache_dir=tmp_path / "copies")
    with pytest.raises(ps.DataError, match=r"run ps\.index again"):
        ps.TFRecordDataset(url, indexed=tmp_path)
    ps.index(url, tmp_path, format="tfrecord")
    assert ps.TFRecordDataset(url, indexed=tmp_path)[17] == others[17]


def test_records_are_whole_wherever_a_range_ends(server):
    sizes = random.Random(4).choices([1, 100, 5000, 70_000, 3 << 20], [9, 9, 9, 5, 1], k=400)
    records = [random.Random(i).randbytes(size) for i, size in enumerate(sizes)]
    lines = [bytes(byte % 10 + 48 for byte in record[:100_000]) for record in records]
    server.files = {"records": b"".join(map(frame, records)), "lines": b"\n".join(lines)}
    assert len(server.files["lines"]) > 4 << 20
    of_records, of_lines = server.urls()
    for size in (None, 4096, 16 << 20):
        assert list(ps.TFRecordDataset(of_records, buffer_size=size)) == records
        assert list(ps.TextLineDataset(of_lines, buffer_size=size)) == lines
    ds = ps.TFRecordDataset(of_records)
    it = iter(ds)
    for at in range(0, 400, 57):
        state = it.get_state()
        again = iter(ds)
        again.set_state(state)
        assert list(again) == records[at:]
        for _ in range(57):
            next(it, None)


def test_what_was_read_can_be_shuffled_and_kept(server):
    server.files = {"records": b"".join(map(frame, LINES * 20))}
    ds = ps.TFRecordDataset(server.urls()[0])
    assert sorted(ds.shuffle(1000, seed=1)) == sorted(LINES * 20)
    assert list(ds.cache()) == LINES * 20
    assert list(ds.batch(64).unbatch()) == LINES * 20


def test_a_second_pass_requests_the_ranges_before_the_first_answer(server):
    server.files = {"many": MANY * 2}
    ds = ps.FixedLengthRecordDataset(server.urls()[0], 1 << 18)
    assert b"".join(ds) == MANY * 2
    server.wait_until_quiet()
    before = len(server.asked)
    server.latency, server.most_open = 0.5, 0
    assert b"".join(ds) == MANY * 2
    assert server.most_open == len(server.asked) - before == 5


@pytest.mark.parametrize("tagged", [True, False])
@pytest.mark.parametrize("size", [0, 1000, 5 << 20, 9 << 20, (9 << 20) + 1, 15 << 20])
def test_a_file_that_was_replaced_between_two_passes_is_read_as_it_is(server, tagged, size):
    server.tagged = tagged
    server.files = {"some": MANY}
    ds = ps.Dataset.from_tensor_slices(server.urls()).map(ps.io.read_file)
    assert list(ds) == [MANY]
    for content in (MANY[::-1] * 2)[:size], MANY:
        server.files = {"some": content}
        assert list(ds) == [content]


def test_a_file_that_is_gone_in_the_second_pass_is_an_error_until_it_is_back(server):
    server.files = {"some": MANY}
    ds = ps.FixedLengthRecordDataset(server.urls()[0], 1 << 18)
    assert b"".join(ds) == MANY
    server.files = {}
    with pytest.raises(FileNotFoundError, match="some"):
        list(ds)
    server.files = {"some": MANY[1 << 18 :]}
    assert b"".join(ds) == MANY[1 << 18 :]


def test_a_server_that_does_not_know_ranges_sends_a_file_once_in_each_pass(server):
    server.files, server.ignores_ranges = {"many": MANY}, True
    ds = ps.FixedLengthRecordDataset(server.urls()[0], 1 << 18)
    assert b"".join(ds) == MANY
    before = len(server.asked)
    assert b"".join(ds) == MANY
    assert len(server.asked) == 2 * before
