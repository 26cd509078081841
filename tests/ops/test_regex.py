"""Regular expressions: TensorFlow's results, through RE2 or Python's re."""

import multiprocessing
import os
import random
import re
import string

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native
from penstock import _core
from penstock.ops.strings import regex

S = ps.strings
HAS_RE2 = ps.build_info()["re2"]["native"]
needs_re2 = pytest.mark.skipif(not HAS_RE2, reason="built without RE2")


@pytest.fixture(params=["re2", "re"])
def engine(request, monkeypatch):
    """Run with both engines: RE2, and the fallback without it."""
    if request.param == "re2" and not HAS_RE2:
        pytest.skip("built without RE2")
    if request.param == "re":
        info = {**_core.build_info(), "re2": {"native": False, "version": ""}}
        monkeypatch.setattr(regex._core, "build_info", lambda: info)
    return request.param


# Results of tf.strings.regex_replace (TensorFlow 2.21).
REPLACED = [
    (b"abc", "(b)", r"[\1]", b"a[b]c"),
    (b"abc", "(b)", r"[\0]", b"a[b]c"),
    (b"abc", "b", "\\\\", b"a\\c"),
    (b"abc", "", "-", b"-a-b-c-"),
    (b"abc", "x*", "-", b"-a-b-c-"),
    (b"aaa", "a", "b", b"bbb"),
    (b"a\x00b", b"\x00", b"\x00\x00", b"a\x00\x00b"),
    (b"a\nb", ".", "-", b"-\n-"),
    (b"a\nb", "^b", "-", b"a\nb"),
    (b"ab", "(a)|(b)", r"<\1|\2>", b"<a|><|b>"),
    ("naïve 日本", "[^a-z]", "-", "na-ve---"),
    ("日本", "", "-", "-日-本-"),
    ("x1y2", r"(\d)", r"<\1>", "x<1>y<2>"),
    ("", "a", "b", ""),
]


@pytest.mark.parametrize(("text", "pattern", "rewrite", "wanted"), REPLACED)
def test_replaced_as_tensorflow_does(engine, text, pattern, rewrite, wanted):
    assert S.regex_replace(text, pattern, rewrite) == wanted
    assert S.regex_replace([text, text], pattern, rewrite).tolist() == [wanted, wanted]


def test_replaces_the_first_match_alone(engine):
    assert S.regex_replace("aab", "a", "x", replace_global=False) == "xab"
    assert S.regex_replace(b"aab", "b|$", b"x", replace_global=False) == b"aax"


def test_the_whole_must_match(engine):
    found = S.regex_full_match([["ab1", "ab"], ["1", "ab1\n"]], "[a-z]+[0-9]")
    assert found.dtype == np.bool_
    assert found.tolist() == [[True, False], [False, False]]
    assert S.regex_full_match(b"a\x00b", b"a\x00b")
    assert S.regex_full_match(np.array([], object), "a").tolist() == []


@pytest.mark.parametrize("pattern", ["(b", "[", "a{2,1}", "*"])
def test_an_error_of_syntax_names_the_pattern_and_the_reason(engine, pattern):
    for call in (
        lambda: S.regex_full_match("a", pattern),
        lambda: S.regex_replace("a", pattern, ""),
    ):
        with pytest.raises(
            ValueError,
            match=rf"strings.regex_\w+: pattern must be .*got '{re.escape(pattern)}': \w+",
        ):
            call()


@pytest.mark.parametrize("rewrite", [r"\2", r"\x", "\\", b"\\9"])
def test_a_rewrite_that_cannot_be_is_refused(engine, rewrite):
    with pytest.raises(ValueError, match=r"strings.regex_replace: rewrite"):
        S.regex_replace("ab", "(b)", rewrite)


def test_what_is_no_string_is_refused(engine):
    for wrong in (np.arange(3), [1, 2], 1.5):
        with pytest.raises(
            TypeError, match=r"strings.regex_full_match: input must be bytes or str"
        ):
            S.regex_full_match(wrong, "1")
        with pytest.raises(TypeError, match=r"strings.regex_replace: input must be bytes or str"):
            S.regex_replace(wrong, "1", "2")
    with pytest.raises(TypeError, match="pattern must be str or bytes, got int"):
        S.regex_full_match("a", 1)
    with pytest.raises(TypeError, match="rewrite must be"):
        S.regex_replace("a", "a", 1)
    for pattern in (b"\xff", "\udcff"):
        with pytest.raises(ValueError, match="pattern must be UTF-8"):
            S.regex_full_match("a", pattern)


@needs_re2
def test_bytes_are_read_as_utf8():
    assert S.regex_replace("日本".encode(), ".", "-") == b"--"
    assert S.regex_replace(b"\xff\xfe", ".", "-") == b"\xff\xfe"
    assert S.regex_replace(b"\xff\xfe", r"\C", b"\xfd") == b"\xfd\xfd"
    assert S.regex_replace("日", r"^\C", "-") == "-\udc97\udca5"  # not valid text any more


@needs_re2
def test_time_is_linear_in_the_text():
    assert not S.regex_full_match("a" * 5000 + "b", "(a*)*(a|aa)*c")


@needs_re2
def test_native_functions():
    words = np.array(["part-1", "", "x 22 part-3", "ü-4"], object)
    assert_native(lambda w: S.regex_replace(w, r"(\d+)", r"<\1>"), [words, words[::-1]])
    assert_native(lambda w: S.regex_replace(w, "[a-z]", "", replace_global=False), list(words))
    assert_native(lambda w: S.regex_full_match(w, r"part-\d"), [words])
    assert_native(lambda w, r: S.regex_replace(w, "p", r), [("pp", "1"), ("p", "22"), ("q", "")])


@needs_re2
def test_native_functions_refuse_a_pattern_at_once():
    words = ps.Dataset.from_tensors("a")
    with pytest.raises(ValueError, match=r"got 'a\(': missing \)"):
        list(words.map(ps.native(lambda w: S.regex_replace(w, "a(", ""))))
    with pytest.raises(ps.TraceError, match="pattern must be known"):
        list(words.map(ps.native(lambda w: S.regex_full_match("a", w))))


@pytest.mark.skipif(HAS_RE2, reason="RE2 is there")
def test_a_native_function_says_how_to_get_re2():
    words = ps.Dataset.from_tensors("a")
    for function in (
        lambda w: S.regex_replace(w, "a", "b"),
        lambda w: S.regex_full_match(w, "a"),
        lambda w: S.regex_replace("a", "a", w),
    ):
        with pytest.raises(RuntimeError, match=r"strings.regex_\w+: .*apt-get install libre2-dev"):
            list(words.map(ps.native(function)))


@needs_re2
def test_agrees_with_re_where_both_know_the_syntax():
    generator = random.Random(5)
    pieces = ["a", "b", "[ab]", "[^a]", "(a|b)", "a+", "b?", "(?:ab)*", "x", r"\d", "^", "$", "."]
    for _ in range(300):
        pattern = "".join(generator.choice(pieces) for _ in range(generator.randrange(1, 5)))
        texts = [
            "".join(generator.choice("abx1") for _ in range(generator.randrange(7)))
            for _ in range(8)
        ]
        wanted = [re.fullmatch(pattern.replace("$", r"\Z"), text) is not None for text in texts]
        assert S.regex_full_match(texts, pattern).tolist() == wanted, pattern


def _match(text):
    return bool(S.regex_full_match(text, "[a-z]+"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_pattern_is_of_use_after_a_fork():
    assert _match("abc")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(_match, ["abc", "a1", string.ascii_lowercase]) == [True, False, True]
