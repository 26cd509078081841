"""filter: the kept elements."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, step, steps


def numbers():
    return ps.Dataset.range(15)


def third(x):
    return x % 3 == 0


native_third = ps.native(third)


class TestFilter(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.filter(third))
    expected = list(range(0, 15, 3))


class TestNative(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.filter(native_third))
    expected = list(range(0, 15, 3))


class TestNothingStays(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.filter(lambda x: False))
    expected = []
    pickles = False


@pytest.mark.parametrize("true", [True, np.True_, np.array(True), np.array([[True]])])
def test_one_bool_of_any_kind_decides(true):
    assert_same(list(ps.Dataset.range(2).filter(lambda x: true)), [0, 1])
    assert_same(list(ps.Dataset.range(2).filter(lambda x: not true)), [])


@pytest.mark.parametrize("answer", [1, 0.0, None, "yes", np.array([True, True]), []])
def test_another_answer_is_an_error_at_each_element(answer):
    came = steps(iter(ps.Dataset.range(2).filter(lambda x: answer)))
    assert [f.kind for f in came] == ["TypeError"] * 2
    assert "filter: the predicate must return one bool" in came[0].text


def test_a_failing_predicate_leaves_the_others():
    def fail(x):
        if x == 2:
            raise Boom("two")
        return x % 2 == 0

    ds = ps.Dataset.range(7).filter(fail)
    assert steps(iter(ds)) == [0, Failure("Boom", "two"), 4, 6]
    with pytest.raises(Boom) as error:
        list(ds)
    (note,) = error.value.__notes__
    assert note.startswith("penstock: in stage filter(fail), element 2")


def test_the_length_is_unknown_even_over_nothing():
    assert ps.Dataset.range(0).filter(third).cardinality() == ps.UNKNOWN_CARDINALITY


def test_a_tuple_becomes_arguments():
    ds = ps.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"]))
    assert_same(list(ds.filter(lambda n, s: s != "b")), [(1, "a"), (3, "c")])


LINES = [b"5", b"", b"12", b"x", b"7 ", b"-3", b"40", b"", b"1"] * 60


def is_some(line, *others):
    return ps.strings.length(line) > 0


def is_odd(i, line):
    return i % 2 == 1


def number(line):
    return ps.strings.to_number(line, np.int64)


def lines(folder):
    file = folder / "lines.txt"
    file.write_bytes(b"\n".join(LINES))
    return ps.TextLineDataset(str(file))


def rows():
    """Return strings, arrays of numbers and of strings, and numbers."""
    texts = np.array([b"", b"a", b"bc"] * 50, object)
    parts = texts, np.arange(300).reshape(150, 2), texts.reshape(-1, 1), np.arange(150.0)
    return ps.Dataset.from_tensor_slices(parts)


def grown(text, numbers, *others):
    return text, np.zeros(numbers[0] % 5)


KINDS = {
    "lines": lambda folder, f: lines(folder).filter(f(is_some)),
    "lines one by one": lambda folder, f: lines(folder).shuffle(20, 1, False).filter(f(is_some)),
    "rows": lambda folder, f: rows().filter(f(is_some)),
    "several shapes": lambda folder, f: rows().map(grown).filter(f(is_some)),
    "twice": lambda folder, f: lines(folder).filter(f(is_some)).enumerate().filter(f(is_odd)),
    "all": lambda folder, f: rows().filter(f(lambda *row: row[3] >= 0)),
    "none": lambda folder, f: rows().filter(f(lambda *row: row[3] < 0)),
    "shape of one": lambda folder, f: rows().filter(f(lambda *row: row[1][:1] % 3 == 0)),
    "some fail": lambda folder, f: lines(folder).filter(f(lambda line: number(line) > 4)),
}


@pytest.mark.parametrize("behind", [lambda ds: ds, lambda ds: ds.prefetch(2)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_native_predicate_is_as_a_plain_one(kind, behind, tmp_path):
    wanted = texts_of(steps(iter(KINDS[kind](tmp_path, lambda f: f))))
    ds = behind(KINDS[kind](tmp_path, ps.native))
    assert_same(texts_of(steps(iter(ds))), wanted)
    for taken in {0, min(1, len(wanted)), len(wanted) // 2, len(wanted)}:
        it = iter(ds)
        for _ in range(taken):
            step(it)
        other = iter(ds)
        other.set_state(it.get_state())
        assert_same(texts_of(steps(other)), wanted[taken:])


def texts_of(came):
    """Return elements, and errors without the frames of the functions."""
    return [s.text.split("\n")[0] if isinstance(s, Failure) else s for s in came]


def test_batches_of_what_stays(tmp_path):
    kept = [line for line in LINES if line]
    (batch,) = lines(tmp_path).filter(ps.native(is_some)).batch(len(LINES))
    assert batch.tolist() == kept
    pairs = rows().filter(ps.native(is_some)).padded_batch(60)
    assert [len(texts) for texts, *_ in pairs] == [60, 40]


@pytest.mark.parametrize("ahead", [lambda ds: ds, lambda ds: ds.shuffle(50, 1)])
def test_what_fails_behind_is_found_in_the_file(ahead, tmp_path):
    source = ahead(lines(tmp_path))
    offsets = np.cumsum([0, *(len(line) + 1 for line in LINES)])
    wanted = sorted(int(offsets[i]) for i, line in enumerate(LINES) if line == b"x")
    found = []
    it = iter(source.filter(ps.native(is_some)).map(ps.native(number)))
    while True:
        try:
            next(it)
        except ValueError as error:
            found.append(int(str(error.__notes__).split("byte ")[1].split(")")[0]))
        except StopIteration:
            break
    assert sorted(found) == wanted


@pytest.mark.parametrize(
    "answer", [lambda x: x, lambda x: (x > 1, x > 2), lambda x: ps.expand_dims(x, 0) > [1, 2]]
)
def test_native_predicates_that_return_something_else(answer):
    came = steps(iter(ps.Dataset.range(20).filter(ps.native(answer))))
    assert [f.kind for f in came] == ["TypeError"] * 20
    assert "filter: the predicate must return one bool" in came[0].text


def test_random_predicates_draw_the_same_for_blocks_and_single_elements():
    keep = ps.native(lambda x: ps.random.uniform((), seed=3) < 0.5)
    kept = ps.Dataset.range(500).filter(keep)
    found = [int(x) for x in kept]
    assert 100 < len(found) < 400
    assert [int(x) for x in kept.prefetch(2)] == found
    alone = ps.Dataset.range(500).map(lambda x: x).filter(keep)  # one element per request
    assert [int(x) for x in alone] == [int(x) for x in alone.prefetch(2)]


@pytest.mark.parametrize(("size", "most"), [(10, 64), (1 << 20, 2)])
def test_large_rows_are_not_made_long_before_they_are_wanted(size, most):
    made = []

    def rows(i):
        made.append(i)
        return np.zeros(size, np.uint8)

    ds = ps.Dataset.range(1000).map(rows).filter(ps.native(lambda row: row[0] == 0)).batch(64)
    with iter(ds.map(lambda batch: len(batch))) as it:
        assert next(it) == 64
        assert 64 <= len(made) <= 64 + most
    made.clear()
    with iter(ds.unbatch().take(3)) as it:
        next(it)
        assert len(made) <= 64 + most
