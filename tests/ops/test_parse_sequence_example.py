"""parse_sequence_example and its single variant: protobuf's results, or an error."""

import random

import example_messages as messages
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from native_contract import assert_native

Fixed, Var, Ragged = ps.io.FixedLenFeature, ps.io.VarLenFeature, ps.io.RaggedFeature
Sequence = ps.io.FixedLenSequenceFeature
DTYPES = {"bytes": bytes, "float": np.float32, "int64": np.int64}


def sequence_example(context, lists, classes=messages.PACKED):
    """Serialise ``[(key, kind, values)]`` and ``[(key, [(kind, values)])]``."""
    message = classes["SequenceExample"]()
    for key, kind, values in context:
        messages.fill(message.context.feature.add(key=key).value, kind, values)
    message.feature_lists.SetInParent()
    for key, steps in lists:
        entry = message.feature_lists.feature.add(key=key)
        entry.value.SetInParent()
        for kind, values in steps:
            step = entry.value.feature.add()
            if kind:
                messages.fill(step, kind, values)
    return message.SerializeToString()


def joined(kind, steps):
    """Return protobuf's values and splits of steps; None if the kinds differ."""
    if any(has not in (None, kind) for has, _ in steps):
        return None
    flat = [value for _, values in steps for value in values]
    array = np.empty(len(flat), object if kind == "bytes" else DTYPES[kind])
    array[:] = flat
    return array, np.cumsum([0, *(len(values) for _, values in steps)])


def compare_with_protobuf(record, key="a"):
    context, lists = messages.parse_sequence(record)
    steps = lists.get(key.encode(), [])
    alone = [context[key.encode()]] if key.encode() in context else []
    for kind, dtype in DTYPES.items():
        wanted, whole = joined(kind, steps), joined(kind, alone)
        asked = {key: Var(dtype)}
        if wanted is None:
            with pytest.raises(ps.DataError, match="was expected, got a list of"):
                ps.io.parse_single_sequence_example(record, None, asked)
            continue
        found = ps.io.parse_single_sequence_example(record, None, asked)[1][key]
        assert_same(found, wanted)
        _, batch, lengths = ps.io.parse_sequence_example([record, record], None, asked)
        assert lengths == {}
        (values, inner), outer = batch[key]
        assert_same([values], [np.concatenate([wanted[0], wanted[0]])])
        assert inner.tolist() == [*wanted[1], *(wanted[1][1:] + wanted[1][-1])]
        assert outer.tolist() == [0, len(steps), 2 * len(steps)]
        if whole is not None:
            found = ps.io.parse_single_sequence_example(record, asked)[0][key]
            assert_same([found], [whole[0]])


STEP = st.one_of(
    st.tuples(st.just("bytes"), st.lists(st.binary(max_size=5), max_size=3)),
    st.tuples(st.just("int64"), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)),
    st.tuples(st.just("float"), st.lists(st.floats(width=32), max_size=3)),
)
KEYS = st.sampled_from([b"a", b"b", b""])
SAME_KIND = st.one_of(
    *(
        st.lists(st.tuples(st.sampled_from([kind, kind, None]), values), max_size=4)
        for kind, values in (
            ("bytes", st.lists(st.binary(max_size=5), max_size=3)),
            ("int64", st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)),
        )
    )
)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.tuples(KEYS, STEP), max_size=3),
    st.lists(st.tuples(KEYS, st.one_of(SAME_KIND, st.lists(STEP, max_size=3))), max_size=4),
    st.sampled_from([messages.PACKED, messages.UNPACKED]),
)
def test_values_are_those_of_protobuf(context, lists, classes):
    compare_with_protobuf(sequence_example([(k, *v) for k, v in context], lists, classes))


RECORDS = [
    sequence_example(
        [(b"id", "int64", [n]), (b"tags", "bytes", [b"t"] * n)],
        [
            (b"xy", [("float", [i, i + 0.5]) for i in range(n)]),
            (b"words", [("bytes", [b"w%d" % i] * i) for i in range(n)]),
        ],
    )
    for n in (2, 0, 3)
]
CONTEXT = {"id": Fixed((), np.int64), "tags": Var(bytes)}
LISTS = {"xy": Sequence((2,), np.float32, default_value=-1), "words": Ragged(bytes)}


def test_one_example_has_its_steps():
    context, lists = ps.io.parse_single_sequence_example(RECORDS[2], CONTEXT, LISTS)
    assert context["id"] == 3
    assert context["tags"].tolist() == [b"t"] * 3
    assert lists["xy"].tolist() == [[0, 0.5], [1, 1.5], [2, 2.5]]
    values, splits = lists["words"]
    assert values.tolist() == [b"w1", b"w2", b"w2"]
    assert_same([splits], [np.array([0, 0, 1, 3], np.int32)])


def test_a_batch_is_padded_and_has_lengths():
    context, lists, lengths = ps.io.parse_sequence_example(RECORDS, CONTEXT, LISTS)
    assert_same([context["id"]], [np.array([2, 0, 3])])
    assert context["tags"][1].tolist() == [0, 2, 2, 5]
    assert lists["xy"].shape == (3, 3, 2)
    assert lists["xy"][1].tolist() == [[-1, -1]] * 3
    assert_same([lengths["xy"]], [np.array([2, 0, 3])])
    (values, inner), outer = lists["words"]
    assert values.tolist() == [b"w1", b"w1", b"w2", b"w2"]
    assert inner.tolist() == [0, 0, 1, 1, 2, 4]
    assert outer.tolist() == [0, 2, 2, 5]
    empty = ps.io.parse_sequence_example([], CONTEXT, LISTS)
    assert empty[1]["xy"].shape == (0, 0, 2)


@pytest.mark.parametrize(
    ("context", "lists", "what"),
    [
        (
            {"xy": Fixed((), np.int64)},
            {},
            "feature 'xy': it is missing or has no values, and has no default_value",
        ),
        ({}, {"no": Sequence((), np.int64)}, "feature 'no': it is missing; FixedLenSequenceFe"),
        ({}, {"xy": Sequence((3,), np.float32)}, "feature 'xy': 3 values of float32 expected"),
        (
            {},
            {"xy": Sequence((2,), np.int64)},
            "feature 'xy': int64 was expected, got a list of float32",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_feature_and_example(context, lists, what):
    with pytest.raises(ps.DataError, match=f"parse_single_sequence_example: {what}"):
        ps.io.parse_single_sequence_example(RECORDS[0], context, lists)
    with pytest.raises(ps.DataError, match=f"parse_sequence_example: example 0: {what}"):
        ps.io.parse_sequence_example(RECORDS[:1], context, lists)
    with pytest.raises(ps.DataError, match=f"parse_sequence_example: example 'c': {what}"):
        ps.io.parse_sequence_example(RECORDS[:1], context, lists, ["c"])


def test_a_list_may_be_missing_where_that_is_allowed():
    asked = {"no": Sequence((2,), np.int64, allow_missing=True), "neither": Var(bytes)}
    _, lists = ps.io.parse_single_sequence_example(RECORDS[0], None, asked)
    assert lists["no"].shape == (0, 2)
    assert [part.tolist() for part in lists["neither"]] == [[], [0]]


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="must have a feature"):
        ps.io.parse_single_sequence_example(b"")
    with pytest.raises(TypeError, match="feature 'x' must be one of FixedLenSequenceFeature"):
        ps.io.parse_sequence_example([b""], None, {"x": Fixed((), np.int64)})
    with pytest.raises(TypeError, match="feature 'x' must be one of FixedLenFeature"):
        ps.io.parse_sequence_example([b""], {"x": Sequence((), np.int64)})
    with pytest.raises(ValueError, match="serialized must be one string"):
        ps.io.parse_single_sequence_example([b""], CONTEXT)
    with pytest.raises(ValueError, match="serialized must be a vector of strings"):
        ps.io.parse_sequence_example(b"", CONTEXT)


def test_sequence_examples_are_made_as_protobuf_reads_them():
    made = ps.io.make_sequence_example(
        {"id": 3, "name": "é"}, {"x": [1, [2, 3], []], "w": [["a"]], "none": []}
    )
    context, lists = messages.parse_sequence(made)
    assert context == {b"id": ("int64", [3]), b"name": ("bytes", ["é".encode()])}
    assert lists == {
        b"x": [("int64", [1]), ("int64", [2, 3]), (None, [])],
        b"w": [("bytes", [b"a"])],
        b"none": [],
    }
    with pytest.raises(TypeError, match="make_sequence_example: feature 'x': bytes, str, or real"):
        ps.io.make_sequence_example({}, {"x": [1j]})
    with pytest.raises(TypeError, match="feature_lists: its keys must be str"):
        ps.io.make_sequence_example({}, {1: [1]})


def test_sequence_examples_are_native():
    assert_native(lambda r: ps.io.parse_single_sequence_example(r, CONTEXT, LISTS), RECORDS)
    batches = [np.array(RECORDS[:n], object) for n in (1, 3)]
    assert_native(lambda r: ps.io.parse_sequence_example(r, CONTEXT, LISTS), batches)
    assert_native(
        lambda i: ps.io.make_sequence_example({"i": i}, {"x": [i, i + 1], "y": []}),
        [np.int64(i) for i in range(4)],
    )


@messages.in_c
def test_mutated_records_are_read_as_protobuf_does_or_refused():
    rng = random.Random(5)
    read = refused = 0
    asked = {"xy": Var(np.float32), "words": Var(bytes)}
    for _ in range(3000):
        record = bytearray(rng.choice(RECORDS[::2]))
        for _ in range(rng.choice([1, 1, 3])):
            at = rng.randrange(len(record))
            record[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        record = bytes(record)
        try:
            lists = messages.parse_sequence(record)[1]
        except Exception:  # protobuf's own class, which differs between its versions
            lists = None
        try:
            _, found = ps.io.parse_single_sequence_example(record, None, asked)
        except ps.DataError:
            refused += 1
            kinds = ((b"xy", "float"), (b"words", "bytes"))
            assert lists is None or any(joined(k, lists.get(x, [])) is None for x, k in kinds)
            continue
        if lists is not None:
            read += 1
            assert_same(found["xy"], joined("float", lists.get(b"xy", [])))
            assert_same(found["words"], joined("bytes", lists.get(b"words", [])))
    assert read > 300
    assert refused > 500
