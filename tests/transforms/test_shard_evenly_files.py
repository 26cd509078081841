"""shard_evenly over files: the bytes that a shard reads, and whole files as equal shards."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from even_shards import POLICIES, even_shards

MB = 1 << 20


def bytes_read(run):
    """Return the number of bytes that this process reads from files while `run` runs."""

    def now():
        return int(Path("/proc/self/io").read_text().split()[1])

    nothing = now()
    nothing = now() - nothing  # the cost of measuring
    before = now()
    run()
    return now() - before - nothing


def write_fixed(path):
    np.repeat(np.arange(32, dtype=np.uint8), MB // 4).tofile(path)


def write_records(path):
    with ps.io.TFRecordWriter(path) as writer:
        for i in range(32):
            writer.write(bytes([i]) * (MB // 4))


FORMATS = {
    write_fixed: lambda names: ps.FixedLengthRecordDataset(names, MB // 4),
    write_records: ps.TFRecordDataset,
}


@pytest.mark.parametrize("remainder", POLICIES)
@pytest.mark.parametrize("write", [write_fixed, write_records])
@pytest.mark.parametrize("files", [1, 2])
def test_a_shard_reads_little_of_the_others_large_records(tmp_path, write, files, remainder):
    for i in range(files):
        write(tmp_path / str(i))
    ds = FORMATS[write]([str(tmp_path / str(i)) for i in range(files)])
    total = files * 8 * MB
    came = []

    def run():
        for record in ds.shard_evenly(8, 5, remainder):
            row, real = record if remainder == "pad" else (record, True)
            came.append((row[0], len(row), bool(real)))

    read = bytes_read(run)
    wanted = [number for _ in range(files) for number in range(32)][5::8]
    assert came == [(number, MB // 4, True) for number in wanted]
    # Its eighth and the beginning of each file. With padding, one more row per round, for its
    # shape.
    share = 2 if remainder == "pad" else 1
    assert read < total * share / 8 + files * MB, read / MB


def test_functions_are_not_called_for_the_others_when_the_length_is_unknown():
    called = []

    def note(x):
        called.append(int(x))
        return x

    ds = ps.Dataset.from_generator(lambda: iter(range(11))).map(note).shard_evenly(4, 1)
    assert [int(x) for x in ds] == [1, 5]
    # The last round has an element for this shard, and none for the last: only a request shows
    # that.
    assert called == [1, 5, 9]


@pytest.mark.parametrize("damaged", [2, 3])
def test_a_damaged_record_counts_in_every_shard(tmp_path, damaged):
    path = tmp_path / "r"
    size = 100_000
    with ps.io.TFRecordWriter(path) as writer:
        for i in range(9):
            writer.write(bytes([i]) * size)
    with path.open("r+b") as file:
        file.seek(damaged * (size + 16) + 5_000)
        file.write(b"damage")
    for shard in range(3):
        it = iter(ps.TFRecordDataset(path).shard_evenly(3, shard))
        for wanted in range(shard, 9, 3):
            if wanted == damaged:
                with pytest.raises(ps.DataError, match=f"record {damaged}"):
                    next(it)
            else:
                assert next(it)[0] == wanted
        assert list(it) == []


# --- whole files ---


def write_files(folder, sizes):
    names = []
    for i, size in enumerate(sizes):
        names.append(str(folder / f"{i}.tfrecord"))
        with ps.io.TFRecordWriter(names[-1]) as writer:
            for j in range(size):
                writer.write(b"%d.%d" % (i, j))
    return names


@pytest.mark.parametrize("reads", [None, 2])
def test_every_record_comes_once_and_all_shards_are_as_long(tmp_path, reads):
    names = write_files(tmp_path, [3, 5, 0, 2, 7])
    whole = sorted(ps.TFRecordDataset(names))
    for count in range(1, 8):
        shards = [
            list(
                ps.TFRecordDataset(names, num_parallel_reads=reads).shard_evenly(
                    count, i, "pad", by="files"
                )
            )
            for i in range(count)
        ]
        assert len({len(shard) for shard in shards}) == 1
        assert sorted(r for shard in shards for r, real in shard if real) == whole
        assert {r for shard in shards for r, real in shard if not real} <= {b""}
        for i, shard in enumerate(shards):
            files = {r.split(b".")[0] for r, real in shard if real}
            assert files <= {b"%d" % k for k in range(i, len(names), count)}


def test_dropped_and_repeated_shards_are_as_long(tmp_path):
    names = write_files(tmp_path, [3, 5, 2, 2])
    ds = ps.TFRecordDataset(names)
    for remainder, number in (("drop", 5), ("repeat", 7)):
        shards = [ds.shard_evenly(2, i, remainder, by="files") for i in range(2)]
        assert [len(shard) for shard in shards] == [number] * 2
        for i, shard in enumerate(shards):
            own = list(ps.TFRecordDataset(names[i::2]))
            assert list(shard) == list(itertools.islice(itertools.cycle(own), number))


def test_other_formats_and_shuffled_names(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.txt").write_text("".join(f"{i}{j}\n" for j in range(i + 1)))
    listed = ps.Dataset.list_files(str(tmp_path / "*.txt"))
    for lines in (ps.TextLineDataset(listed), ps.TextLineDataset(listed, on_error="skip")):
        shards = [list(lines.shard_evenly(2, i, "pad", by="files")) for i in range(2)]
        assert sorted(shards[0]) == [(b"00", True), (b"20", True), (b"21", True), (b"22", True)]
        assert shards[1] == [(b"10", True), (b"11", True), (b"", False), (b"", False)]
    one = ps.FixedLengthRecordDataset(str(tmp_path / "2.txt"), 3)
    assert list(one.shard_evenly(2, 1, "pad", by="files")) == [(b"", False)] * 3


def test_a_state_goes_on_where_it_was(tmp_path):
    ds = ps.TFRecordDataset(write_files(tmp_path, [3, 1])).shard_evenly(2, 1, "pad", by="files")
    whole = list(ds)
    for taken in range(4):
        it = iter(ds)
        for _ in range(taken):
            next(it)
        again = iter(ds)
        again.set_state(it.get_state())
        assert list(again) == whole[taken:]


@pytest.mark.parametrize("remainder", ["drop", "pad", "repeat"])
def test_a_state_of_another_process_is_refused(tmp_path, remainder):
    ds = ps.TFRecordDataset(write_files(tmp_path, [3, 2, 4, 1]))
    it = iter(ds.shard_evenly(2, 0, remainder, by="files"))
    next(it)
    other = iter(ds.shard_evenly(2, 1, remainder, by="files"))
    with pytest.raises(ps.StateError, match=r"shard: index 1, the state has 0"):
        other.set_state(it.get_state())
    fewer = iter(ds.shard_evenly(1, 0, remainder, by="files"))
    with pytest.raises(ps.StateError, match=r"shard: num_shards 1, the state has 2"):
        fewer.set_state(it.get_state())


def test_what_cannot_be_dealt_by_files_is_refused(tmp_path):
    names = write_files(tmp_path, [1, 1])
    ds = ps.TFRecordDataset(names)
    with pytest.raises(ValueError, match=r"by='files'.*got map; put shard_evenly directly after"):
        ds.map(len).shard_evenly(2, 0, by="files")
    with pytest.raises(ValueError, match=r"by='files'.*got range"):
        ps.Dataset.range(3).shard_evenly(2, 0, by="files")
    with pytest.raises(ValueError, match="shard 2 has none of 2 files"):
        ds.shard_evenly(3, 0, by="files")
    with pytest.raises(ValueError, match="by must be 'elements' or 'files', got 'rows'"):
        ds.shard_evenly(2, 0, by="rows")
    with pytest.raises(ValueError, match="index must be in"):
        ds.shard_evenly(2, 2, by="files")


def test_a_file_that_changed_since_it_was_counted_is_an_error(tmp_path):
    names = write_files(tmp_path, [3, 3])
    ds = ps.TFRecordDataset(names).shard_evenly(2, 0, by="files")
    write_files(tmp_path, [2])
    with pytest.raises(ValueError, match="3 elements were expected"):
        list(ds)


def test_elements_of_files_are_dealt_out_as_any_others(tmp_path):
    names = write_files(tmp_path, [3, 0, 5, 4])
    numbers = {record: i for i, record in enumerate(ps.TFRecordDataset(names))}
    for count, remainder in itertools.product(range(1, 5), ["drop", "repeat"]):
        wanted = even_shards(range(12), count, remainder)
        for i in range(count):
            shard = ps.TFRecordDataset(names).shard_evenly(count, i, remainder)
            assert [numbers[record] for record in shard] == wanted[i]
