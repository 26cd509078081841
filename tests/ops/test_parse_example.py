"""parse_example and parse_single_example: the requested features, or an error."""

import example_messages as messages
import numpy as np
import pytest

import penstock as ps
from compare import assert_same as all_same
from native_contract import assert_native, source_of

Fixed, Var = ps.io.FixedLenFeature, ps.io.VarLenFeature
Ragged, Sequence = ps.io.RaggedFeature, ps.io.FixedLenSequenceFeature


def same(came, wanted):
    all_same([came], [wanted])


EXAMPLE = messages.example(
    [(b"f", "float", [1, 2, 3, 4]), (b"i", "int64", [7]), (b"s", "bytes", [b"text"])]
)
ASKED = {"f": Fixed((2, 2), np.float32), "i": Fixed((), np.int64), "s": Fixed((1,), bytes)}


def test_fixed_features_have_their_shape():
    found = ps.io.parse_single_example(EXAMPLE, ASKED)
    assert list(found) == ["f", "i", "s"]
    same(found["f"], np.array([[1, 2], [3, 4]], np.float32))
    same(found["i"], np.int64(7))
    same(found["s"], np.array([b"text"], object))
    batch = ps.io.parse_example([EXAMPLE] * 3, ASKED)
    assert [v.shape for v in batch.values()] == [(3, 2, 2), (3,), (3, 1)]
    assert batch["s"].tolist() == [[b"text"]] * 3


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"f": Fixed((3,), np.float32)}, "feature 'f': 3 values of float32 expected for shape"),
        ({"f": Fixed((), np.float32)}, "1 value of float32 expected for shape \\(\\), got 4"),
        ({"i": Fixed((), np.float32)}, "feature 'i': float32 was expected, got a list of int64"),
        ({"s": Var(np.int64)}, "feature 's': int64 was expected, got a list of bytes"),
        (
            {"none": Fixed((), bytes)},
            "'none': it is missing or has no values.*; the example has 'f'",
        ),
        ({"f": Sequence((3,), np.float32, True)}, "a multiple of 3 values was expected"),
        ({"none": Sequence((3,), np.float32)}, "feature 'none': it is missing"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_feature_and_example(asked, what):
    with pytest.raises(ps.DataError, match=f"parse_single_example: .*{what}"):
        ps.io.parse_single_example(EXAMPLE, asked)
    with pytest.raises(ps.DataError, match="parse_example: example 0: feature"):
        ps.io.parse_example([EXAMPLE], asked)
    with pytest.raises(ps.DataError, match="parse_example: example 'photo 3': feature"):
        ps.io.parse_example([EXAMPLE], asked, ["photo 3"])


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        (Fixed((), np.int64, -1), np.int64(-1)),
        (Fixed((2,), np.float32, [1, 2]), np.array([1, 2], np.float32)),
        (Fixed((2, 2), np.float32, 5), np.full((2, 2), 5, np.float32)),
        (Fixed((), bytes, b"none"), b"none"),
        (Fixed((), bytes, ""), b""),
        (Fixed((), str, "nö"), "nö"),
        (Fixed((2,), bytes, ["a", b"b"]), np.array([b"a", b"b"], object)),
        (Fixed((0,), np.int64, 0), np.zeros(0, np.int64)),
    ],
)
def test_a_missing_feature_has_its_default(asked, value):
    for record in (b"", messages.example([(b"x", None, [])])):
        same(ps.io.parse_single_example(record, {"x": asked})["x"], value)
    name = {np.dtype("float32"): "float", np.dtype("int64"): "int64"}.get(
        getattr(value, "dtype", None), "bytes"
    )
    given = np.arange(1, np.size(value) + 1)
    given = [b"%d" % i for i in given.ravel()] if name == "bytes" else given.ravel().tolist()
    full = messages.example([(b"x", name, given)])
    batch = ps.io.parse_example([b"", full, b""], {"x": asked})["x"]
    same(batch[0], batch[2])
    assert np.shape(batch) == (3, *np.shape(value))


def test_text_is_decoded():
    record = messages.example([(b"x", "bytes", ["é".encode(), b"\xff"])])
    found = ps.io.parse_single_example(record, {"x": Var(str)})["x"]
    assert found.tolist() == ["é", "\udcff"]  # like every str that is not UTF-8


def test_rows_of_a_sequence_are_padded_to_the_most():
    records = [
        messages.example([(b"n", "int64", range(2 * i)), (b"s", "bytes", [b"w"] * i)])
        for i in range(3)
    ]
    asked = {"n": Sequence((2,), np.int64, True, -1), "s": Sequence((), bytes, True, "pad")}
    found = ps.io.parse_example(records, asked)
    pad = [-1, -1]
    assert found["n"].tolist() == [[pad, pad], [[0, 1], pad], [[0, 1], [2, 3]]]
    assert found["s"].tolist() == [[b"pad", b"pad"], [b"w", b"pad"], [b"w", b"w"]]
    alone = ps.io.parse_single_example(records[2], asked)
    assert alone["n"].tolist() == [[0, 1], [2, 3]]
    assert ps.io.parse_example([b"", b""], asked)["n"].shape == (2, 0, 2)


def test_a_ragged_feature_may_share_its_key():
    asked = {"f": Fixed((4,), np.float32), "again": Ragged(np.float32, "f", (), np.int64)}
    found = ps.io.parse_example([EXAMPLE], asked)
    values, splits = found["again"]
    same(values, found["f"][0])
    same(splits, np.array([0, 4]))
    assert ps.io.parse_example([EXAMPLE], {"f": Ragged(np.float32)})["f"][1].dtype == np.int32


@pytest.mark.parametrize(
    ("features", "error", "what"),
    [
        ({}, ValueError, "at least one feature"),
        ({"x": np.int64}, TypeError, "feature 'x' must be one of FixedLenFeature"),
        ({"x": Fixed((None,), np.int64)}, ValueError, "VarLenFeature has no shape"),
        ({"x": Fixed((-1,), np.int64)}, ValueError, "sizes >= 0"),
        ({"x": Fixed((2**40,), np.int64)}, ValueError, "too many axes or values"),
        ({"x": Fixed((3,), np.int64, [1, 2])}, ValueError, "default_value must have shape"),
        ({"x": Fixed((), np.int64, 0.5)}, TypeError, "default_value must be of type int64"),
        ({"x": Fixed((), np.int64, "a")}, TypeError, "default_value must be of type int64"),
        ({"x": Fixed((), bytes, 1)}, TypeError, "default_value must be bytes or str"),
        ({"x": Sequence((0,), np.int64)}, ValueError, "no axis of size 0"),
        ({"x": Ragged(np.int64, partitions=[1])}, ValueError, "partitions must be empty"),
        ({"x": Ragged(np.int64, row_splits_dtype=np.int8)}, ValueError, "row_splits_dtype"),
        ({b"x": Var(bytes)}, TypeError, "the key must be a str"),
    ],
)
def test_wrong_features_are_refused(features, error, what):
    for parse, serialized in (
        (ps.io.parse_single_example, b""),
        (ps.io.parse_example, [b""]),
    ):
        with pytest.raises(error, match=what):
            parse(serialized, features)


@pytest.mark.parametrize("kind", [Var, Ragged, lambda dtype: Fixed((), dtype)])
def test_a_wrong_dtype_is_refused_at_once(kind):
    with pytest.raises(TypeError, match="dtype must be float32, int64, bytes or str, got int32"):
        kind(np.int32)


def test_wrong_records_are_refused():
    with pytest.raises(TypeError, match="parse_single_example: serialized must be bytes, got str"):
        ps.io.parse_single_example("text", ASKED)
    with pytest.raises(ValueError, match="serialized must be one string, got shape \\(1,\\)"):
        ps.io.parse_single_example([EXAMPLE], {"f": Var(np.float32)})
    with pytest.raises(ValueError, match="serialized must be a vector of strings, got shape"):
        ps.io.parse_example(EXAMPLE, ASKED)
    with pytest.raises(ValueError, match="a name was expected for each of 1 examples"):
        ps.io.parse_example([EXAMPLE], ASKED, ["a", "b"])


def records(count):
    def features(i):
        yield b"f", "float", [i, 2, 3, 4]
        yield b"i", "int64", [i]
        yield b"s", "bytes", [b"%d" % i]
        yield b"v", "int64", range(i)

    return [messages.example(features(i)) for i in range(count)]


def test_parse_single_example_is_native():
    assert_native(lambda r: ps.io.parse_single_example(r, ASKED), records(7))
    ragged = {"v": Var(np.int64), "i": Fixed((), np.int64)}
    assert_native(lambda r: ps.io.parse_single_example(r, ragged), records(4))


def test_parse_example_is_native():
    asked = {**ASKED, "v": Var(np.int64), "n": Sequence((), bytes, True)}
    batches = [np.array(records(n), object) for n in (3, 1, 4)]
    assert_native(lambda r: ps.io.parse_example(r, asked), batches)


def test_a_bad_record_of_a_native_map_is_an_error_at_its_place():
    elements = [*records(3), b"\x0a\x05", *records(2)]
    parse = ps.native(lambda r: ps.io.parse_single_example(r, ASKED)["i"])
    iterator = iter(source_of(elements).map(parse))
    assert [int(next(iterator)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ps.DataError, match="a length of 5 bytes") as raised:
        next(iterator)
    assert "element 3" in "".join(raised.value.__notes__)
    assert [int(i) for i in iterator] == [0, 1]


def test_strings_outlive_the_records(tmp_path):
    with ps.io.TFRecordWriter(tmp_path / "records") as writer:
        for record in records(3000):
            writer.write(record)
    asked = {"s": Fixed((), bytes), "v": Var(np.int64)}
    dataset = ps.TFRecordDataset(tmp_path / "records")
    parse = ps.native(lambda r: ps.io.parse_example(r, {"s": asked["s"]})["s"])
    kept = list(dataset.batch(100).map(parse).unbatch())
    assert kept == [b"%d" % i for i in range(3000)]
    single = ps.native(lambda r: ps.io.parse_single_example(r, {"s": asked["s"]})["s"])
    assert list(dataset.map(single)) == kept
