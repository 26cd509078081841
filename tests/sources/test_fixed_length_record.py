"""FixedLengthRecordDataset: records of a fixed size, between a header and a footer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from contract import DatasetContract, steps
from records import COMPRESS, COMPRESSIONS, PLAIN_AND_COMPRESSED, in_turn

FILES = [b"HHaabbccF", b"HHF", b"HHxxF", bytes(range(203))]
ROWS = [[f[2:-1][i : i + 2] for i in range(0, len(f) - 3, 2)] for f in FILES]


@pytest.fixture(scope="module", params=PLAIN_AND_COMPRESSED)
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fixed")
    for i, content in enumerate(FILES):
        (folder / str(i)).write_bytes(COMPRESS[request.param](content))
    return [folder / str(i) for i in range(len(FILES))], request.param


class OfFiles(DatasetContract):
    """The contract for plain and compressed files written by a fixture."""

    reads = None

    @pytest.fixture(autouse=True)
    def _files(self, made):
        type(self).files, type(self).compression = made

    @classmethod
    def build(cls):
        return ps.FixedLengthRecordDataset(
            cls.files,
            2,
            header_bytes=2,
            footer_bytes=1,
            buffer_size=0,
            compression_type=cls.compression,
            num_parallel_reads=cls.reads,
        )


class TestInSequence(OfFiles):
    expected = [row for rows in ROWS for row in rows]


class TestParallelReads(OfFiles):
    reads = 3
    expected = list(in_turn(ROWS, 3))


class TestIndexed(OfFiles):
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("indexed")
        type(self).files = [folder / str(i) for i in range(len(FILES))]
        for path, content in zip(self.files, FILES, strict=True):
            path.write_bytes(content)

    @classmethod
    def build(cls):
        return ps.FixedLengthRecordDataset(
            cls.files, 2, header_bytes=2, footer_bytes=1, indexed=True
        )

    expected = [row for rows in ROWS for row in rows]

    def test_any_record_is_at_hand(self):
        ds = self.build()
        assert len(ds) == len(self.expected)
        order = [5, 0, -1, 3, 3, len(self.expected) - 1]
        assert list(ds[order]) == [self.expected[i] for i in order]
        assert sorted(ds.global_shuffle(seed=1)) == sorted(self.expected)
        assert sorted(ds.shuffle(50, seed=1)) == sorted(self.expected)


def test_what_is_compressed_has_no_positions(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(COMPRESS["GZIP"](b"aabb"))
    with pytest.raises(ValueError, match="with indexed, a file that is not compressed"):
        ps.FixedLengthRecordDataset(path, 2, compression_type="GZIP", indexed=True)
    with pytest.raises(ps.DataError, match="begins as GZIP does: try compression_type"):
        ps.FixedLengthRecordDataset(path, 2, indexed=True)
    with pytest.raises(TypeError, match="indexed must be a bool"):
        ps.FixedLengthRecordDataset(path, 2, indexed="folder")


def test_a_file_that_changes_is_not_read_as_it_was(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"aabbcc")
    ds = ps.FixedLengthRecordDataset(path, 2, indexed=True)
    path.write_bytes(b"aabb")
    with pytest.raises(
        ps.DataError, match=r"since this dataset was made \(it had 6 bytes, now .* 4"
    ):
        ds[0]
    assert ps.FixedLengthRecordDataset(path, 2, indexed=True)[1] == b"bb"


@pytest.mark.slow
@settings(max_examples=200)
@given(
    content=st.binary(max_size=60),
    record=st.integers(1, 12),
    header=st.integers(0, 8),
    footer=st.integers(0, 8),
    compression=st.sampled_from([None, *COMPRESSIONS]),
)
def test_every_layout_gives_its_whole_records(
    tmp_path_factory, content, record, header, footer, compression
):
    path = tmp_path_factory.getbasetemp() / "layout"
    path.write_bytes(COMPRESS[compression](content))
    ds = ps.FixedLengthRecordDataset(path, record, header, footer, compression_type=compression)
    body = content[header : len(content) - footer] if len(content) >= header + footer else b""
    count = len(body) // record
    came = steps(iter(ds))
    if compression is None:
        indexed = ps.FixedLengthRecordDataset(path, record, header, footer, indexed=True)
        assert steps(iter(indexed)) == came
        assert len(indexed) == len(came)
    assert came[:count] == [body[i * record : (i + 1) * record] for i in range(count)]
    if len(content) - header - footer == count * record:
        assert came[count:] == []
    else:
        (error,) = came[count:]
        assert error.kind == "DataError"
        assert str(path) in error.text


def test_bytes_that_are_too_many_are_told_behind_the_records(tmp_path):
    path = tmp_path / "excess"
    path.write_bytes(b"aaaabbbbcc")
    came = steps(iter(ps.FixedLengthRecordDataset([path, path], 4)))
    assert came[0:2] == came[3:5] == [b"aaaa", b"bbbb"]
    assert "records of 4 bytes were expected, got 2 bytes at the end" in came[2].text
    assert "byte 8" in came[2].text


def test_a_compressed_file_may_be_read_as_it_is(tmp_path):
    packed = COMPRESS["GZIP"](bytes(1000))
    path = tmp_path / "packed"
    path.write_bytes(packed)
    assert b"".join(ps.FixedLengthRecordDataset(path, 1)) == packed


def test_states_jump_over_what_was_read(tmp_path):
    path = tmp_path / "long"
    count, taken = 500_000, 450_000
    path.write_bytes(b"".join(b"%09d\n" % i for i in range(count)))
    it = iter(ps.FixedLengthRecordDataset(path, 10, buffer_size=4096))
    for _ in range(taken):
        next(it)
    state = it.get_state()
    with path.open("r+b") as file:
        file.write(b"x" * 2_000_000)  # bytes just before the position may be reread
    it = iter(ps.FixedLengthRecordDataset(path, 10, buffer_size=4096))
    it.set_state(state)
    assert list(it) == [b"%09d\n" % i for i in range(taken, count)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"record_bytes": 0}, "record_bytes must be >= 1, got 0"),
        ({"record_bytes": 4, "header_bytes": -1}, "header_bytes must be >= 0, got -1"),
        ({"record_bytes": 4, "footer_bytes": -1}, "footer_bytes must be >= 0, got -1"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, words):
    for names in ("a", ["a"]):
        with pytest.raises(ValueError, match=f"FixedLengthRecordDataset: {words}"):
            ps.FixedLengthRecordDataset(names, **arguments)


def test_the_first_record_begins_after_the_header(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"HHaabb")
    ds = ps.FixedLengthRecordDataset(str(path), 2, header_bytes=2).map(int)
    it = iter(ds)
    for offset in (2, 4):
        with pytest.raises(ValueError) as caught:
            next(it)
        assert f"byte {offset})" in "".join(caught.value.__notes__)
