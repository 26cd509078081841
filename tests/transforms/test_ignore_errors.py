"""ignore_errors and on_error: failing elements are dropped, reported, or raised."""

import itertools
import logging

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, Boom, DatasetContract, Failure, steps


def _fails_at(bad, x):
    if int(x) in bad:
        raise ValueError(f"bad {int(x)}")
    return x


def fails_at(*bad):
    return lambda x: _fails_at(bad, x)


@ps.native
def inverse(x):
    return 12 // ps.reshape(x, (x * 0 + 1,))[x * 0]


class _Source(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9))
    pickles = False
    errors_upstream = 0

    def expected_around_error(self):
        return [x for x in self.wanted() if x != BOOM]


class TestIgnoreErrors(_Source):
    apply = staticmethod(lambda ds: ds.map(fails_at(1, 2, 7, 8)).ignore_errors())
    expected = [0, 3, 4, 5, 6]


class TestOnErrorOfMap(_Source):
    @staticmethod
    def apply(ds, num_parallel_calls=None):
        return ds.map(fails_at(0, 5), num_parallel_calls, on_error="skip")

    expected = [1, 2, 3, 4, 6, 7, 8]


class TestOnErrorBeforeABatch(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9))
    pickles = False
    errors_upstream = 0

    @staticmethod
    def apply(ds, num_parallel_calls=None):
        return ds.map(fails_at(0, 5), num_parallel_calls, on_error="skip").batch(3)

    expected = [np.array([1, 2, 3]), np.array([4, 6, 7]), np.array([8])]

    def expected_around_error(self):
        return [np.array([1, 2, 3]), np.array([6, 7, 8])]


class TestOnErrorOfFilter(_Source):
    apply = staticmethod(
        lambda ds: ds.filter(lambda x: _fails_at((3,), x) % 2 == 1, on_error="log")
    )
    expected = [1, 5, 7]


class TestOnErrorThatDecides(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9))
    pickles = False

    @staticmethod
    def apply(ds):
        def decide(error, info):
            if "1" in str(error) or isinstance(error, Boom):
                raise error

        return (
            ds.map(fails_at(1, 2, 7))
            .ignore_errors(max_errors=None)
            .map(lambda x: x, on_error=decide)
        )

    expected = [0, 3, 4, 5, 6, 8]
    errors_upstream = 0

    def expected_around_error(self):
        return [0, 3, 5, 6, 8]


def _open(n):
    if n == 2:
        raise ValueError("cannot open")
    return ps.Dataset.range(int(n)).map(fails_at(1))


class TestOnErrorOfInterleave(DatasetContract):
    @staticmethod
    def build(num_parallel_calls=None):
        return ps.Dataset.range(5).interleave(
            _open, 8, num_parallel_calls=num_parallel_calls, on_error="skip"
        )

    expected = [0, 0, 0, 2, 2, 3]
    pickles = False


def test_flat_map_leaves_out_what_cannot_be_opened_and_what_fails_inside():
    ds = ps.Dataset.range(5).flat_map(_open, on_error="skip")
    assert [int(x) for x in ds] == [0, 0, 2, 0, 2, 3]


# --- the limit ---


def every(n, what=ValueError):
    def check(x):
        raise what(f"no {int(x)}")

    return ps.Dataset.range(n).map(check)


def test_the_bound_counts_errors_in_a_row():
    ds = ps.Dataset.range(20).map(lambda x: 6 // (int(x) % 4 // 3)).ignore_errors(max_errors=3)
    assert [int(x) for x in ds] == [6] * 5


def test_the_error_behind_the_bound_is_raised_with_a_note_and_so_is_every_next_one():
    it = iter(every(6).ignore_errors(max_errors=4))
    with pytest.raises(ValueError, match="no 4") as caught:
        next(it)
    assert "penstock: max_errors=4 in a row were left out before this one" in caught.value.__notes__
    with pytest.raises(ValueError, match="no 5"):
        next(it)
    assert list(it) == []


def test_an_element_begins_the_count_anew():
    def check(x):
        if x != 3:
            raise ValueError(f"no {int(x)}")
        return x

    ds = ps.Dataset.range(8).map(check).ignore_errors(max_errors=2)
    assert_same(
        steps(iter(ds)),
        [
            Failure("ValueError", "no 2"),
            3,
            *[Failure("ValueError", "no 6")],
            Failure("ValueError", "no 7"),
        ],
    )


def test_by_default_a_hundred_in_a_row_are_left_out():
    assert steps(iter(every(100).ignore_errors())) == []
    assert steps(iter(every(101).ignore_errors())) == [Failure("ValueError", "no 100")]


def test_an_input_that_fails_for_ever_ends_in_an_error():
    with pytest.raises(ValueError, match="no 100"):
        list(every(10**15).ignore_errors())


def test_without_a_bound_any_number_is_left_out():
    assert list(every(1000).ignore_errors(max_errors=None)) == []


# --- arguments of the function ---


def test_a_function_is_told_where_it_failed_and_may_raise():
    told = []

    def tell(error, info):
        told.append((str(error), info))
        if info.element == 3:
            raise KeyError("stop here") from error
        return None if info.element == 1 else True

    it = iter(ps.Dataset.range(5).map(fails_at(1, 2, 3), on_error=tell))
    came = steps(it)
    assert_same([came[0], came[2]], [0, 4])
    assert came[1] == Failure("KeyError", "'stop here'")
    assert [(text, info.stage, info.element, info.text) for text, info in told] == [
        (f"bad {i}", "map", i, str(i)) for i in (1, 2, 3)
    ]


@pytest.mark.parametrize("calls", [None, 3])
def test_false_and_raise_give_the_very_error(calls):
    errors = []

    def refuse(error, info):
        errors.append(error)
        return False

    it = iter(ps.Dataset.range(3).map(fails_at(1), calls, on_error=refuse))
    assert next(it) == 0
    with pytest.raises(ValueError, match="bad 1") as caught:
        next(it)
    assert caught.value is errors[0]
    assert caught.value.__notes__ == ["penstock: in stage map, element 1 (1)"]
    assert next(it) == 2


def test_another_answer_is_an_error():
    ds = ps.Dataset.range(2).map(fails_at(0), on_error=lambda error, info: "skip")
    assert [s.kind if isinstance(s, Failure) else s for s in steps(iter(ds))] == ["TypeError", 1]


def test_errors_from_before_are_seen_too():
    told = []
    ds = (
        ps.Dataset.range(6)
        .map(fails_at(1))
        .filter(lambda x: x != 2, on_error=lambda error, info: told.append(info))
    )
    assert [int(x) for x in ds] == [0, 3, 4, 5]
    assert told == [ps.ErrorInfo("map", 1, function="<lambda>", text="1")]


def test_a_native_error_is_told_with_its_place():
    told = []
    crop = ps.native(lambda contents: ps.image.decode_jpeg(contents))
    ds = ps.Dataset.from_tensor_slices([b"no", b"jpeg"]).map(
        crop, on_error=lambda error, info: told.append((type(error), info.stage, info.element))
    )
    assert list(ds) == []
    assert told == [(ps.DataError, "map", 0), (ps.DataError, "map", 1)]


def corrupt_records(path):
    with ps.io.TFRecordWriter(str(path)) as writer:
        for i in range(5):
            writer.write(f"record {i}".encode())
    contents = bytearray(path.read_bytes())
    size = len(contents) // 5
    contents[2 * size + 12] ^= 1  # data of record 2
    path.write_bytes(contents)
    return 2 * size


@pytest.mark.parametrize("reads", [None, 2])
def test_corrupt_records_are_told_with_file_and_offset(tmp_path, reads):
    path = tmp_path / "some.tfrecord"
    offset = corrupt_records(path)
    told = []
    ds = ps.TFRecordDataset(
        [str(path)] * 2,
        num_parallel_reads=reads,
        on_error=lambda error, info: told.append((type(error), info)),
    )
    assert sorted(ds) == sorted([f"record {i}".encode() for i in (0, 1, 3, 4)] * 2)
    assert (
        told
        == [
            (ps.DataError, ps.ErrorInfo("TFRecordDataset", 2, str(path), offset)),
        ]
        * 2
    )


def test_a_missing_file_is_left_out(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("1\n2\n")
    names = [str(tmp_path / "missing"), str(path)]
    told = []
    ds = ps.TextLineDataset(names, on_error=lambda error, info: told.append((error, info)))
    assert list(ds) == [b"1", b"2"]
    assert isinstance(told[0][0], FileNotFoundError)
    assert told[0][1] == ps.ErrorInfo("TextLineDataset", 0, names[0], 0)
    assert list(ps.TextLineDataset(names, on_error="skip")) == [b"1", b"2"]


def test_a_generator_that_fails_has_ended():
    def values():
        yield 1
        yield "two"
        yield 3
        raise OSError("gone")

    spec = ps.TensorSpec((), np.int64)
    ds = ps.Dataset.from_generator(values, output_signature=spec, on_error="skip")
    assert [int(x) for x in ds] == [1, 3]


def test_log_warns_by_the_logger_penstock(caplog):
    with caplog.at_level(logging.WARNING, "penstock"):
        assert len(list(ps.Dataset.range(4).map(fails_at(2), on_error="log"))) == 3
        assert len(list(ps.Dataset.range(4).map(fails_at(3)).ignore_errors(log_warning=True))) == 3
    assert [record.getMessage() for record in caplog.records] == [
        "map: element 2 (2) skipped: ValueError: bad 2",
        "map: element 3 (3) skipped: ValueError: bad 3",
    ]


def test_the_log_is_not_written_again_for_steps_that_were_delivered(caplog):
    ds = ps.Dataset.range(8).map(fails_at(2, 6), on_error="log").batch(2).unbatch()
    it = iter(ds)
    seen = list(itertools.islice(it, 3))
    state = it.get_state()
    it.close()
    caplog.clear()
    again = iter(ds)
    again.set_state(state)
    with caplog.at_level(logging.WARNING, "penstock"):
        assert_same([*seen, *again], [0, 1, 3, 4, 5, 7])
    assert [r.getMessage()[:14] for r in caplog.records][-1:] == ["map: element 6"]


# --- arguments and the plan ---


@pytest.mark.parametrize(
    "make",
    [
        lambda ds, **k: ds.map(abs, **k),
        lambda ds, **k: ds.filter(bool, **k),
        lambda ds, **k: ds.flat_map(ps.Dataset.range, **k),
        lambda ds, **k: ds.interleave(ps.Dataset.range, **k),
        lambda ds, **k: ps.TextLineDataset("x", **k),
        lambda ds, **k: ps.Dataset.from_generator(list, **k),
    ],
)
def test_wrong_arguments_are_told_at_once(make):
    ds = ps.Dataset.range(3)
    expected = r'on_error must be "raise", "skip", "log", .* or a function'
    with pytest.raises(ValueError, match=expected):
        make(ds, on_error="ignore")
    with pytest.raises(ValueError, match="max_errors must be >= 1"):
        make(ds, on_error="skip", max_errors=0)
    assert "ignore_errors" not in repr(make(ds))


def test_a_native_reader_has_no_on_error():
    read = ps.native(lambda name: ps.TFRecordDataset(name, on_error="skip"))
    with pytest.raises(ps.TraceError, match="flat_map"):
        ps.Dataset.from_tensor_slices(["a"]).flat_map(read)


def test_random_numbers_behind_it_do_not_change():
    def drawn(**on_error):
        ds = ps.Dataset.range(20).map(lambda x: x, **on_error).shuffle(20, seed=1)
        return list(ds.map(lambda x: ps.random.uniform((), seed=3)))

    assert_same(drawn(on_error="skip"), drawn())


def test_the_experimental_function_is_the_method():
    ds = every(3).concatenate(ps.Dataset.range(2))
    assert_same(list(ds.apply(ps.experimental.ignore_errors())), [0, 1])
