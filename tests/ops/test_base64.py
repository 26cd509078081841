"""encode_base64 and decode_base64 match Python's base64 with the URL-safe alphabet."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from native_contract import assert_native


@given(st.binary(max_size=50))
def test_strings_are_those_of_python(data):
    padded = base64.urlsafe_b64encode(data)
    assert ps.io.encode_base64(data, pad=True) == padded
    assert ps.io.encode_base64(data) == padded.rstrip(b"=")
    assert ps.io.decode_base64(padded) == data
    assert ps.io.decode_base64(padded.rstrip(b"=")) == data


ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@given(st.one_of(st.binary(max_size=8), st.text("AQgw-_=", max_size=9).map(str.encode)))
def test_other_strings_are_refused(text):
    stripped = text.removesuffix(b"=").removesuffix(b"=") if len(text) % 4 == 0 else text
    if len(stripped) % 4 != 1 and all(c in ALPHABET for c in stripped):
        filled = stripped + b"=" * (-len(stripped) % 4)
        assert ps.io.decode_base64(text) == base64.urlsafe_b64decode(filled)
    else:
        with pytest.raises(ValueError, match="decode_base64: "):
            ps.io.decode_base64(text)


def test_shapes_stay_and_text_is_taken():
    texts = np.array([["é", ""], ["a", "b"]], object)
    found = ps.io.encode_base64(texts)
    assert_same([found], [np.array([[b"w6k", b""], [b"YQ", b"Yg"]], object)])
    assert ps.io.decode_base64("YQ==") == b"a"
    with pytest.raises(TypeError, match="encode_base64: input must be bytes or str, got int64"):
        ps.io.encode_base64(5)


def test_base64_is_native():
    assert_native(lambda s: ps.io.encode_base64(s, pad=True), [b"a" * i for i in range(7)])
    assert_native(ps.io.decode_base64, [b"YQ", b"YWI=", b""])
