"""The wire format of examples: everything that protobuf reads is read, all else is an error."""

import itertools
import random
import struct

import example_messages as messages
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same as all_same

Fixed, Var = ps.io.FixedLenFeature, ps.io.VarLenFeature
DTYPES = {"bytes": bytes, "float": np.float32, "int64": np.int64}


def same(came, wanted):
    all_same([came], [wanted])


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(content, key=b"x"):
    """Return an Example whose feature `key` has these bytes."""
    return field(1, field(1, field(1, key) + field(2, content)))


def as_array(kind, values):
    if kind == "bytes":
        array = np.empty(len(values), object)
        array[:] = values
        return array
    return np.array(values, DTYPES[kind])


VALUES = {
    "bytes": st.lists(st.binary(max_size=20), max_size=4),
    "float": st.lists(st.floats(width=32), max_size=4),
    "int64": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4),
}
KEYS = (b"a", b"bb", b"", "schlüssel".encode(), b"unasked")
FEATURES = st.lists(
    st.one_of(
        *(st.tuples(st.sampled_from(KEYS), st.just(k), v) for k, v in VALUES.items()),
        st.tuples(st.sampled_from(KEYS), st.none(), st.just([])),
    ),
    max_size=6,
)


def expected(known, key, kind):
    """Return protobuf's values of a key, or None if the kinds differ."""
    has, values = known.get(key, (None, []))
    return None if has not in (None, kind) else as_array(kind, values)


def compare_with_protobuf(record):
    """Compare each key and kind with protobuf's values, for a record that protobuf accepts."""
    known = messages.parse(record)
    for key in KEYS[:-1]:
        for kind, dtype in DTYPES.items():
            asked = {key.decode(): Var(dtype)}
            wanted = expected(known, key, kind)
            if wanted is None:
                with pytest.raises(ps.DataError, match="was expected, got a list of"):
                    ps.io.parse_single_example(record, asked)
                continue
            values = ps.io.parse_single_example(record, asked)[key.decode()]
            same(values, wanted)
            batch, splits = ps.io.parse_example([record, record], asked)[key.decode()]
            same(batch, np.concatenate([wanted, wanted]))
            same(splits, np.array([0, len(wanted), 2 * len(wanted)]))


@settings(max_examples=60)
@given(FEATURES, st.sampled_from([messages.PACKED, messages.UNPACKED]))
def test_values_are_those_of_protobuf(features, classes):
    compare_with_protobuf(messages.example(features, classes))


@settings(max_examples=60)
@given(FEATURES, FEATURES, st.sampled_from([messages.PACKED, messages.UNPACKED]))
def test_messages_behind_one_another_are_merged_as_protobuf_does(first, second, classes):
    compare_with_protobuf(messages.example(first) + messages.example(second, classes))


FLOATS, INTS = struct.pack("<2f", 1.5, -2), b"\x05\xac\x02"


@pytest.mark.parametrize(
    ("content", "kind", "values"),
    [
        (field(2, field(1, FLOATS)), "float", [1.5, -2]),
        (field(2, b"\x0d" + FLOATS[:4] + b"\x0d" + FLOATS[4:]), "float", [1.5, -2]),
        (field(2, b"\x0d" + FLOATS[:4] + field(1, FLOATS)), "float", [1.5, 1.5, -2]),
        (field(3, field(1, INTS)), "int64", [5, 300]),
        (field(3, b"\x08\x05\x08\xac\x02"), "int64", [5, 300]),
        (field(3, b"\x08\x05" + field(1, INTS) + b"\x08\x07"), "int64", [5, 5, 300, 7]),
        (field(3, field(1, b"\xff" * 9 + b"\x01")), "int64", [-1]),
        (field(3, field(1, b"\x85\x80\x00")), "int64", [5]),  # longer than necessary
        (field(3, field(1, INTS)) + field(3, field(1, b"\x07")), "int64", [5, 300, 7]),
        (field(1, field(1, b"gone")) + field(3, field(1, INTS)), "int64", [5, 300]),
        (field(3, field(1, b"\x07")) + field(2, b"") + field(3, b"\x08\x01"), "int64", [1]),
        (field(1, field(1, b"") + field(1, b"b")), "bytes", [b"", b"b"]),
        # Unknown fields: one of each wire type, and a known number with another type.
        (field(9, b"?") + field(3, b"\x08\x05") + b"\x48\x01", "int64", [5]),
        (field(3, b"\x49" + b"8" * 8 + b"\x4d" + b"4" * 4 + b"\x08\x05"), "int64", [5]),
        (field(3, b"\x4b\x53\x08\x01\x54\x4c\x08\x05"), "int64", [5]),
        (field(3, b"\x09" + b"8" * 8 + b"\x0d" + b"4" * 4 + b"\x08\x05"), "int64", [5]),
        (b"\x10\x01" + field(3, b"\x08\x05"), "int64", [5]),
    ],
)
def test_every_way_to_write_a_list_is_read(content, kind, values):
    record = feature(content)
    assert messages.parse(record) == {b"x": (kind, values)}
    found = ps.io.parse_single_example(record, {"x": Var(DTYPES[kind])})["x"]
    same(found, as_array(kind, values))


def test_the_last_one_of_a_repeated_key_counts():
    one, two = field(3, b"\x08\x01"), field(3, b"\x08\x02")
    for record in (
        feature(one) + feature(two),
        field(1, feature(one)[2:] + feature(two)[2:]),
    ):
        assert ps.io.parse_single_example(record, {"x": Fixed((), np.int64)}) == {"x": 2}


def test_an_entry_may_have_its_value_before_its_key_and_in_pieces():
    pieces = field(2, field(3, b"\x08\x01")) + field(1, b"x") + field(2, field(3, b"\x08\x02"))
    record = field(1, field(1, pieces))
    assert messages.parse(record) == {b"x": ("int64", [1, 2])}
    same(ps.io.parse_single_example(record, {"x": Var(np.int64)})["x"], np.array([1, 2]))


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (b"\x0a\x05ab", "a length of 5 bytes is given where 2 are left, at byte 1 of 4"),
        (b"\x0a", "a number is cut off, at byte 1 of 1"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "is given where 0 are left"),
        (b"\xff" * 12, "longer than 10 bytes"),
        (b"\x00", "0 is no tag"),
        (b"\x0f", "15 is no tag"),
        (b"\x0c", "a group ends that did not begin"),
        (b"\x4b", "a group does not end"),
        (b"\x4b\x54", "a group ends that did not begin"),
        (b"\x4b" * 200_000, "groups are nested too deep"),
        (feature(field(2, field(1, b"123"))), "feature 'x': 3 bytes are no number of floats"),
        (feature(field(2, b"\x0d123")), "feature 'x': a number is cut off"),
        (feature(field(3, field(1, b"\x80"))), "feature 'x': a number is cut off"),
        (feature(field(3, field(1, b"\x80" * 10 + b"\x01"))), "longer than 10 bytes"),
        (feature(field(1, b"\x0a\x05ab")), "feature 'x': a length of 5 bytes"),
    ],
)
def test_a_corrupt_message_is_an_error_that_says_where(record, what):
    errors = []
    for dtype in DTYPES.values():
        for parse, records in (
            (ps.io.parse_single_example, record),
            (ps.io.parse_example, [b"", record]),
        ):
            try:
                parse(records, {"x": Var(dtype)})
            except ps.DataError as error:
                errors.append(str(error))
    alone, batched = (
        [error for error in errors if what in error and error.startswith(start)]
        for start in ("parse_single_example: ", "parse_example: example 1: ")
    )
    assert alone, errors
    assert len(batched) == len(alone)


def test_groups_may_nest_as_deep_as_google_allows():
    deep = b"\x4b" * 100 + b"\x4c" * 100
    assert ps.io.parse_single_example(deep, {"x": Var(bytes)})["x"].size == 0


SEEDS = [
    messages.example(
        [(b"f", "float", [1, 2, 3, 4]), (b"i", "int64", [7]), (b"s", "bytes", [b"t"])]
    ),
    messages.example([(b"i", "int64", [-1]), (b"v", "int64", range(4)), (b"s", "bytes", [b""])]),
    messages.example([(b"f", "float", [1] * 4)], messages.UNPACKED),
]


@pytest.mark.slow
@messages.in_c
def test_mutated_records_are_read_as_protobuf_does_or_refused():
    rng = random.Random(4)
    read = refused = 0
    for _ in range(6000):
        record = bytearray(rng.choice(SEEDS))
        for _ in range(rng.choice([1, 1, 2, 5])):
            kind, at = rng.randrange(4), rng.randrange(len(record) + 1)
            if kind == 0 and at < len(record):
                record[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            elif kind == 1:
                del record[at : at + rng.randrange(1, 4)]
            elif kind == 2:
                record[at:at] = rng.randbytes(rng.randrange(1, 4))
            else:
                record = record[:at]
        record = bytes(record)
        try:
            known = messages.parse(record)
        except Exception:  # protobuf's own class, which differs between its versions
            known = None
        for key, kind in (("f", "float"), ("i", "int64"), ("s", "bytes")):
            try:
                found = ps.io.parse_single_example(record, {key: Var(DTYPES[kind])})[key]
            except ps.DataError:
                refused += 1
                wrong = known is not None and expected(known, key.encode(), kind) is not None
                assert not wrong, record
                continue
            if known is not None:
                read += 1
                same(found, expected(known, key.encode(), kind))
    assert read > 1000
    assert refused > 1000


def outcome(parse):
    """Return a call's result, or the text of its error after the name of the example."""
    try:
        return parse()
    except ps.DataError as error:
        return str(error).partition("feature")[2]


def examples_of(kind):
    """Return a strategy for the kind and the features of examples with features of one kind."""
    features = st.lists(st.tuples(st.sampled_from(KEYS), st.just(kind), VALUES[kind]), max_size=6)
    written = st.tuples(features, st.sampled_from([messages.PACKED, messages.UNPACKED]))
    return st.tuples(st.just(kind), st.lists(written, min_size=4, max_size=9))


@settings(max_examples=100)
@given(
    st.sampled_from(list(DTYPES)).flatmap(examples_of),
    st.lists(st.integers(0, 3), max_size=6),
    st.none() | FEATURES,
)
def test_the_order_of_keys_changes_nothing(kind_and_examples, again, other):
    kind, examples = kind_and_examples
    records = [messages.example(*example) for example in examples]
    records += [records[i] for i in again] + ([] if other is None else [messages.example(other)])
    asked = {key.decode(): Var(DTYPES[kind]) for key in KEYS[:-1]}
    alone = [outcome(lambda r=r: ps.io.parse_single_example(r, asked)) for r in records]
    together = outcome(lambda: ps.io.parse_example(records, asked))
    failed = [found for found in alone if isinstance(found, str)]
    if failed:
        assert together == failed[0]
        return
    for name, (values, splits) in together.items():
        wanted = [found[name] for found in alone]
        same(values, np.concatenate(wanted))
        assert np.diff(splits).tolist() == [len(one) for one in wanted]


# Entries shorter than 130 bytes, whose beginnings are compared as a whole, and longer ones; keys
# that fit into the compared part, and longer ones; one or several entries, in short or long maps.
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("key_size", [0, 1, 5, 21, 22, 23, 24, 26, 27, 40, 109, 110, 127, 128])
def test_entries_of_every_length_are_those_of_protobuf(kind, key_size):
    key, name, rng = b"k" * key_size, "k" * key_size, random.Random(key_size)
    values = {
        "bytes": lambda n: [rng.randbytes(n)],
        "float": lambda n: np.float32([rng.random() for _ in range(n)]).tolist(),
        "int64": lambda n: [rng.getrandbits(rng.choice([7, 14, 35, 63])) for _ in range(n)],
    }[kind]
    others = [[], [(b"last", "int64", [7])], [(b"zz", "bytes", [b"text" * 9]), (b"y", None, [])]]
    entries = [(key, kind, values(n % 67)) for n in range(140)]
    for other, first in itertools.product(others, (True, False)):
        records = [messages.example([e, *other] if first else [*other, e]) for e in entries]
        found, splits = ps.io.parse_example(records, {name: Var(DTYPES[kind])})[name]
        same(found, as_array(kind, [value for _, _, values in entries for value in values]))
        assert np.diff(splits).tolist() == [len(values) for _, _, values in entries]


@pytest.mark.parametrize("change", [1, 2, 0x80])
def test_every_byte_that_differs_from_the_example_before_counts(change):
    good = messages.example(
        [(b"vector", "float", [1, 2]), (b"unasked", "int64", [1]), (b"number", "int64", [5])]
    )
    asked = {"number": Fixed((), np.int64, -1), "vector": Fixed((2,), np.float32, 0)}
    for at in range(len(good)):
        record = bytearray(good)
        record[at] ^= change
        alone = outcome(lambda r=bytes(record): ps.io.parse_single_example(r, asked))
        together = outcome(lambda r=bytes(record): ps.io.parse_example([good] * 5 + [r], asked))
        if isinstance(alone, str):
            assert together == alone
        else:
            for name, values in together.items():
                same(values[-1], alone[name])
