"""make_csv_dataset: batches of named columns; expected values are from TensorFlow 2.21."""

from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps
from records import COMPRESS, COMPRESSIONS

make = ps.experimental.make_csv_dataset

PLAIN = b"a,b,c\n1,2.5,x\n2,3,y\n3,,z\n"


def i32(*values):
    return np.array(values, np.int32)


def f32(*values):
    return np.array(values, np.float32)


def raw(*values):
    return np.array(values, object)


class TestBatches(DatasetContract):
    @pytest.fixture(autouse=True)
    def _file(self, write):
        type(self).path = write(PLAIN)

    @classmethod
    def build(cls):
        return make(cls.path, 2, "abc", label_name="c", num_epochs=2, shuffle=False)

    expected = [
        ({"a": i32(1, 2), "b": f32(2.5, 3)}, raw(b"x", b"y")),
        ({"a": i32(3, 1), "b": f32(0, 2.5)}, raw(b"z", b"x")),
        ({"a": i32(2, 3), "b": f32(3, 0)}, raw(b"y", b"z")),
    ]


@pytest.mark.parametrize(
    ("text", "arguments", "wanted"),
    [
        (PLAIN, {}, {"a": i32(1, 2, 3), "b": f32(2.5, 3, 0), "c": raw(b"x", b"y", b"z")}),
        (PLAIN, {"select_columns": ["c", "a"]}, {"a": i32(1, 2, 3), "c": raw(b"x", b"y", b"z")}),
        (PLAIN, {"select_columns": [2, 0]}, {"a": i32(1, 2, 3), "c": raw(b"x", b"y", b"z")}),
        (
            b"1,2\n3,4\n",
            {"header": False, "column_names": ["x", "y"]},
            {"x": i32(1, 3), "y": i32(2, 4)},
        ),
        (b"a,b\n1,2\n3,4\n", {"column_names": ["x", "y"]}, {"x": i32(1, 3), "y": i32(2, 4)}),
        (
            b"a,b,c,d\n1,1,1.5,\n99999999999,1e40,x,\n",
            {},
            {
                "a": np.array([1, 99999999999]),
                "b": np.array([1.0, 1e40]),
                "c": raw(b"1.5", b"x"),
                "d": raw(b"", b""),
            },
        ),
        (b"a,b\ninf,nan\n", {}, {"a": raw(b"inf"), "b": raw(b"nan")}),
        (b"a,b\n 1, 2.5\n", {}, {"a": i32(1), "b": f32(2.5)}),
        (b"a,b\nNA,1\n2,NA\n", {"na_value": "NA"}, {"a": i32(0, 2), "b": i32(1, 0)}),
        (b"a|b\n1|x\n", {"field_delim": "|"}, {"a": i32(1), "b": raw(b"x")}),
        (b'a,"b\nc"\n1,"x,\ny"\n', {}, {"a": i32(1), "b\nc": raw(b"x,\ny")}),
        (b'a,b\n1,"x"\n', {"use_quote_delim": False}, {"a": i32(1), "b": raw(b'"x"')}),
        (b"\xe4\n1\n", {"encoding": "latin-1"}, {"ä": i32(1)}),
        (b"\xef\xbb\xbfa\n1\n", {"encoding": "utf-8-sig"}, {"a": i32(1)}),
        (
            PLAIN,
            {"column_defaults": [np.int64, np.float64(9), str]},
            {"a": np.array([1, 2, 3]), "b": np.array([2.5, 3, 9]), "c": raw("x", "y", "z")},
        ),
    ],
)
def test_columns_have_these_values(write, text, arguments, wanted):
    ds = make(write(text), 3, num_epochs=1, shuffle=False, **arguments)
    assert_same(list(ds), [wanted])
    assert list(ds.element_spec) == list(wanted)


def test_a_number_that_decoding_does_not_take_is_a_text(write):
    # TensorFlow infers int32 for 1_000 here, and then fails to read it.
    ds = make(write(b"a,b,c\n1_000,-1e40,2147483648\n"), 1, num_epochs=1)
    assert_same(list(ds), [{"a": raw(b"1_000"), "b": np.array([-1e40]), "c": np.array([2**31])}])


def test_without_an_end_all_batches_are_full(write):
    ds = make(write(PLAIN), 2, shuffle=False)
    assert ds.cardinality() == ps.INFINITE_CARDINALITY
    assert ds.element_spec["a"] == ps.TensorSpec((2,), np.int32)
    assert_same([b["a"] for b in ds.take(4)], [i32(1, 2), i32(3, 1), i32(2, 3), i32(1, 2)])


def test_shuffling_is_the_default_and_repeatable(write):
    path = write(b"a\n" + b"".join(b"%d\n" % i for i in range(50)))

    def epochs(seed):
        return [b["a"].tolist() for b in make(path, 50, num_epochs=2, shuffle_seed=seed)]

    first, second = epochs(7)
    assert first != second
    assert sorted(first) == sorted(second) == list(range(50))
    assert epochs(7) == [first, second]
    assert epochs(8) != [first, second]


def test_several_files_are_read_in_turn(write):
    for name, text in (("1.csv", b"a\n1\n2\n"), ("2.csv", b"a\n3\n4\n")):
        pattern = write(text, name).replace(name, "*.csv")

    def rows(**arguments):
        (batch,) = make(pattern, 9, num_epochs=1, shuffle=False, **arguments)
        return batch["a"].tolist()

    assert rows() == [1, 2, 3, 4]
    assert rows(num_parallel_reads=2) == rows(num_parallel_reads=ps.AUTOTUNE) == [1, 3, 2, 4]
    assert sorted(rows(num_parallel_reads=2, sloppy=True)) == [1, 2, 3, 4]
    assert rows(prefetch_buffer_size=0) == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_compressed_files_tell_their_columns_too(write, kind):
    path = write(COMPRESS[kind](PLAIN))
    (batch,) = make(path, 3, num_epochs=1, shuffle=False, compression_type=kind)
    assert_same([batch["a"]], [i32(1, 2, 3)])


def test_only_so_many_records_are_looked_at(write):
    path = write(b"a\n1\nx\n2\n")
    found = steps(iter(make(path, 1, num_epochs=1, shuffle=False, num_rows_for_inference=1)))
    assert [s.kind if isinstance(s, Failure) else s["a"].tolist() for s in found] == [
        *([1], "DataError"),
        [2],
    ]
    (batch,) = make(path, 3, num_epochs=1, shuffle=False, num_rows_for_inference=None)
    assert_same([batch["a"]], [raw(b"1", b"x", b"2")])


def test_a_record_that_fails_leaves_the_others(write):
    # TensorFlow loses the other records of the batch.
    path = write(b"a,b\n1,2\nx,3\n4,5\n")
    found = steps(iter(make(path, 2, num_epochs=1, shuffle=False, num_rows_for_inference=1)))
    assert found[0].kind == "DataError"
    assert_same(found[1:], [{"a": i32(1, 4), "b": i32(2, 5)}])


BROKEN = (b"a,b\n1,2\nx,3\n\n4,5\n6\n7,8\n", b"a,b\n10,20\ny,z\n30,40\n")


class TestBatchesWithoutWhatFails(DatasetContract):
    """Failing records are dropped: they take no place in a batch or in the order."""

    pickles = False

    @pytest.fixture(autouse=True)
    def _files(self, write):
        type(self).paths = [write(text, f"{i}.csv") for i, text in enumerate(BROKEN)]

    @classmethod
    def build(cls, num_parallel_reads=2, **arguments):
        given = {"num_epochs": 2, "shuffle": False, "num_rows_for_inference": 1} | arguments
        return make(
            cls.paths, 3, ignore_errors=True, num_parallel_reads=num_parallel_reads, **given
        )

    expected = [
        {"a": i32(1, 10, 4), "b": i32(2, 20, 5)},
        {"a": i32(30, 7, 1), "b": i32(40, 8, 2)},
        {"a": i32(10, 4, 30), "b": i32(20, 5, 40)},
        {"a": i32(7), "b": i32(8)},
    ]

    def test_one_file_after_the_other(self):
        for reads, wanted in ((None, [1, 4, 7, 10, 30]), (ps.AUTOTUNE, [1, 10, 4, 30, 7])):
            ds = self.build(reads, num_epochs=1).unbatch()
            assert [int(row["a"]) for row in ds] == wanted
            assert ds.element_spec == {n: ps.TensorSpec((), np.int32) for n in "ab"}

    def test_shuffled(self):
        ds = self.build(num_epochs=3, shuffle=True, shuffle_seed=1, sloppy=True).unbatch()
        rows = [int(row["a"]) for row in ds]
        assert [sorted(rows[i : i + 5]) for i in (0, 5, 10)] == [[1, 4, 7, 10, 30]] * 3

    def test_files_that_are_gone_or_end_within_quotes(self, write):
        names = [*self.paths, write(b"a,b\n5,6\n", "gone.csv"), write(b"a,b\n8,9\n", "torn.csv")]
        arguments = {"num_epochs": 1, "shuffle": False, "num_rows_for_inference": 1}
        ds = make(names, 9, ignore_errors=True, **arguments)
        Path(names[2]).unlink()
        write(b'a,b\n8,9\n1,"2\n', "torn.csv")
        assert [batch["a"].tolist() for batch in ds] == [[1, 4, 7, 10, 30, 8]]
        kinds = {
            s.kind for s in steps(iter(make(names[3:], 1, **arguments))) if isinstance(s, Failure)
        }
        assert kinds == {"DataError"}


def test_a_file_in_which_too_much_fails_is_an_error(write):
    path = write(b"a\n1\n" + b"x\n" * 100 + b"2\n" + b"x\n" * 101)
    arguments = {"num_epochs": 1, "shuffle": False, "num_rows_for_inference": 1}
    found = steps(iter(make(path, 2, ignore_errors=True, **arguments)))
    assert [s.kind if isinstance(s, Failure) else s["a"].tolist() for s in found] == [
        [1, 2],
        "DataError",
    ]


def test_a_file_of_a_header_alone_has_no_batches(write):
    ds = make(write(b"a,b\n"), 1, num_epochs=1)
    assert list(ds) == []
    assert ds.element_spec == {n: ps.TensorSpec((None,), bytes) for n in "ab"}


@pytest.mark.parametrize(
    ("texts", "arguments", "words"),
    [
        ([b"a,a\n1,2\n"], {}, "names of columns must be unique, \\['a'\\] are not"),
        ([PLAIN], {"label_name": "q"}, "label_name must be one of .* got 'q'"),
        ([PLAIN], {"label_name": "a", "select_columns": ["b"]}, "label_name must be one of"),
        ([PLAIN], {"select_columns": ["q"]}, "select_columns must be names or numbers .* got 'q'"),
        ([PLAIN], {"select_columns": [7]}, "select_columns must be names or numbers .* got 7"),
        ([PLAIN], {"select_columns": [-1]}, "select_columns must be names or numbers"),
        ([PLAIN], {"select_columns": ["a", 0]}, "select_columns must name a column once"),
        ([PLAIN], {"column_defaults": [0]}, "column_defaults must have 3 entries"),
        ([PLAIN], {"header": False}, "column_names must be given when header is False"),
        ([b"a,b\n1\n"], {}, "2 fields were expected, record 2 of .* has 1"),
        ([b"a,b\n1,2\n\n"], {}, "2 fields were expected, record 3 of .* has 0"),
        ([b""], {}, "a header was expected, .* is empty"),
        ([b"a,b\n1,2\n", b"a,c\n1,2\n"], {}, "the headers of all files must be equal"),
        ([PLAIN], {"batch_size": 0}, "batch_size must be >= 1"),
        ([PLAIN], {"compression_type": "LZ4"}, "LZ4"),
    ],
)
def test_wrong_arguments_are_refused(write, texts, arguments, words):
    paths = [write(text, f"{i}.csv") for i, text in enumerate(texts)]
    with pytest.raises((ValueError, TypeError), match=words):
        make(paths, **{"batch_size": 1, **arguments})


def test_files_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file matches"):
        make(str(tmp_path / "*.csv"), 1)
    with pytest.raises(IsADirectoryError):
        make(str(tmp_path), 1)


def test_a_header_that_is_never_closed_is_an_error(write):
    with pytest.raises(ps.DataError, match="the quote at byte 2 of the file is not closed"):
        make(write(b'a,"b\n1,2\n'), 1)


@pytest.mark.parametrize("begin", [b"a,b", b'"a","b"', b"a,b\r"])
def test_a_byte_order_mark_is_not_part_of_a_column_name(write, begin):
    marked = b"\xef\xbb\xbf" + begin + b"\n1,2\n"
    files = [write(marked), write(b"a,b\n3,4\n", "b.csv")]
    wanted = [{"a": i32(1, 3), "b": i32(2, 4)}]
    assert_same(list(make(files, 5, num_epochs=1, shuffle=False)), wanted)
    labelled = make(files[0], 5, label_name="a", num_epochs=1, shuffle=False)
    assert_same(list(labelled), [({"b": i32(2)}, i32(1))])
    with pytest.raises(ps.DataError, match="a header was expected, the file is empty"):
        list(ps.experimental.CsvDataset(write(b"\xef\xbb\xbf", "c.csv"), [0], header=True))


@pytest.mark.parametrize(
    ("text", "number"), [(b"a,\xff\n1,2\n", 1), (b"a,b\n1,\xff\n", 2), (b"a,b\n1,%s\n", 2)]
)
def test_records_that_cannot_be_examined_are_named(write, text, number):
    file = write(text.replace(b"%s", b"x" * 200_000))
    with pytest.raises(ps.DataError, match=rf"^make_csv_dataset: record {number}: ") as caught:
        make(file, 2)
    assert caught.value.file == str(file)
