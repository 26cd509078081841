"""decode_raw reads bytes like NumPy's frombuffer."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from native_contract import assert_native, dtypes


@pytest.mark.parametrize("dtype", dtypes("bhilBHILefdFD"))
@pytest.mark.parametrize("little_endian", [True, False])
def test_numbers_are_those_of_frombuffer(dtype, little_endian):
    items = np.random.default_rng(1).bytes(3 * 2 * dtype.itemsize)
    strings = [items[: len(items) // 2], items[len(items) // 2 :]]
    wanted = np.frombuffer(items, dtype.newbyteorder("<" if little_endian else ">"))
    found = ps.io.decode_raw(strings, dtype, little_endian)
    assert found.dtype == dtype
    assert found.tobytes() == wanted.astype(dtype).reshape(2, 3).tobytes()
    assert_same([ps.io.decode_raw(strings[0], dtype, little_endian)], [found[0]])


def test_every_byte_is_a_bool():
    assert_same([ps.io.decode_raw(b"\0\1\2\xff", bool)], [np.array([False, True, True, True])])


@pytest.mark.parametrize(
    ("strings", "shape"), [(b"", (0,)), ([b"", b""], (2, 0)), (np.empty((2, 0), object), (2, 0, 0))]
)
def test_nothing_gives_no_numbers(strings, shape):
    if np.size(strings) == 0:
        strings = np.array([[b"?"], [b"?"]], object)[:, :0]
    assert ps.io.decode_raw(strings, np.int32).shape == shape


def test_a_fixed_length_cuts_and_pads():
    found = ps.io.decode_raw([b"\1", b"\1\2\3\4\5", b""], np.uint16, fixed_length=4)
    assert found.tolist() == [[1, 0], [0x201, 0x403], [0, 0]]
    found = ps.io.decode_raw([b"\1\2\3"], np.uint16, False, fixed_length=4)
    assert found.tolist() == [[0x102, 0x300]]


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        ((b"123", np.int16), ValueError, "a multiple of 2 bytes for int16, got 3"),
        (([b"12", b"1234"], np.int16), ValueError, "as long each, got 2 and 4 bytes"),
        ((b"12", np.int16, True, 3), ValueError, "fixed_length must be a multiple of 2"),
        ((b"12", np.int16, True, 0), ValueError, "fixed_length must be a multiple of 2"),
        ((b"12", np.int16, True, -2), ValueError, "fixed_length must be a multiple of 2"),
        (("12", np.int16), TypeError, "input_bytes must be bytes, got str"),
        ((np.int16(1), np.int16), TypeError, "input_bytes must be bytes, got int16"),
        ((b"12", object), TypeError, "out_type"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, what):
    with pytest.raises(error, match=f"decode_raw: .*{what}"):
        ps.io.decode_raw(*arguments)


def test_decode_raw_is_native():
    strings = [bytes([i, 1, 2, 3]) for i in range(5)]
    assert_native(lambda s: ps.io.decode_raw(s, np.uint16), strings)
    assert_native(lambda s: ps.io.decode_raw(s, np.uint16), [*strings, b"", b"12"])
    assert_native(lambda s: ps.io.decode_raw(s, np.int8, fixed_length=3), [b"1", b"1234", b""])
