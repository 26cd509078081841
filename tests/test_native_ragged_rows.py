"""Native functions with results of different sizes: the same as individual calls, in any stage."""

import itertools

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Failure, steps

S = ps.strings
BUCKETS = 1 << 40
LINES = [
    b"one two  three",
    b"",
    b"   ",
    b"word",
    b" \t a\x0bb\x0c\x1c c\r",
    b"\xff\xfe \x80 \xc3\xbc caf\xc3\xa9",
    b"x" * 63 + b" " + b"y" * 64 + b" " + b"z" * 65,
    b"a " * 100 + b"b",
    b" " * 64 + b"w" * 64,
    b"w" * 128,
    b"1 2 3",
]

TABLE = np.arange(10.0).reshape(5, 2)
NAMES = np.array(["a", "", "cc"], object)


def hashed(words):
    return S.to_hash_bucket_fast(words, BUCKETS)


FUNCTIONS = {
    "words": (S.split, lambda line: np.array(line.split(), object)),
    "hashed": (lambda line: hashed(S.split(line)), lambda line: hashed(words_of(line))),
    "lower": (
        lambda line: S.length(S.lower(S.split(S.upper(line)))) * 2,
        lambda line: S.length(words_of(line)) * 2,
    ),
    "parts": (
        lambda line: (S.split(line, " "), S.length(line), hashed(S.split(line))),
        lambda line: (np.array(line.split(b" "), object), S.length(line), hashed(words_of(line))),
    ),
    "separator": (
        lambda line: {"b": hashed(S.split(line, "  ")), "a": 7},
        lambda line: {"b": hashed(np.array(line.split(b"  "), object)), "a": 7},
    ),
    "most": (
        lambda line: S.length(S.split(line, None, 2)),
        lambda line: S.length(np.array(line.split(None, 2), object)),
    ),
    "characters": (
        lambda line: S.unicode_decode(line, "UTF-8", errors="ignore"),
        lambda line: S.unicode_decode(line, "UTF-8", errors="ignore"),
    ),
    "columns": (
        lambda line: ps.expand_dims(hashed(S.split(line)), -1) + np.arange(1),
        lambda line: hashed(words_of(line))[:, None] + np.arange(1),
    ),
    "mixed": (  # a number per line, together with each of its words
        lambda line: hashed(S.split(line)) + S.length(line),
        lambda line: hashed(words_of(line)) + S.length(line),
    ),
    "cut": (
        lambda line: (hashed(S.split(line))[:5], S.split(line)[-3:], S.split(line)[1:-1]),
        lambda line: (hashed(words_of(line))[:5], words_of(line)[-3:], words_of(line)[1:-1]),
    ),
    "looked up": (
        lambda line: (
            ps.gather(TABLE, S.length(S.split(line)) % 5),
            ps.gather(NAMES, S.length(line) % 3),
        ),
        lambda line: (TABLE[S.length(words_of(line)) % 5], np.str_(NAMES[S.length(line) % 3])),
    ),
    "steps": (
        lambda line: hashed(S.split(line))[::2],
        lambda line: hashed(words_of(line))[::2],
    ),
    "first": (
        lambda line: (S.split(line, " ")[0], S.length(S.split(line, " "))[-1]),
        lambda line: (np.bytes_(line.split(b" ")[0]), S.length(line.split(b" "))[-1]),
    ),
    "framed": (
        lambda line: ps.concat([[101], hashed(S.split(line))[:7], [102, 0]], 0),
        lambda line: np.concatenate([[101], hashed(words_of(line))[:7], [102, 0]]),
    ),
    "words framed": (
        lambda line: ps.concat([[b"[CLS]"], S.split(line), S.split(line, " ")[:2]], -1),
        lambda line: np.array([b"[CLS]", *line.split(), *line.split(b" ")[:2]], object),
    ),
    "types": (
        lambda line: ps.concat([S.length(S.split(line)), hashed(S.split(line, " "))], 0),
        lambda line: np.concatenate([S.length(words_of(line)), hashed(line.split(b" "))]),
    ),
    "sizes": (
        lambda line: (S.split(line).shape[0], ps.shape(S.split(line)), S.length(S.split(line))),
        lambda line: (
            np.int64(len(line.split())),
            np.array([len(line.split())]),
            S.length(words_of(line)),
        ),
    ),
    "rows of columns": (
        lambda line: ps.expand_dims(hashed(S.split(line)), -1)[1:],
        lambda line: hashed(words_of(line))[1:, None],
    ),
    "two": (
        lambda line: hashed(S.split(line)) * 2 - S.length(S.split(line)),
        lambda line: hashed(words_of(line)) * 2 - S.length(words_of(line)),
    ),
}


def words_of(line):
    return np.array(line.split(), object)


@pytest.fixture
def lines(tmp_path):
    """Return a dataset of many lines from a file, in shuffled order."""
    order = np.random.default_rng(2).integers(0, len(LINES), 700)
    return of(tmp_path, [LINES[i].rstrip(b"\r") for i in order])


def of(folder, lines, end=b"\n"):
    file = folder / "lines.txt"
    file.write_bytes(b"\n".join(lines) + end)
    return ps.TextLineDataset(str(file))


BEHIND = {
    "alone": lambda ds: ds,
    "padded": lambda ds: ds.padded_batch(13),
    "padded with rest dropped": lambda ds: ds.padded_batch(64, drop_remainder=True),
    "ragged": lambda ds: ds.ragged_batch(13),
    "shuffled": lambda ds: ds.shuffle(30, seed=1).padded_batch(8),
    "filtered": lambda ds: ds.enumerate().filter(ps.native(lambda i, _: i % 3 > 0)),
    "prefetched": lambda ds: ds.prefetch(2).padded_batch(40),
    "kept": lambda ds: ds.cache().repeat(2).padded_batch(100),
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_behind_gets_what_single_calls_give(lines, name, behind):
    native, plain = FUNCTIONS[name]
    if name == "parts" and behind == "alone":
        lines = lines.take(50)
    wanted = steps(iter(BEHIND[behind](lines.map(plain))))
    for calls in (None, 2):
        found = lines.map(ps.native(native), num_parallel_calls=calls)
        assert_same(steps(iter(BEHIND[behind](found))), wanted)


@pytest.mark.parametrize("batch", ["padded_batch", "ragged_batch"])
def test_lines_that_come_one_by_one(lines, batch):
    native, plain = FUNCTIONS["parts"]
    lines = lines.shuffle(50, seed=3, reshuffle_each_iteration=False)
    wanted = list(getattr(lines.map(plain), batch)(9))
    assert_same(list(getattr(lines.map(ps.native(native)), batch)(9)), wanted)


@pytest.mark.parametrize("batch", ["padded_batch", "ragged_batch"])
def test_text_and_foreign_strings(batch):
    texts = [line.decode("latin-1") for line in LINES[:5]] * 20
    split = ps.native(lambda text: (S.split(text, " "), hashed(S.split(text))))
    source = ps.Dataset.from_generator(
        lambda: iter(texts), output_signature=ps.TensorSpec((), np.str_)
    )
    found = list(getattr(source.map(split), batch)(7))
    plain = source.map(
        lambda text: (np.array(str(text).split(" "), object), hashed(S.split(str(text))))
    )
    assert_same(found, list(getattr(plain, batch)(7)))


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n \n", b"one", b"\xff", b"a b"])
def test_small_files(tmp_path, content):
    file = tmp_path / "lines.txt"
    file.write_bytes(content)
    lines = ps.TextLineDataset(str(file))
    for name, batch in itertools.product(["words", "hashed"], ["padded_batch", "ragged_batch"]):
        native, plain = FUNCTIONS[name]
        wanted = list(getattr(lines.map(plain), batch)(4))
        assert_same(list(getattr(lines.map(ps.native(native)), batch)(4)), wanted)


@pytest.mark.slow
def test_a_very_long_line_among_short_ones(tmp_path):
    long = b"\xc3\xbcber " * (10 << 20 >> 3)
    words = ps.native(lambda line: hashed(S.split(line)))
    lines = of(tmp_path, [b"a b", long, b"", b"w" * (10 << 20), b"c"])
    (ids, splits), *rest = lines.map(words, num_parallel_calls=2).ragged_batch(5)
    assert rest == []
    assert splits.tolist() == [
        0,
        2,
        2 + len(long) // 6,
        2 + len(long) // 6,
        *[ids.size - 1, ids.size],
    ]
    assert set(ids[2 : splits[2]].tolist()) == {int(hashed("über"))}
    assert ids[-2:].tolist() == hashed(["w" * (10 << 20), "c"]).tolist()
    padded = list(lines.map(words).padded_batch(2))
    assert [batch.shape for batch in padded] == [(2, len(long) // 6), (2, 1), (1, 1)]
    assert padded[0][0].nonzero()[0].tolist() == [0, 1]


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("shape", [[20], [0], [None]])
def test_rows_that_do_not_fit_are_errors_in_their_place(lines, shape, calls):
    native, plain = FUNCTIONS["hashed"]
    wanted = steps(iter(lines.map(plain).padded_batch(10, shape)))
    found = lines.map(ps.native(native), num_parallel_calls=calls).padded_batch(10, shape)
    assert [s.text if isinstance(s, Failure) else s.tolist() for s in steps(iter(found))] == [
        s.text if isinstance(s, Failure) else s.tolist() for s in wanted
    ]


def test_an_array_of_another_number_of_axes_does_not_join(lines):
    native, _ = FUNCTIONS["hashed"]
    other = ps.Dataset.range(3).map(ps.native(lambda i: ps.reshape(i, [1, 1])))
    both = lines.take(5).map(ps.native(native)).concatenate(other)
    came = steps(iter(both.padded_batch(20)))
    assert [isinstance(s, Failure) for s in came] == [True] * 3 + [False]
    assert "the batch began with (" in came[0].text


@pytest.mark.parametrize("calls", [None, 2])
def test_a_field_that_some_lines_do_not_have(tmp_path, calls):
    items = [b"a,b", b"c", b"", b"d,e,f"] * 20
    second = of(tmp_path, items).map(ps.native(lambda t: S.split(t, ",")[1]), calls)
    came = steps(iter(second))
    assert [bytes(s) for s in came if not isinstance(s, Failure)] == [b"b", b"e"] * 20
    assert all(isinstance(s, Failure) == (i % 4 in (1, 2)) for i, s in enumerate(came))
    assert "index 1 is out of bounds for axis 0 with size 1" in came[1].text


PARTS = [
    lambda x: x[()],
    lambda x: x[0],
    lambda x: x[-1],
    lambda x: x[1:3],
    lambda x: x[:0],
    lambda x: x[-2:],
    lambda x: x[5:],
    lambda x: x[::-1],
    lambda x: x[1, 0],
    lambda x: x[..., 0],
    lambda x: ps.shape(x),
]
SUMS = [lambda x: x[x.shape[0] - 1] * 2, lambda x: ps.concat([x, x[:1], [[7, 8]]], 0)]
NUMBERS = np.arange(40 * 3 * 2).reshape(40, 3, 2)


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        *itertools.product([NUMBERS], PARTS + SUMS),
        *itertools.product([NUMBERS.astype(str).astype(object)], PARTS),
    ],
)
def test_parts_of_stacked_rows(rows, part):
    ds = ps.Dataset.from_tensor_slices(rows)
    wanted = steps(iter(ds.map(part).batch(7)))
    for calls in (None, 2):
        found = ds.map(ps.native(part), num_parallel_calls=calls).batch(7)
        assert_same(steps(iter(found)), wanted)


@pytest.mark.parametrize("calls", [None, 2])
def test_a_line_that_fails_leaves_the_others(tmp_path, calls):
    items = [b"1 2 3", b"4", b"", b"5 x", b"6 7"] * 9
    numbers = ps.native(lambda line: S.to_number(S.split(line), np.int64))
    rows = of(tmp_path, items).map(numbers, num_parallel_calls=calls)
    wanted = [list(map(int, i.split())) for i in items if b"x" not in i]
    came = steps(iter(rows))
    assert [s.tolist() for s in came if not isinstance(s, Failure)] == wanted
    failed = [i for i, s in enumerate(came) if isinstance(s, Failure)]
    assert failed == [i for i, item in enumerate(items) if b"x" in item]
    assert "got 'x' as string 1" in came[3].text
    kept = steps(iter(rows.ignore_errors().padded_batch(5)))
    assert [row[row > 0].tolist() for batch in kept for row in batch] == wanted


@pytest.mark.parametrize("batch", ["padded_batch", "ragged_batch"])
@pytest.mark.parametrize("calls", [None, 2])
def test_states_between_batches(lines, batch, calls):
    native, _ = FUNCTIONS["parts"]
    ds = getattr(lines.map(ps.native(native), num_parallel_calls=calls), batch)(30)
    whole = list(ds)
    for taken in (0, 1, 5, len(whole) - 1):
        it = iter(ds)
        for _ in range(taken):
            next(it)
        state = it.get_state()
        assert len(state) < 4096
        other = iter(ds)
        other.set_state(state)
        assert_same(list(other), whole[taken:])


def test_any_order_loses_nothing(lines):
    native, plain = FUNCTIONS["hashed"]
    found = lines.map(ps.native(native), num_parallel_calls=3, deterministic=False).ragged_batch(50)
    rows = [row.tolist() for ids, splits in found for row in np.split(ids, splits[1:-1])]
    assert sorted(rows) == sorted(row.tolist() for row in lines.map(plain))


def test_dicts_in_another_order_of_keys(lines):
    first = lines.take(20).map(ps.native(lambda t: {"a": hashed(S.split(t)), "b": S.length(t)}))
    second = lines.take(20).map(ps.native(lambda t: {"b": S.length(t), "a": hashed(S.split(t))}))
    mixed = ps.Dataset.choose_from_datasets(
        [first, second], ps.Dataset.range(40).map(lambda i: i % 2)
    )
    both = first.concatenate(second).padded_batch(40)
    (batch,) = both
    assert np.array_equal(batch["a"][:20], batch["a"][20:])
    assert np.array_equal(batch["b"][:20], batch["b"][20:])
    assert sum(len(b["a"]) for b in mixed.padded_batch(7)) == 40


@pytest.mark.parametrize("size", range(61, 68))
def test_words_at_the_edges_of_what_is_looked_at_together(size):
    for text in (
        b"w" * size,
        b" " * size,
        b" " * size + b"w",
        b"w" * size + b" ",
        b"w" * size + b" v",
        b"w v" * size,
        b"v" + b" " * size + b"w",
    ):
        assert S.split(text).tolist() == text.split()
        assert S.split(text, " ").tolist() == text.split(b" ")
        values, splits = S.split([text, b"next word", text], ragged=True)
        assert values.tolist() == text.split() * 1 + [b"next", b"word"] + text.split()
        assert splits.tolist()[2] == len(text.split()) + 2


def test_every_byte_is_a_space_or_none():
    text = b"".join(bytes([i]) + b"." for i in range(256))
    assert S.split(text).tolist() == text.split()
    for separator in range(1, 128):
        one = bytes([separator])
        assert S.split(text, one).tolist() == text.split(one)


def test_the_shape_of_a_row_without_items_is_its_own():
    raw = ps.native(lambda line: ps.io.decode_raw(ps.strings.split(line), np.uint8))
    lines = np.array([b"abc def", b"", b"ghi"], object)
    together = list(ps.Dataset.from_tensor_slices(lines).map(raw))
    alone = [row for line in lines for row in ps.Dataset.from_tensors(line).map(raw)]
    assert_same(together, alone)
