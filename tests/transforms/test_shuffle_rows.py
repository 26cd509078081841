"""Rows leave a shuffle buffer unchanged, with their origin."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

COUNT = 60


def numbers(i):
    return {
        "id": np.int64(i),
        "vector": np.full((3,), i, np.float32),
        "empty": np.zeros((0, 2), np.int8),
        "flag": i % 2 == 0,
        "complex": np.complex128(i + 1j),
        "time": np.datetime64(i, "s"),
        "text": "é" * (i % 7),
        "bytes": b"x" * (i % 5),
    }


KINDS = {
    "numbers": lambda i: np.int32(i),
    "strings": lambda i: f"{i}" + "." * (i * 17 % 900),
    "dicts": numbers,
    "one large string in some": lambda i: (i, b"\0" * (40_000 if i % 9 == 5 else i)),
    "large arrays": lambda i: np.full((70, 70), i, np.float32),
    "ragged": lambda i: (i, np.arange(i % 6)),
    "arrays of strings": lambda i: (i, np.array([f"{i}", "b"], object)),
    "objects": lambda i: Fraction(i, 7),
    "another form at the end": lambda i: (
        np.float64(i) if i > 50 else np.zeros((i // 25 + 1, 2)) + i
    ),
    "no leaves": lambda i: (),
}


def shuffled(kind, size):
    rows = ps.Dataset.from_generator(lambda: map(KINDS[kind], range(COUNT)))
    return rows.shuffle(size, seed=3, reshuffle_each_iteration=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_every_kind_of_row(kind, size):
    came = list(shuffled(kind, size))
    expected = list(ps.Dataset.from_generator(lambda: map(KINDS[kind], range(COUNT))))
    if size == 1:
        assert_same(came, expected)
    assert_same(sorted(came, key=repr), sorted(expected, key=repr))


@pytest.mark.parametrize("kind", ["numbers", "strings", "dicts"])
def test_in_batches(kind):
    rows = shuffled(kind, 20)
    assert_same(list(rows.batch(7).unbatch()), list(rows))


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_in_the_middle(kind):
    rows = shuffled(kind, 20)
    expected = list(rows)
    with iter(rows) as it:
        assert_same(list(islice(it, 25)), expected[:25])
        state = it.get_state()
    with iter(rows) as other:
        other.set_state(state)
        assert_same(list(other), expected[25:])


def test_a_state_of_more_rows_than_there_are():
    rows = [1, 2, 3, 4, 5, 6]

    def dataset():
        return ps.Dataset.from_generator(lambda: iter(rows)).shuffle(4)

    with iter(dataset()) as it:
        next(it)
        state = it.get_state()
    del rows[2:]
    with iter(dataset()) as it:
        with pytest.warns(RuntimeWarning, match="from_generator: the function has changed"):
            it.set_state(state, strict=False)
        with pytest.raises(RuntimeError, match="fewer elements than when the state was saved"):
            next(it)
        assert list(it) == []


def two_files(folder):
    for name in "ab":
        lines = "".join(f"{name}{i:03}\n" for i in range(40))
        (folder / name).write_text(lines)
    return ps.TextLineDataset([str(folder / name) for name in "ab"])


@ps.native
def measured(line):
    return line, ps.strings.length(line)


@ps.native
def lengths(line):
    return ps.cast(ps.strings.length(line), np.int32)


def failures(dataset):
    """Return the errors of the elements, all of which fail."""
    came = []
    with iter(dataset) as it:
        while True:
            try:
                assert next(it) is None
            except StopIteration:
                return came
            except ValueError as error:
                came.append(error)


def refuse(*row):
    raise ValueError(row[0])


@ps.native
def parsed(line):
    return ps.strings.to_number(line)


@pytest.mark.parametrize(
    "stages",
    [
        lambda ds: ds.map(refuse),
        lambda ds: ds.map(parsed),
        lambda ds: ds.map(parsed, num_parallel_calls=2),
        lambda ds: ds.map(measured).map(refuse),
        lambda ds: ds.map(measured, num_parallel_calls=2).map(refuse),
        lambda ds: ds.map(lambda line: (line, len(line))).map(refuse),
        lambda ds: ds.map(lambda line: (line, len(line)), num_parallel_calls=2).map(refuse),
        lambda ds: ds.batch(4).unbatch().take(0).concatenate(ds.map(measured).cache().map(refuse)),
    ],
)
@pytest.mark.parametrize("ahead", [lambda ds: ds, lambda ds: ds.shuffle(60)])
def test_a_row_knows_its_file(ahead, stages, tmp_path):
    errors = failures(stages(ahead(two_files(tmp_path))))
    assert len(errors) == 80
    for error in errors:
        text = str(error)
        at = min(text.index(f"{name}0") for name in "ab" if f"{name}0" in text)
        name, number = text[at], int(text[at + 1 : at + 4])
        assert f"(file {tmp_path / name}, byte {5 * number})" in error.__notes__[0]


@pytest.mark.parametrize("ahead", [lambda ds: ds, lambda ds: ds.shuffle(60)])
@pytest.mark.parametrize("function", [lengths, lambda line: len(line)])
@pytest.mark.parametrize("calls", [None, 2])
def test_a_row_made_of_another_knows_its_file(ahead, function, calls, tmp_path):
    def refuse_length(x):
        raise ValueError(int(x))

    made = ahead(two_files(tmp_path)).map(function, num_parallel_calls=calls).map(refuse_length)
    came = [error.__notes__[0].split("(file ")[1].split(")")[0] for error in failures(made)]
    places = [f"{tmp_path / name}, byte {5 * i}" for name in "ab" for i in range(40)]
    assert sorted(came) == sorted(places)
