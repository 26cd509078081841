"""pack: several sequences in one fixed-length row."""

import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, DatasetContract, Failure, steps


def filled(n):
    return np.full(n, n)


def mixed(i):
    """Yield sequences whose lengths fit and fill rows in all ways."""
    return filled((i * 5) % 7 + 1)


def source():
    return ps.Dataset.range(12).map(mixed)


def row(segments, length, fill=0):
    """Return (values, segment_ids, positions) of one row."""
    values, ids = np.full(length, fill), np.zeros(length, np.int32)
    positions = np.zeros(length, np.int32)
    at = 0
    for number, segment in enumerate(segments, 1):
        end = at + len(segment)
        values[at:end], ids[at:end], positions[at:end] = segment, number, np.arange(len(segment))
        at = end
    return values, ids, positions


def first_fit(sequences, length, most, fill=0):
    """Pack with a plain loop: rows in the order in which they are emitted."""
    packs, out, begun = [], [], 0
    for sequence in sequences:
        room = (p for p in packs if sum(map(len, p[1])) + len(sequence) <= length)
        found = next(room, None)
        if found is None:
            while packs and (len(packs) == most or begun - packs[0][0] >= 4 * most):
                out.append(packs.pop(0))
            found = (begun, [])
            packs.append(found)
            begun += 1
        found[1].append(sequence)
        if sum(map(len, found[1])) == length:
            packs.remove(found)
            out.append(found)
    return [row(segments, length, fill) for _, segments in out + packs]


def cut(sequences, length, drop=False):
    """Concatenate and split with a plain loop."""
    packs = [[]]
    for sequence in sequences:
        while len(sequence):
            room = length - sum(map(len, packs[-1]))
            packs[-1].append(sequence[:room])
            sequence = sequence[room:]
            if sum(map(len, packs[-1])) == length:
                packs.append([])
    if not packs[-1] or drop:
        packs.pop()
    return [row(pack, length) for pack in packs]


SEQUENCES = [mixed(i) for i in range(12)]


class TestPack(DatasetContract):
    source = staticmethod(source)
    apply = staticmethod(lambda ds: ds.pack(9, open_packs=3))
    expected = staticmethod(lambda: first_fit(SEQUENCES, 9, 3))

    def expected_around_error(self):
        return first_fit(SEQUENCES[:BOOM] + SEQUENCES[BOOM + 1 :], 9, 3)


class TestPackWithOneRow(DatasetContract):
    source = staticmethod(source)
    apply = staticmethod(lambda ds: ds.pack(7, open_packs=1, padding_values=-1))
    expected = staticmethod(lambda: first_fit(SEQUENCES, 7, 1, -1))


class TestPackOfPieces(DatasetContract):
    source = staticmethod(source)
    apply = staticmethod(lambda ds: ds.pack(3, too_long="split", open_packs=2))

    @staticmethod
    def expected():
        return first_fit([s[i : i + 3] for s in SEQUENCES for i in range(0, len(s), 3)], 3, 2)


class TestConcatThenSplit(DatasetContract):
    source = staticmethod(source)
    apply = staticmethod(lambda ds: ds.pack(5, "concat_then_split"))
    expected = staticmethod(lambda: cut(SEQUENCES, 5))


class TestConcatThenSplitIntoShortRows(DatasetContract):
    source = staticmethod(source)
    apply = staticmethod(lambda ds: ds.pack(2, "concat_then_split", drop_remainder=True))
    expected = staticmethod(lambda: cut(SEQUENCES, 2, True))


def pair(i):
    return {"x": filled(i % 4), "y": np.full(2 * (i % 3), i, np.float32)}


class TestPackOfTwoComponents(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9).map(pair))
    apply = staticmethod(
        lambda ds: ds.pack({"y": 5, "x": 4}, open_packs=2, padding_values={"x": -1, "y": None})
    )

    @staticmethod
    def expected():
        packs, out = [], []
        for i in range(9):
            x, y = pair(i).values()
            if not len(x) + len(y):
                continue
            fit = (
                p
                for p in packs
                if sum(len(s[0]) for s in p) + len(x) <= 4
                and sum(len(s[1]) for s in p) + len(y) <= 5
            )
            found = next(fit, None)
            if found is None:
                if len(packs) == 2:
                    out.append(packs.pop(0))
                found = []
                packs.append(found)
            found.append((x, y))
        rows = []
        for pack in out + packs:
            xs, ys = row([s[0] for s in pack], 4, -1), row([s[1] for s in pack], 5)
            ys = (ys[0].astype(np.float32), *ys[1:])
            rows.append(tuple({"x": a, "y": b} for a, b in zip(xs, ys, strict=True)))
        return rows


@pytest.mark.parametrize("seed", range(6))
def test_random_lengths_equal_a_loop(seed):
    rng = np.random.default_rng(seed)
    length, most = int(rng.integers(4, 30)), int(rng.integers(1, 6))
    sequences = [rng.integers(0, 100, rng.integers(1, length + 1)) for _ in range(200)]
    ds = ps.Dataset.range(200).map(sequences.__getitem__)
    assert_same(list(ds.pack(length, open_packs=most)), first_fit(sequences, length, most))
    assert_same(list(ds.pack(length, "concat_then_split")), cut(sequences, length))
    it = iter(ds.pack(length, open_packs=most))
    for _ in range(int(rng.integers(1, 40))):
        next(it)
    resumed = iter(ds.pack(length, open_packs=most))
    resumed.set_state(it.get_state())
    assert_same(list(resumed), list(it))


def test_nothing_is_lost():
    ds = ps.Dataset.range(1, 3000).map(lambda i: np.full(i % 11 + 1, i))
    rows = list(ds.pack(32, open_packs=4))
    seen = [v for values, ids, _ in rows for v in values[ids > 0].tolist()]
    assert sorted(seen) == [i for i in range(1, 3000) for _ in range(i % 11 + 1)]
    assert len(seen) > 0.95 * 32 * len(rows)


def test_a_row_that_nothing_fits_does_not_wait_for_ever():
    lengths = [9] + [10] * 5 + [6, 4] * 50
    ds = ps.Dataset.from_tensor_slices(lengths).map(filled).pack(10, open_packs=3)
    rows = [values.tolist() for values, _, _ in ds]
    assert rows.index([9] * 9 + [0]) < 20
    assert_same(list(ds), first_fit([filled(n) for n in lengths], 10, 3))


def test_what_is_too_long_is_named_dropped_or_split():
    ds = ps.Dataset.from_tensor_slices([2, 5, 1]).map(filled)
    came = steps(iter(ds.pack(4)))
    assert isinstance(came[0], Failure)
    assert came[0].text.startswith("pack: element 1 has 5 items, more than length=4; cut it")
    assert_same(came[1:], [row([filled(2), filled(1)], 4)])
    assert_same(list(ds.pack(4, too_long="drop")), came[1:])
    five = filled(5)
    assert_same(
        list(ds.pack(4, too_long="split")),
        [row([five[:4]], 4), row([filled(2), five[4:], filled(1)], 4)],
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            np.zeros((1, 1), int),
            "must be a sequence of numbers, an array of one axis, got int64 of shape (1, 1)",
        ),
        (3, "got int64 of shape ()"),
        (np.array(["a"], object), "got str of shape (1,)"),
        (np.zeros(1), "make structure and dtypes equal"),
        ({"a": np.zeros(1, int)}, "make structure and dtypes equal"),
        (None, "must have a sequence"),
    ],
)
def test_what_is_no_sequence_is_left_out(value, words):
    values = [filled(1), value, filled(2)]
    came = steps(iter(ps.Dataset.range(3).map(values.__getitem__).pack(4)))
    assert came[0].kind == "ValueError"
    assert words in came[0].text
    assert came[0].text.startswith("pack: element 1")
    assert_same(came[1:], [row([filled(1), filled(2)], 4)])


def test_components_to_be_cut_must_be_of_one_length():
    values = [(filled(2), filled(2)), (filled(1), filled(2)), (filled(3), filled(3))]
    ds = ps.Dataset.range(3).map(values.__getitem__).pack(4, "concat_then_split")
    came = steps(iter(ds))
    assert "element 1's leaf [1] has 2 items, its first leaf has 1" in came[0].text
    wanted = cut([filled(2), filled(3)], 4)
    assert_same(came[1:], [tuple((part, part) for part in w) for w in wanted])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"length": 0}, ValueError, "length must be >= 1, got 0"),
        ({"length": {"a": 0, "b": 2}}, ValueError, "length must be >= 1, got 0"),
        ({"length": {"a": 2}}, ValueError, "length must be nested as the elements are"),
        ({"length": [4]}, TypeError, "length must be an int"),
        ({"length": None}, TypeError, "length must be an int"),
        ({"strategy": "best"}, ValueError, "strategy must be"),
        ({"too_long": "cut"}, ValueError, "too_long must be"),
        ({"open_packs": 0}, ValueError, "open_packs must be >= 1"),
        ({"padding_values": 0.5}, TypeError, r"padding_values for component \['a'\]"),
        ({"padding_values": [1]}, ValueError, "padding_values must be scalars"),
        ({"drop_remainder": True}, ValueError, "drop_remainder is for"),
        (
            {"length": {"a": 2, "b": 3}, "strategy": "concat_then_split"},
            ValueError,
            "must be the same for all components",
        ),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, error, words):
    ds = ps.Dataset.from_tensor_slices({"a": [[1]], "b": [[2]]})
    with pytest.raises(error, match=f"pack: .*{words}"):
        ds.pack(**{"length": 4, **arguments})


def test_elements_known_to_be_no_sequences_are_refused_at_the_call():
    with pytest.raises(ValueError, match="pack: sequences of numbers"):
        ps.Dataset.range(3).pack(4)


def test_a_state_of_another_input_is_an_error():
    def make(n, shortest):
        return (
            ps.Dataset.range(n).map(lambda i: filled(max(i, 1) * shortest)).pack(30, open_packs=3)
        )

    it = iter(make(12, 1))
    next(it)
    for other in (make(5, 1), make(12, 0)):
        resumed = iter(other)
        with pytest.warns(RuntimeWarning, match="the state is of other data"):
            resumed.set_state(it.get_state(), strict=False)
        error = next(s for s in steps(resumed) if isinstance(s, Failure))
        assert error.text == "pack: the input has other elements than when the state was saved"


def test_specs_cardinality_and_edges():
    ds = ps.Dataset.from_tensor_slices({"a": np.ones((3, 2), np.int16)}).pack(5)
    ids = {"a": ps.TensorSpec((5,), np.int32)}
    assert ds.element_spec == ({"a": ps.TensorSpec((5,), np.int16)}, ids, ids)
    assert ds.cardinality() == ps.UNKNOWN_CARDINALITY
    assert ds.repeat().cardinality() == ps.INFINITE_CARDINALITY
    assert source().repeat().pack(7).cardinality() == ps.INFINITE_CARDINALITY
    assert list(source().take(0).pack(7)) == []
    empty = ps.Dataset.range(3).map(lambda i: filled(0))
    assert list(empty.pack(3)) == list(empty.pack(3, "concat_then_split")) == []
    assert len(list(source().repeat().pack(7).take(5))) == 5


def test_native_functions_around_it():
    ds = ps.Dataset.range(1, 4).map(ps.native(lambda n: ps.fill([n], n))).pack(6)
    ds = ds.map(ps.native(lambda values, ids, positions: ps.reduce_sum(values * (ids > 1))))
    assert_same(list(ds), [13])


def test_closing_ends_a_search_without_end():
    reached = threading.Event()

    def nothing(i):
        if i == 50:
            reached.set()
        return filled(0)

    it = iter(ps.Dataset.range(2**60).map(nothing).pack(4).prefetch(1))
    puller = threading.Thread(target=lambda: next(it, None))
    puller.start()
    assert reached.wait(60)
    it.close()
    puller.join(60)
    assert not puller.is_alive()
