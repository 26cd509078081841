"""TextLineDataset: the lines of files, sequentially or from several files concurrently."""

import itertools
import os
import pickle

import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps
from nightly import nightly
from records import COMPRESS, COMPRESSIONS, in_turn

TEXTS = [b"one\ntwo\r\n\r\nthree", b"", b"\n", b"\rx\r\r\n\xff\0end\n", b"last\n\n"]
LINES = [[b"one", b"two", b"", b"three"], [], [b""], [b"\rx\r", b"\xff\0end"], [b"last", b""]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    paths = []
    for i, text in enumerate(TEXTS):
        path = folder / f"{i}.txt"
        path.write_bytes(text)
        paths.append(str(path))
    return paths


class OfFiles(DatasetContract):
    """The contract for files written by a fixture."""

    @pytest.fixture(autouse=True)
    def _files(self, files):
        type(self).files = files


class TestOneFile(OfFiles):
    @classmethod
    def build(cls):
        return ps.TextLineDataset(cls.files[0])

    expected = LINES[0]


class TestManyFiles(OfFiles):
    @classmethod
    def build(cls):
        return ps.TextLineDataset(cls.files, buffer_size=1)

    expected = list(itertools.chain(*LINES))


class TestParallelReads(OfFiles):
    @classmethod
    def build(cls):
        return ps.TextLineDataset(cls.files, num_parallel_reads=3)

    expected = list(in_turn(LINES, 3))


STRETCH = 64 << 10  # the minimum read size of a thread


def long_lines():
    """Return lines that end at, before and after the ends of stretches, or span several of them."""
    sizes = [100, 0, 8 * STRETCH // 3, 0, 5, STRETCH - 1, STRETCH - 2, 1, STRETCH, 3, 20_000]
    lines = [bytes([97 + i % 26]) * size for i, size in enumerate(sizes * 2)]
    # The next line begins with a stretch, and the last one has no line end.
    used = sum(len(line) + 1 for line in lines)
    return [*lines, b"." * (-used % STRETCH - 1), *([b"short"] * 12), b"\r", b"the end"]


@pytest.fixture(scope="module")
def long_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "long.txt"
    path.write_bytes(b"\n".join(long_lines()))
    return str(path)


class TestParallelCalls(DatasetContract):
    @pytest.fixture(autouse=True)
    def _file(self, long_file):
        type(self).file = long_file

    @classmethod
    def build(cls, num_parallel_calls=None):
        return ps.TextLineDataset(cls.file, buffer_size=1, num_parallel_calls=num_parallel_calls)

    expected = [line.removesuffix(b"\r") for line in long_lines()]


@pytest.mark.parametrize("calls", [2, ps.AUTOTUNE, *nightly(1, 5)])
def test_threads_change_no_batch_and_no_randomness(tmp_path, calls):
    lines = [b"%d" % (i * i) for i in range(120_000)]
    path = tmp_path / "numbers.txt"
    path.write_bytes(b"\r\n".join(lines))

    def elements(calls):
        ds = ps.TextLineDataset(path, buffer_size=1000, num_parallel_calls=calls)
        return ds.map(lambda line: (line, ps.random.uniform((), seed=7))).batch(1024)

    assert_same(list(elements(calls)), list(elements(None)))


@pytest.mark.parametrize("calls", [None, 3])
def test_a_line_that_is_too_long_is_an_error_where_it_is(tmp_path, calls):
    path = tmp_path / "long.txt"
    lines = [b"line %d" % i for i in range(60_000)]
    path.write_bytes(b"\n".join([*lines, b"x" * 5000, *lines]))
    ds = ps.TextLineDataset(
        path, buffer_size=1, num_parallel_calls=calls, max_record_bytes=4096, on_error="raise"
    )
    came = steps(iter(ds), most=2 * len(lines))
    assert came[: len(lines)] == lines
    assert "a record of 5000 bytes is longer" in str(came[len(lines)])
    assert len(came) == len(lines) + 1


def test_states_serve_any_number_of_threads(long_file):
    def lines(calls):
        return iter(ps.TextLineDataset(long_file, buffer_size=1, num_parallel_calls=calls))

    wanted = list(lines(None))
    for steps_before in (0, 3, len(wanted) // 2, len(wanted) - 1, len(wanted)):
        for saved, restored in ((3, None), (None, 3), (2, 5)):
            it = lines(saved)
            for _ in range(steps_before):
                next(it)
            other = lines(restored)
            other.set_state(it.get_state())
            assert list(other) == wanted[steps_before:]


def test_a_file_that_grows_while_threads_read_it_is_read_to_its_end(tmp_path):
    path = tmp_path / "growing.txt"
    path.write_bytes(b"%01000d\n" % 1 * 600)
    it = iter(ps.TextLineDataset(path, buffer_size=1, num_parallel_calls=2))
    assert [len(next(it)) for _ in range(70)] == [1000] * 70
    with path.open("ab") as file:
        file.write(b"more\n")
    assert list(it)[-1] == b"more"


@pytest.mark.parametrize("calls", [None, 1, 3, ps.AUTOTUNE])
@pytest.mark.parametrize("size", [80_000, 2_000_003, 3_999_999])
def test_a_file_that_is_truncated_while_threads_read_it_is_an_error(tmp_path, calls, size):
    path = tmp_path / "cut.txt"
    lines = [b"%07d" % i for i in range(500_000)]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    it = iter(ps.TextLineDataset(path, buffer_size=1, num_parallel_calls=calls))
    assert next(it) == lines[0]
    os.truncate(path, size)
    *came, error = steps(it, most=len(lines))
    assert came == lines[1 : 1 + len(came)]
    assert len(came) < len(lines) - 1
    assert error.kind == "DataError"
    assert "the file had 4000000 bytes when it was opened, and now ends at byte" in error.text
    assert "it was truncated while it was read" in error.text
    assert list(it) == []


@pytest.mark.parametrize("calls", [None, 1, 3, ps.AUTOTUNE])
@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_a_file_that_is_replaced_while_threads_read_it_is_read_to_its_end(tmp_path, calls, change):
    path, other = tmp_path / "old.txt", tmp_path / "new.txt"
    lines = [b"%07d" % i for i in range(500_000)]
    path.write_bytes(b"\n".join(lines))
    other.write_bytes(b"new version\n" * 500_000)
    ds = ps.TextLineDataset(path, buffer_size=1, num_parallel_calls=calls)
    it = iter(ds)
    assert next(it) == lines[0]
    if change == "replaced":
        other.replace(path)
    else:
        path.unlink()
    assert list(it) == lines[1:]
    if change == "replaced":
        assert list(ds) == [b"new version"] * 500_000


def test_indexed_lines_take_no_threads(long_file):
    with pytest.raises(ValueError, match="num_parallel_calls must be None, got 2"):
        ps.TextLineDataset(long_file, num_parallel_calls=2, indexed=True)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_compressed_files_have_the_same_lines(tmp_path, compression):
    paths = []
    for i, text in enumerate(TEXTS):
        paths.append(tmp_path / str(i))
        paths[-1].write_bytes(COMPRESS[compression](text))
    ds = ps.TextLineDataset(paths, compression, buffer_size=1)
    assert list(ds) == list(itertools.chain(*LINES))


def test_a_compressed_file_is_no_text(tmp_path):
    path = tmp_path / "lines.gz"
    path.write_bytes(COMPRESS["GZIP"](b"one\ntwo\n"))
    (came,) = steps(iter(ps.TextLineDataset(path)))
    assert came.kind == "DataError"
    assert 'try compression_type="GZIP"' in came.text
    assert str(path) in came.text


@pytest.mark.parametrize("reads", [1, 2, 5, 16, ps.AUTOTUNE])
def test_parallel_reads_take_a_line_of_each_in_turn(files, reads):
    wanted = list(in_turn(LINES, 8 if reads == -1 else reads))
    assert_same(list(ps.TextLineDataset(files, num_parallel_reads=reads)), wanted)
    assert sorted(wanted) == sorted(itertools.chain(*LINES))


def test_names_can_be_paths_or_a_dataset(files, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"1\n2\n")
    wanted = [b"1", b"2"]
    assert_same(list(ps.TextLineDataset(path)), wanted)
    assert_same(list(ps.TextLineDataset([path, str(path)])), wanted * 2)
    assert_same(list(ps.TextLineDataset(ps.Dataset.list_files(path))), wanted)
    bytes_names = ps.Dataset.from_tensor_slices([str(path).encode()])
    assert_same(list(ps.TextLineDataset(bytes_names)), wanted)


@pytest.mark.parametrize("reads", [None, 1, 2])
def test_a_missing_file_is_an_error_at_its_place_and_the_next_follows(files, tmp_path, reads):
    missing = str(tmp_path / "missing")
    ds = ps.TextLineDataset([files[0], missing, files[4]], num_parallel_reads=reads)
    came = steps(iter(ds))
    errors = [s for s in came if isinstance(s, Failure)]
    assert [error.kind for error in errors] == ["FileNotFoundError"]
    assert missing in errors[0].text
    lines = [s for s in came if not isinstance(s, Failure)]
    assert sorted(lines) == sorted(LINES[0] + LINES[4])
    if reads is None:
        assert came == [*LINES[0], errors[0], *LINES[4]]


def test_a_missing_file_alone_is_one_error(tmp_path):
    came = steps(iter(ps.TextLineDataset(tmp_path / "missing")))
    assert [s.kind for s in came] == ["FileNotFoundError"]


def test_a_folder_is_an_error_that_names_it(tmp_path):
    came = steps(iter(ps.TextLineDataset(tmp_path)))
    assert [s.kind for s in came] == ["IsADirectoryError"]
    assert str(tmp_path) in came[0].text


@pytest.mark.parametrize("buffer_size", [None, 0, 1, 5000])
def test_lines_longer_than_the_buffer_come_whole(tmp_path, buffer_size):
    lines = [bytes([65 + i]) * n for i, n in enumerate((3_000_000, 0, 5000, 1, 4096, 4095))]
    path = tmp_path / "long"
    path.write_bytes(b"\r\n".join(lines))
    ds = ps.TextLineDataset(path, buffer_size=buffer_size)
    assert list(ds) == lines


def test_lines_are_batched_as_objects(files):
    batch = ps.TextLineDataset(files[0]).batch(4).first()
    assert batch.dtype == object
    assert batch.tolist() == LINES[0]


def test_the_spec_is_known_without_reading():
    assert ps.TextLineDataset("nowhere").element_spec == ps.TensorSpec((), bytes)
    assert ps.TextLineDataset(["nowhere"]).element_spec == ps.TensorSpec((), bytes)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"compression_type": "LZ4"}, ValueError, 'compression_type must be None.*got "LZ4"'),
        ({"num_parallel_reads": 0}, ValueError, "must be >= 1, got 0"),
        ({"num_parallel_reads": -2}, ValueError, "must be >= 1, got -2"),
        ({"buffer_size": -1}, ValueError, "buffer_size must be >= 0 bytes, got -1"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, error, words):
    with pytest.raises(error, match=words):
        ps.TextLineDataset(["a"], **arguments)
    if "num_parallel_reads" not in arguments:
        with pytest.raises(error, match=words):
            ps.TextLineDataset("a", **arguments)


@pytest.mark.parametrize("names", [3, [3], None])
def test_what_is_no_name_is_refused(names):
    with pytest.raises(TypeError):
        ps.TextLineDataset(names)


def test_a_dataset_of_other_things_is_an_error_at_each(files):
    came = steps(iter(ps.TextLineDataset(ps.Dataset.range(2))))
    assert [s.kind for s in came] == ["TypeError"] * 2


def test_a_source_of_files_is_a_class(tmp_path):
    file = tmp_path / "lines"
    file.write_text("a\nb\n")
    lines = ps.TextLineDataset(file)
    assert isinstance(lines, ps.TextLineDataset)
    assert type(lines.take(1)) is ps.Dataset
    assert type(pickle.loads(pickle.dumps(lines))) is ps.Dataset
    assert list(pickle.loads(pickle.dumps(lines))) == [b"a", b"b"]

    class Twice(ps.TextLineDataset):
        def __init__(self, path):
            super().__init__([path, path])
            self.path = path

    class Forgets(ps.TextLineDataset):
        def __init__(self):
            pass

    with pytest.raises(AttributeError, match=r"Forgets: nothing has made .* super\(\).__init__"):
        list(Forgets())
    with pytest.raises(AttributeError, match="no attribute 'frob'"):
        lines.frob

    twice = Twice(file)
    assert list(twice) == [b"a", b"b"] * 2
    assert isinstance(twice, ps.TextLineDataset)
    assert twice.path == file
    assert list(ps.Dataset.zip((twice, lines)).batch(2).first()[0]) == [b"a", b"b"]


@pytest.mark.parametrize("buffer_size", [0, 1, 2, 3, 4, None])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"\xef\xbb\xbfone\ntwo\n", [b"one", b"two"]),
        (b"\xef\xbb\xbf\r\ntwo", [b"", b"two"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb", [b"\xef\xbb"]),
        (b"\xef\xbbx\n", [b"\xef\xbbx"]),
        (b"\n\xef\xbb\xbfx\n", [b"", b"\xef\xbb\xbfx"]),
        (b"\xef\xbb\xbf" * 2 + b"\n" + b"x" * 70 + b"\n", [b"\xef\xbb\xbf", b"x" * 70]),
        (b"\xef\xbb\xbf" + b"x" * 70 + b"\r\n" + b"y" * 200, [b"x" * 70, b"y" * 200]),
    ],
)
def test_a_byte_order_mark_is_not_part_of_a_line(tmp_path, content, lines, buffer_size):
    path = tmp_path / "lines.txt"
    path.write_bytes(content)
    it = iter(ps.TextLineDataset(path, buffer_size=buffer_size))
    states = [it.get_state()]
    came = []
    for line in it:
        came.append(line)
        states.append(it.get_state())
    assert came == lines
    for done, state in enumerate(states):
        again = iter(ps.TextLineDataset(path, buffer_size=buffer_size))
        again.set_state(state)
        assert list(again) == lines[done:]
    ps.index(path)
    assert list(ps.TextLineDataset(path, indexed=True)) == lines
    if lines:
        assert ps.TextLineDataset(path, indexed=True)[-1] == lines[-1]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_byte_order_mark_in_a_compressed_file_is_not_part_of_a_line(tmp_path, compression):
    path = tmp_path / "lines"
    path.write_bytes(COMPRESS[compression](b"\xef\xbb\xbfone\n"))
    assert list(ps.TextLineDataset(path, compression)) == [b"one"]
