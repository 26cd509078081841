"""protobuf reads the output of make_example as the same values."""

import example_messages as messages
import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native


@pytest.mark.parametrize(
    ("value", "kind", "values"),
    [
        (b"raw", "bytes", [b"raw"]),
        ("é", "bytes", ["é".encode()]),
        (["a", "b"], "bytes", [b"a", b"b"]),
        (np.array([b"a", b"\0"], object), "bytes", [b"a", b"\0"]),
        (5, "int64", [5]),
        (True, "int64", [1]),
        ([[1, -1], [2**63 - 1, -(2**63)]], "int64", [1, -1, 2**63 - 1, -(2**63)]),
        (np.array([200, 3], np.uint8), "int64", [200, 3]),
        (0.5, "float", [0.5]),
        (np.array([[0.5, -np.inf]], np.float16), "float", [0.5, -np.inf]),
        (np.zeros(0, np.float64), "float", []),
        (np.zeros(0, np.int32), "int64", []),
        ([], None, []),
        ((), None, []),
    ],
)
def test_a_feature_has_the_list_of_its_type(value, kind, values):
    assert messages.parse(ps.io.make_example({"x": value})) == {b"x": (kind, values)}


def test_features_are_written_in_their_order_as_protobuf_writes_them():
    features = [(b"z", "int64", [1, 300]), (b"a", "float", [0.1]), ("ü".encode(), "bytes", [b""])]
    made = ps.io.make_example({"z": [1, 300], "a": 0.1, "ü": b""})
    assert made == messages.example(features)
    assert messages.parse(ps.io.make_example({})) == {}


@pytest.mark.parametrize(
    ("value", "error", "what"),
    [
        (1j, TypeError, "feature 'x': bytes, str, or real numbers were expected, got complex128"),
        (
            None,
            TypeError,
            "feature 'x': .* were expected, got Python objects",
        ),
        (np.datetime64(0, "s"), TypeError, "got datetime64"),
        (np.array([2**63], np.uint64), ValueError, "9223372036854775808 does not fit into int64"),
    ],
)
def test_other_values_are_refused_by_name(value, error, what):
    with pytest.raises(error, match=what):
        ps.io.make_example({"x": value})


def test_keys_are_str():
    with pytest.raises(TypeError, match="make_example: keys must be str, got b'x'"):
        ps.io.make_example({b"x": 1})


def test_make_example_is_native():
    def made(i, word):
        return ps.io.make_example({"i": i, "half": i / 2, "word": word, "flat": [1, 2]})

    assert_native(made, [(np.int64(i), b"w" * i) for i in range(5)])
