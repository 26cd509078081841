"""element_spec after functions: exactly what holds for all elements."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from compare import assert_fits
from penstock.probing import first_spec

MEAN = [0.5, 0.25, 0.125]
TABLE = np.arange(6.0)
CALLS = []
IMAGE = ps.image.encode_png(np.zeros((5, 7, 3), np.uint8))


def counted(x):
    CALLS.append(x)
    return np.zeros((2, 3))


class Pair(NamedTuple):
    left: object
    right: object


@dataclasses.dataclass
class Named:
    x: object


def spec(shape, dtype=np.float64):
    return ps.TensorSpec(shape, dtype)


def test_what_one_element_shows_is_not_claimed_of_all():
    ds = ps.Dataset.range(1, 4).map(lambda n: np.array([int(n)] * int(n)))
    assert ds.element_spec == spec((None,), np.int64)
    assert ds.padded_batch(2).element_spec == spec((None, None), np.int64)
    for element in ds:
        assert_fits(ds.element_spec, element)


@pytest.mark.parametrize(
    "behind",
    [
        lambda ds: ds.map(counted),
        lambda ds: ds.map(counted, num_parallel_calls=2),
        lambda ds: ds.map(counted).shuffle(3).prefetch(1).take(2),
        lambda ds: ds.flat_map(lambda x: ps.Dataset.from_tensors(np.zeros((2, 3)))),
        lambda ds: ds.interleave(lambda x: ps.Dataset.from_tensors(np.zeros((2, 3)))),
        lambda ds: ps.Dataset.from_generator(lambda: iter([np.zeros((2, 3))])),
        lambda ds: ps.Dataset.from_indexable([np.zeros((2, 3))]),
        lambda ds: ds.scan(np.zeros((2, 3)), lambda state, x: (state, state)),
    ],
)
def test_ranks_and_dtypes_are_those_of_the_first_element(behind):
    assert behind(ps.Dataset.range(3)).element_spec == spec((None, None))


def test_a_signature_says_more():
    ds = ps.Dataset.range(3).map(counted, output_signature=spec((2, None)))
    assert ds.element_spec == spec((2, None))


def test_a_function_that_could_be_noticed_is_called_once_and_only_with_an_element():
    CALLS.clear()
    ds = ps.Dataset.range(3).map(counted)
    assert ds.element_spec == ds.batch(2).unbatch().element_spec == spec((None, None))
    assert CALLS == [0]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: x + 1, spec((), np.int64)),
        (lambda x: np.zeros((2, 3)), spec((2, 3))),
        (lambda x: {"a": np.ones(4) * x, "b": (x, "text")}, None),
        (lambda x: ps.random.uniform((3, 2)), spec((3, 2), np.float32)),
        (lambda x: ps.image.resize(ps.image.decode_png(IMAGE, 3), (4, 6)) - MEAN, None),
        (lambda x: ps.one_hot(x, 5), None),
        (lambda x: TABLE[1:4] * x, spec((3,))),
        (lambda x: Pair(x, np.zeros(2)), Pair(spec((), np.int64), spec((2,)))),
        (lambda x: Named(np.zeros(2)), Named(spec((2,)))),
        (ps.native(lambda x: np.zeros((2, 3)) + x), spec((2, 3))),
    ],
)
def test_shapes_of_functions_that_can_be_traced_are_known(function, wanted):
    ds = ps.Dataset.range(3).map(function)
    found = ds.element_spec
    assert "None" not in repr(found)
    assert wanted is None or found == wanted
    assert_fits(found, ds.first())


FILES = ps.Dataset.from_tensor_slices(
    [ps.image.encode_png(np.zeros((h, 9, 3), np.uint8)) for h in (5, 8)]
)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda file: ps.image.decode_png(file), (None, None, None)),
        (lambda file: ps.image.decode_png(file, channels=3), (None, None, 3)),
        (lambda file: ps.image.resize(ps.image.decode_png(file, 3), (2, 4)), (2, 4, 3)),
        (lambda file: ps.image.decode_png(file, 3)[:4, :, 0], (None, None)),
        (lambda file: ps.image.decode_png(file, 3)[None, 2], (1, None, 3)),
        (lambda file: ps.image.central_crop(ps.image.decode_png(file), 0.5), (None, None, None)),
        (lambda file: ps.image.random_crop(ps.image.decode_png(file, 3), (4, -1, 3)), (4, None, 3)),
        (lambda file: ps.image.resize_with_pad(ps.image.decode_png(file, 1), 6, 7), (6, 7, 1)),
        (lambda file: ps.shape(ps.image.decode_png(file)), (3,)),
        (
            lambda file: ps.image.rot90(ps.image.resize(ps.image.decode_png(file, 3), (2, 4))),
            (4, 2, 3),
        ),
        (
            lambda file: np.concatenate([ps.image.decode_png(file, 3), np.zeros((1, 9, 3))]),
            (None, 9, 3),
        ),
        (lambda file: np.stack([ps.image.decode_png(file, 3).mean()] * 2), (2,)),
        (lambda file: ps.image.decode_png(file, 3).mean(axis=(0, 1), keepdims=True), (1, 1, 3)),
        (lambda file: ps.io.decode_raw(file, np.uint8), (None,)),
        (lambda file: ps.io.decode_raw(file, np.uint8, fixed_length=8).reshape(2, -1), (2, 4)),
        (lambda file: np.transpose(ps.image.decode_png(file, 3), (2, 0, 1)), (3, None, None)),
        (
            lambda file: np.pad(ps.image.decode_png(file, 3), ((1, 2), (0, 0), (0, 1))),
            (None, None, 4),
        ),
        (lambda file: np.tile(ps.image.decode_png(file, 3), (1, 1, 2)), (None, None, 6)),
    ],
)
def test_sizes_that_differ_are_none(function, shape, native):
    ds = FILES.map(ps.native(function) if native else function)
    assert ds.element_spec.shape == shape
    for element in ds:
        assert_fits(ds.element_spec, element)


def test_records_have_the_shapes_of_their_features():
    records = [ps.io.make_example({"x": [1.0, 2.0], "n": list(range(i))}) for i in range(1, 4)]
    features = {"x": ps.io.FixedLenFeature((2,), np.float32), "n": ps.io.VarLenFeature(np.int64)}
    ds = ps.Dataset.from_tensor_slices(records)
    one = ds.map(lambda record: ps.io.parse_single_example(record, features)).element_spec
    assert one == {"x": spec((2,), np.float32), "n": spec((None,), np.int64)}
    many = ds.batch(2).map(ps.native(lambda batch: ps.io.parse_example(batch, features)))
    values, splits = spec((None,), np.int64), spec((None,), np.int64)
    assert many.element_spec == {"x": spec((None, 2), np.float32), "n": (values, splits)}


def test_what_tracing_cannot_see_is_not_claimed():
    def looks(x):
        return np.zeros(3) if type(x) is np.int64 else np.zeros(4)

    ds = ps.Dataset.range(3).map(looks)
    assert ds.element_spec == spec((None,))


def test_a_trace_that_fails_or_warns_says_nothing():
    huge = np.float32(3e38)

    def warns(x):
        return np.array([huge * np.float32(10)]) if x >= 0 else x

    with np.errstate(over="ignore"):
        assert ps.Dataset.range(3).map(warns).element_spec == spec((None,), np.float32)

    def warns_always(x):
        return np.array([1.0, huge * np.float32(10)]) * x

    ds = ps.Dataset.range(3).map(warns_always)
    with pytest.warns(RuntimeWarning) as warned:
        list(ds.take(1))
    of_one_call = len(warned)
    with pytest.warns(RuntimeWarning) as warned:
        assert ds.element_spec == spec((2,))
    assert len(warned) == of_one_call


class Box:
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x

    def method(self, x):
        self.calls += 1
        return x


def _default(x, seen=[]):  # noqa: B006 - what is tested
    seen.append(x)
    return len(seen) * 0 + x


def _attribute(x):
    _attribute.calls.append(x)
    return x


_attribute.calls = []


@pytest.mark.parametrize(
    "kind", ["object", "method", "default", "attribute", "nonlocal", "global", "array"]
)
def test_functions_with_effects_are_never_traced_for_a_spec(kind):
    box, calls, held = Box(), 0, np.zeros(1)

    def adds(x):
        nonlocal calls
        calls += 1
        return x

    def writes(x):
        held[0] += 1
        return x

    def globally(x):
        global COUNT
        COUNT += 1
        return x

    _default.__defaults__[0].clear()
    _attribute.calls.clear()
    global COUNT
    COUNT = 0
    function = {
        "object": box,
        "method": box.method,
        "default": _default,
        "attribute": _attribute,
        "nonlocal": adds,
        "global": globally,
        "array": writes,
    }[kind]
    assert ps.Dataset.range(3).map(function).element_spec == spec((), np.int64)
    seen = {
        "object": lambda: box.calls,
        "method": lambda: box.calls,
        "default": lambda: len(_default.__defaults__[0]),
        "attribute": lambda: len(_attribute.calls),
        "nonlocal": lambda: calls,
        "global": lambda: COUNT,
        "array": lambda: held[0],
    }[kind]
    assert seen() == 1


def test_batches_of_unknown_sizes_are_not_counted():
    rows = ps.Dataset.range(1, 4).map(lambda n: np.array([1] * int(n)))
    rows.element_spec
    assert rows.unbatch().cardinality() == ps.UNKNOWN_CARDINALITY
    assert len(list(rows.unbatch())) == 6
    known = ps.Dataset.range(3).map(lambda n: np.zeros(2) + n)
    known.element_spec
    assert known.unbatch().cardinality() == 6


def test_a_batch_knows_its_own_size():
    ds = ps.Dataset.range(4).map(counted)
    assert ds.element_spec == spec((None, None))
    assert ds.batch(2, drop_remainder=True).element_spec == spec((2, None, None))
    with pytest.raises(
        ValueError, match=r"element 1 has shape \(2,\), the batch began with \(1,\)"
    ):
        list(ps.Dataset.range(1, 3).map(lambda n: np.array([1] * int(n))).batch(2))


def test_native_functions_behind_unknown_sizes_run_as_before():
    halves = ps.native(lambda x: x[: ps.shape(x)[0] // 2])
    rows = ps.Dataset.range(2, 5).map(lambda n: np.array([1] * int(n)))
    assert rows.map(halves).element_spec == spec((None,), np.int64)
    assert [len(x) for x in rows.map(halves)] == [1, 1, 2]


def test_rejection_resample_knows_its_elements():
    ds = ps.Dataset.from_tensor_slices(np.zeros((20, 3))).rejection_resample(
        lambda x: np.int64(0), [1.0], [1.0]
    )
    assert ds.element_spec == (spec((), np.int64), spec((3,)))


def test_what_needs_some_size_has_that_of_the_first_element():
    ds = ps.Dataset.range(2).map(lambda x: {"a": np.full(2, int(x), np.uint8)})
    assert ds.element_spec == {"a": spec((None,), np.uint8)}
    assert first_spec(ds) == {"a": spec((2,), np.uint8)}
    assert first_spec(ds.batch(2)) == {"a": spec((2, 2), np.uint8)}
    padded = ds.apply(ps.experimental.pad_to_cardinality(3))
    assert [element["a"].tolist() for element in padded] == [[0, 0], [1, 1], [0, 0]]
    declared = ds.map(lambda x: x, output_signature={"a": spec((None,), np.uint8)})
    with pytest.raises(ValueError, match="of known shape were expected"):
        declared.apply(ps.experimental.pad_to_cardinality(3))


def test_without_elements_a_function_that_cannot_be_noticed_is_called_with_zeros():
    ds = ps.Dataset.range(0)
    spec = ds.map(lambda x: {"a": x * 2.5, "b": np.zeros(3)}).element_spec
    assert spec == {"a": ps.TensorSpec((), np.float64), "b": ps.TensorSpec((3,), np.float64)}
    untraced = ds.map(lambda x: np.zeros(int(x) + 1)).element_spec
    assert untraced == ps.TensorSpec((None,), np.float64)
    words = ps.Dataset.from_tensor_slices(["a b"]).skip(1).map(lambda text: ps.strings.split(text))
    assert words.element_spec == ps.TensorSpec((None,), str)


def test_without_elements_a_function_that_can_be_noticed_is_not_called():
    called = []
    ds = ps.Dataset.range(0).map(lambda x: called.append(x) or x)
    with pytest.raises(ValueError, match="map gives no element; declare it with output_signature"):
        ds.element_spec
    assert not called
