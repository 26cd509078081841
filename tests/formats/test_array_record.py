"""ArrayRecordDataset: records of ArrayRecord files, by position."""

import numpy as np
import pytest

import penstock as ps
from contract import DatasetContract

module = pytest.importorskip("array_record.python.array_record_module")


def write(path, records, options="group_size:3"):
    writer = module.ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return path


RECORDS = [b"", b"cat", b"\0dog\xff", *(b"%d" % i * i for i in range(9))]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    return [
        write(folder / "a.array_record", RECORDS[:7]),
        write(folder / "none.array_record", []),
        write(folder / "b.array_record", RECORDS[7:]),
    ]


class OfFiles(DatasetContract):
    """The contract for the files of the fixture."""

    @pytest.fixture(autouse=True)
    def _files(self, files):
        type(self).files = files


class TestArrayRecord(OfFiles):
    @classmethod
    def build(cls):
        return ps.ArrayRecordDataset(cls.files)

    expected = RECORDS


class TestArrayRecordShuffled(OfFiles):
    @classmethod
    def build(cls, num_parallel_calls=None):
        records = ps.ArrayRecordDataset(cls.files, num_parallel_calls=num_parallel_calls)
        return records.shuffle(12, 1, False).batch(5)

    @staticmethod
    def expected():
        order = [int(i) for i in ps.Dataset.range(12).shuffle(12, 1, False)]
        records = np.array(RECORDS, object)[order]
        return [records[:5], records[5:10], records[10:]]


def test_files_that_are_none(files, tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        ps.ArrayRecordDataset(tmp_path / "absent")
    data = files[0].read_bytes()
    for name, content in (("empty", b""), ("cut", data[:-10]), ("text", b"text" * 50_000)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ps.DataError, match=f"no complete ArrayRecord file.*{name}"):
            ps.ArrayRecordDataset(tmp_path / name)


def test_a_damaged_record_is_an_error_and_the_others_follow(files, tmp_path):
    data = bytearray(files[0].read_bytes())
    data[70] ^= 255  # the first group, of three records
    path = tmp_path / "damaged.array_record"
    path.write_bytes(data)
    found = []
    records = iter(ps.ArrayRecordDataset(path))
    while True:
        try:
            found.append(next(records))
        except StopIteration:
            break
        except ps.DataError as error:
            assert error.file == str(path)  # noqa: PT017 - the record number matters too
            found.append(error.element)
    assert found == [0, 1, 2, *RECORDS[3:7]]
