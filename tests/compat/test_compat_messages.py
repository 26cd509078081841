"""tf.train.Example reads its own output."""

import pytest

import penstock as ps
import penstock.compat.tf as tf

MESSAGE = ps.io.make_example({"name": [b"goat", b""], "x": [0.5, -2.0], "n": [-1, 4, 2**40]})


def test_example_is_read_back():
    feature = tf.train.Example.FromString(MESSAGE).features.feature
    found = {
        name: (each.WhichOneof("kind"), getattr(each, each.WhichOneof("kind")).value)
        for name, each in feature.items()
    }
    assert found == {
        "name": ("bytes_list", [b"goat", b""]),
        "x": ("float_list", [0.5, -2.0]),
        "n": ("int64_list", [-1, 4, 2**40]),
    }


def test_example_is_written_as_it_was():
    example = tf.train.Example()
    assert example.ParseFromString(tf.constant(MESSAGE).numpy()) == len(MESSAGE)
    assert example.SerializeToString() == MESSAGE
    assert tf.train.Example.FromString(b"").features.feature == {}


def test_numbers_that_are_not_packed():
    # Feature "n" with an Int64List of 1 and 300, each in a separate field.
    integers = b"\x08\x01\x08\xac\x02"
    feature = b"\x1a" + bytes([len(integers)]) + integers
    entry = b"\x0a\x01n\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    message = b"\x0a" + bytes([len(features)]) + features
    assert tf.train.Example.FromString(message).features.feature["n"].int64_list.value == [1, 300]


def test_damaged_message_is_an_error_or_another_message():
    failed = 0
    for size in range(1, len(MESSAGE)):
        with pytest.raises(ps.DataError, match=r"Example: .* cut off"):
            tf.train.Example.FromString(MESSAGE[:size])
    for at in range(len(MESSAGE)):
        for value in (0x00, 0x7F, 0xFF):
            changed = MESSAGE[:at] + bytes([value]) + MESSAGE[at + 1 :]
            try:
                tf.train.Example.FromString(changed)
            except ps.DataError:
                failed += 1
    assert failed > 0
