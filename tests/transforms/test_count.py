"""count: the number of elements, with as little work as possible."""

import numpy as np
import pytest

import penstock as ps
from contract import Boom, DatasetContract

count = ps.experimental.count


def even(x):
    return x % 2 == 0


class TestCount(DatasetContract):
    """The underlying stage: a dataset of one number."""

    build = staticmethod(lambda: ps.Dataset.range(9).filter(even)._then("count"))
    expected = [5]


def test_it_is_what_iterating_gives():
    ds = ps.Dataset.range(20)
    assert count(ds) == 20
    assert count(ds.filter(even)) == 10
    assert count(ds.filter(lambda x: False)) == 0
    assert count(ds.flat_map(ps.Dataset.range)) == 190
    assert count(ps.Dataset.from_generator(lambda: iter("abc"))) == 3


def test_an_endless_dataset_is_refused():
    with pytest.raises(ValueError, match="count: a dataset that ends was expected"):
        count(ps.Dataset.range(3).repeat())


def test_functions_are_not_called_and_errors_count():
    calls = []

    def note(x):
        calls.append(x)
        raise Boom

    assert count(ps.Dataset.range(9).filter(even).map(note)) == 5
    assert calls == []

    def fail(x):
        if x == 3:
            raise Boom
        return True

    assert count(ps.Dataset.range(9).filter(fail)) == 9


@pytest.mark.parametrize("size", [1, 300, 100_000])
def test_records_are_counted_as_they_are_read(tmp_path, size):
    names = []
    for i, records in enumerate([5, 0, 3]):
        names.append(str(tmp_path / f"{i}.tfrecord"))
        with ps.io.TFRecordWriter(names[-1]) as writer:
            for _ in range(records):
                writer.write(bytes(size))
    for name in names:
        assert count(ps.TFRecordDataset(name)) == len(list(ps.TFRecordDataset(name)))
    assert count(ps.TFRecordDataset(names)) == 8
    assert count(ps.TFRecordDataset(names, num_parallel_reads=2)) == 8


def test_damaged_records_count_as_when_they_are_read(tmp_path):
    path = tmp_path / "r.tfrecord"
    with ps.io.TFRecordWriter(path) as writer:
        for _ in range(4):
            writer.write(bytes(100_000))
    whole = bytearray(path.read_bytes())
    for at in (50_000, 100_016 + 3, len(whole) - 1):
        for damaged in (
            whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :],
            whole[:at],
        ):
            path.write_bytes(damaged)
            it = iter(ps.TFRecordDataset(path))
            steps = 0
            while True:
                try:
                    next(it)
                except StopIteration:
                    break
                except ps.DataError:
                    pass
                steps += 1
            assert count(ps.TFRecordDataset(path)) == steps


def test_compressed_records_and_lines_are_counted(tmp_path):
    packed = tmp_path / "r.gz"
    with ps.io.TFRecordWriter(packed, "GZIP") as writer:
        for i in range(7):
            writer.write(b"x" * i)
    assert count(ps.TFRecordDataset(packed, "GZIP")) == 7
    (tmp_path / "lines").write_text("a\nb\nc")
    assert count(ps.TextLineDataset(tmp_path / "lines")) == 3
    np.arange(10, dtype=np.int16).tofile(tmp_path / "fixed")
    assert count(ps.FixedLengthRecordDataset(tmp_path / "fixed", 3, 1, 1)) == 6
