"""Strings: against Python's own, and against values that TensorFlow computed."""

import random

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from native_contract import assert_native

S = ps.strings
WORDS = np.array([[b" Ab \t", b"", b"x"], [b"\xc3\xa9Z\x00", b"\xff\xfe", b"a,b"]], object)
TEXTS = np.array(["naïve", " Grüße, 日本 ", "", "a b"], object)
BOTH = [WORDS, TEXTS, "Één", b"two words"]


def same(came, wanted):
    assert_same([np.asarray(came)], [np.asarray(wanted)])


def each(function, x):
    """Return a function's result for each string."""
    if isinstance(x, (str, bytes)):
        return function(x)
    out = np.empty(x.shape, object)
    for place, text in np.ndenumerate(x):
        out[place] = function(text)
    return out


def ascii_only(method):
    def changed(text):
        data = text.encode() if isinstance(text, str) else text
        data = getattr(data, method)()
        return data.decode() if isinstance(text, str) else data

    return changed


@pytest.mark.parametrize("x", BOTH, ids=repr)
@pytest.mark.parametrize("name", ["lower", "upper", "strip"])
def test_changes_of_each_string(name, x):
    function = getattr(S, name)
    assert_same([function(x)], [each(ascii_only(name), x)])
    assert_native(lambda t: function(t), [x, x])


@pytest.mark.parametrize("encoding", ["utf-8", "latin1"])
def test_cases_of_other_letters(encoding):
    for function in (S.lower, S.upper):
        with pytest.raises(ValueError, match=r"strings\.\w+: encoding must be ''"):
            function("É", encoding)


@pytest.mark.parametrize("x", BOTH, ids=repr)
def test_length(x):
    encoded = each(lambda t: t.encode() if isinstance(t, str) else t, x)
    same(S.length(x), np.asarray(each(len, encoded)).astype(np.int32))
    if x is not WORDS:
        same(S.length(x, unit="UTF8_CHAR"), np.asarray(each(len, x)).astype(np.int32))
    assert_native(lambda t: (S.length(t), S.length(t, "UTF8_CHAR")), [x, x])


@pytest.mark.parametrize("sep", [None, "", ",", b", ", "aa", "\x00"])
@pytest.mark.parametrize("most", [-1, 0, 1, 2])
def test_split_is_pythons(sep, most):
    plain = (sep.decode() if isinstance(sep, bytes) else sep) or None
    for text in ["", " ", "a", "a,b", ",a,,b, c,", "  a  b\tc\n d  ", "aaaa", "aaa", "x\x00y\x00"]:
        wanted = np.array(text.split(plain, most), object)
        came = S.split(text, sep, most)
        assert came.tolist() == wanted.tolist()
        came = S.split(text.encode(), sep, most)
        assert came.tolist() == [part.encode() for part in wanted]
        if len(wanted):  # an empty array has lost its string kind
            assert_native(lambda t: S.split(t, sep, most), [text, text])


def test_split_of_many():
    values, splits = S.split(["a b", "", "c"])
    assert values.tolist() == ["a", "b", "c"]
    same(splits, np.array([0, 2, 2, 3]))
    assert_native(lambda t: S.split(t, ragged=True), [TEXTS, TEXTS[1:]])
    values, splits = S.split(np.array([], object))
    assert values.shape == (0,)
    same(splits, np.array([0]))
    with pytest.raises(
        ValueError, match=r"strings.split: input must .*shape \(n,\), got .*\(2, 3\)"
    ):
        S.split(WORDS)
    with pytest.raises(ValueError, match="say ragged=True"):
        list(ps.Dataset.from_tensors(TEXTS).map(ps.native(lambda t: S.split(t))))


def test_words_of_a_file_of_lines():
    lines = ps.Dataset.from_tensor_slices(["the cat", "", " sat  on "])
    words = lines.map(ps.native(lambda line: S.split(line))).unbatch()
    assert list(words) == ["the", "cat", "sat", "on"]


def test_join():
    same(S.join(["a", TEXTS, "b"], "-"), each(lambda t: "a-" + t + "-b", TEXTS))
    assert S.join([b"one"]) == b"one"
    assert_native(lambda t: S.join([t, "/", t], separator="+"), [TEXTS, "x"][:1])
    assert_native(lambda a, b: S.join([a, b]), [("x", "y"), ("", "")])
    with pytest.raises(ValueError, match="inputs must be single strings or of one shape"):
        S.join([TEXTS, WORDS])
    with pytest.raises(ValueError, match="at least one"):
        S.join([])
    with pytest.raises(TypeError, match="of one kind"):
        S.join([b"a", "b"])


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_reduce_join(axis, keepdims):
    rows = {None: [WORDS.ravel()], 0: WORDS.T, 1: WORDS, -1: WORDS}[axis]
    wanted = np.array([b"-".join(row) for row in rows], object)
    shape = np.sum(np.ones((2, 3)), axis, keepdims=keepdims).shape
    came = S.reduce_join(WORDS, axis, keepdims, separator=b"-")
    assert_same([came], [wanted.reshape(shape)[()]])
    assert_native(lambda w: S.reduce_join(w, axis, keepdims, "-"), [WORDS, WORDS])


def test_substr():
    text = "naïve 日本"
    data = text.encode()
    for pos in range(-len(text), len(text) + 1):
        start = pos if pos >= 0 else len(text) + pos
        for size in (0, 1, 3, 99):
            assert S.substr(text, pos, size, "UTF8_CHAR") == text[start : start + size]
    for pos in range(len(data) + 1):
        assert S.substr(data, pos, 4) == data[pos : pos + 4]
    elements = [(t, n) for t, n in zip(["hello", "日本", "xyz"], [2, 1, 0], strict=True)]
    assert_native(lambda t, n: (S.substr(t, n, n), S.substr(t, -n, 2)), elements)
    assert_native(lambda w: S.substr(w, 0, [[1], [2]]), [WORDS, WORDS])
    for size in (-1, -9):  # TensorFlow: the rest
        assert [S.substr(b"hello", pos, size) for pos in (0, 2, -3, 5)] == [
            b"hello",
            b"llo",
            b"llo",
            b"",
        ]
    for pos, size, unit, what in (
        (6, 1, "BYTE", "pos must"),
        (-6, 1, "BYTE", "pos must"),
        (0, -1, "UTF8_CHAR", "len must"),
    ):
        with pytest.raises(ValueError, match=f"strings.substr: {what}"):
            S.substr("hello", pos, size, unit)
    with pytest.raises(ValueError, match="unit must be BYTE"):
        S.substr("hello", 0, 1, unit="WORD")


NUMBERS = ["0", "-0", "17", " 3 ", "+5", "-12345678"]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_to_number(dtype):
    same(S.to_number(NUMBERS, dtype), np.array([float(n) for n in NUMBERS], dtype))
    for text in NUMBERS:
        assert_native(lambda t: S.to_number(t, dtype), [text, text.encode()][:1])
    for wrong in ("", " ", "x", "1x", "1 2", "--1", "+-1", "1_0", "9" * 30 + "x", "\x00"):
        with pytest.raises(ValueError, match=r"strings.to_number: input must hold numbers"):
            S.to_number(wrong, dtype)


def test_to_number_of_floats():
    texts = ["1e50", "-1e50", "inf", "nan", "1e-60", "0.1", ".5", "1e5", "1e-45"]
    wanted = np.array([float(t) for t in texts])
    same(S.to_number(texts, np.float64), wanted)
    with np.errstate(over="ignore"):
        same(S.to_number(texts), wanted.astype(np.float32))
    same(S.to_number(["1e999", "-1e999", "1e-999"], "d"), np.array([np.inf, -np.inf, 0]))
    for dtype, text in ((np.int32, "2147483648"), (np.int64, "9223372036854775808")):
        with pytest.raises(ValueError, match=text):
            S.to_number(text, dtype)
        assert S.to_number("-" + text, dtype) == -int(text)
    with pytest.raises(TypeError, match="out_type must be"):
        S.to_number("1", np.uint8)


# TensorFlow 2.21's results.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x10", 16.0),
        ("-0x10", -16.0),
        ("+0x10", 16.0),
        ("0X1p3", 8.0),
        (" 0x1.8p1 ", 3.0),
        ("0x123456789abcdef1234", float.fromhex("0x123456789abcdef1234")),
        ("0x1p5000", np.inf),
        ("0x1p-2000", 0.0),
    ],
)
def test_to_number_of_hexadecimal_floats(text, value):
    for dtype in (np.float32, np.float64):
        assert S.to_number(text, dtype) == dtype(value)
    for dtype in (np.int32, np.int64):
        with pytest.raises(ValueError, match="input must hold numbers of"):
            S.to_number(text, dtype)


@pytest.mark.parametrize("text", ["0x", "0xg", "0x-1", "0x1p", "0xinf", "0xnan", "0x1p1.5", "0x."])
def test_to_number_refuses_what_is_no_hexadecimal_float(text):
    with pytest.raises(ValueError, match="input must hold numbers of"):
        S.to_number(text)


def test_as_string():
    values = [0, 1, -7, 123456]
    assert S.as_string(values).tolist() == [b"%d" % v for v in values]
    assert S.as_string(values, width=5, fill="0").tolist() == [b"%05d" % v for v in values]
    assert S.as_string(np.uint64(2**64 - 1)) == b"18446744073709551615"
    assert S.as_string(np.float32([1.5, 1e20])).tolist() == [
        b"1.500000",
        b"100000002004087734272.000000",
    ]
    assert S.as_string(1.5, scientific=True) == b"1.500000e+00"
    assert S.as_string(1.5, shortest=True) == b"1.5"
    assert S.as_string(2.0, precision=2, width=7) == b"   2.00"
    assert S.as_string([True, False], width=8).tolist() == [b"true", b"false"]
    assert_native(lambda x: S.as_string(x, precision=3), [np.float64(2.5), np.float64(-1e10)])
    with pytest.raises(ValueError, match="fill must be"):
        S.as_string(1, fill="%n")
    with pytest.raises(TypeError, match="input must be numbers"):
        S.as_string("a")


# tf.strings.to_hash_bucket_fast (TensorFlow 2.21) of random bytes with these sizes.
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 100, 127, 128, 129,
         200, 255, 256, 1000]  # fmt: skip
BUCKETS = [
    1936946117179621456,
    8532276423493999488,
    4078972191108751812,
    1812092280249033735,
    4795156008686354555,
    7242045254917844493,
    2366259379888847237,
    4487771882444995124,
    8089765312023560549,
    6435856531950719261,
    5110426265339247269,
    1493937016057530142,
    4484374735161817678,
    6777814772446863893,
    170758130655726961,
    2560514180343211765,
    3877683632143019018,
    3047547105619169590,
    1036225317349787412,
    3063575301860605713,
    2090751489116347716,
    5018691593504311203,
    6661646033635591345,
    7562466185612351016,
    3678508043231715517,
    4176011709623495196,
    8362313636848521885,
    8122389168575979713,
]


def test_hash_buckets_are_tensorflows():
    generator = random.Random(1)
    data = [bytes(generator.randrange(256) for _ in range(size)) for size in SIZES]
    assert S.to_hash_bucket_fast(data, 2**63 - 1).tolist() == BUCKETS
    assert S.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).tolist() == [0, 2, 2]
    assert_native(lambda w: S.to_hash_bucket_fast(w, 1000), [WORDS, WORDS])
    with pytest.raises(ValueError, match="num_buckets must be >= 1"):
        S.to_hash_bucket_fast("a", 0)


def test_unicode_decode():
    for text in ["", "abc", "naïve 日本 😀", "\x00\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff"]:
        same(S.unicode_decode(text, "UTF-8"), np.array([ord(c) for c in text], np.int32))
        assert_native(lambda t: S.unicode_decode(t, "UTF-8"), [text, text])
    values, splits = S.unicode_decode(["ab", "", "ü"], "utf-8")
    same(values, np.array([97, 98, 252], np.int32))
    same(splits, np.array([0, 2, 2, 3]))


def test_unicode_decode_of_other_bytes_is_pythons():
    generator = random.Random(7)
    interesting = b"\x00a\x7f\x80\xbf\xc0\xc2\xdf\xe0\xa0\x9f\xed\xef\xf0\x8f\x90\xf4\xf5\xff"
    for _ in range(3000):
        data = bytes(generator.choice(interesting) for _ in range(generator.randrange(9)))
        for errors in ("replace", "ignore"):
            wanted = [ord(c) for c in data.decode("utf-8", errors)]
            assert S.unicode_decode(data, "UTF-8", errors).tolist() == wanted, data
    with pytest.raises(ValueError, match="must be UTF-8, got other bytes at byte 1 of string 0"):
        S.unicode_decode(b"a\xff", "UTF-8", errors="strict")
    assert S.unicode_decode(b"\xff", "UTF-8", replacement_char=63).tolist() == [63]
    with pytest.raises(ValueError, match="errors must be strict"):
        S.unicode_decode(b"a", "UTF-8", errors="skip")
    with pytest.raises(ValueError, match="input_encoding must be UTF-8"):
        S.unicode_decode(b"a", "UTF-16-BE")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: S.lower(x),
        lambda x: S.strip(x),
        lambda x: S.length(x),
        lambda x: S.split(x, ragged=True),
        lambda x: S.join([x]),
        lambda x: S.reduce_join(x),
        lambda x: S.substr(x, 0, 1),
        lambda x: S.to_number(x),
        lambda x: S.to_hash_bucket_fast(x, 3),
        lambda x: S.unicode_decode(x, "UTF-8", ragged=True),
    ],
)
def test_what_is_no_string_is_refused(call):
    for wrong in (np.arange(3), 1.5, [object()], np.array(["2020"], "M8[Y]")):
        with pytest.raises(TypeError, match=r"strings\.\w+: inputs? must"):
            call(wrong)
