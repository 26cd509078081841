"""Every dtype and every structure passes unchanged through every kind of stage."""

import dataclasses
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import penstock as ps
from compare import assert_fits, assert_same

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Sample:
    image: np.ndarray
    label: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    name: str
    inner: Point


class Opaque:
    """An object of a class unknown to NumPy."""


NUMERIC = [np.dtype(c) for c in "?bhilBHILefdgFDG"]
TIMES = [
    np.dtype(f"{kind}8[{unit}]") for kind in "mM" for unit in ("ns", "us", "s", "D", "25s", "Y")
]
DTYPES = sorted({str(d): d for d in NUMERIC + TIMES}.items())
OPAQUE = Opaque()

# Each stage must return the element unchanged.
STAGES = {
    "from_tensors": lambda e: ps.Dataset.from_tensors(e),
    "from_generator": lambda e: ps.Dataset.from_generator(lambda: iter([e])),
    "generator in blocks": lambda e: (
        ps.Dataset.from_generator(lambda: iter([e] * 3)).batch(3).unbatch().take(1)
    ),
    "map": lambda e: ps.Dataset.range(1).map(lambda _: e),
    "map after map": lambda e: ps.Dataset.range(1).map(lambda _: {"e": e}).map(lambda d: d["e"]),
    "parallel map": lambda e: ps.Dataset.range(1).map(lambda _: e, num_parallel_calls=2),
    "batch and unbatch": lambda e: ps.Dataset.range(2).map(lambda _: e).batch(2).unbatch().take(1),
    "parallel map and batch": lambda e: (
        ps.Dataset.range(4).map(lambda _: e, 2).batch(2).unbatch().take(1)
    ),
    "prefetch": lambda e: ps.Dataset.from_tensors(e).prefetch(1),
    "cache": lambda e: ps.Dataset.from_tensors(e).cache().repeat(2).skip(1),
    "shuffle": lambda e: ps.Dataset.from_tensors(e).repeat(3).shuffle(2).take(1),
    "interleave": lambda e: ps.Dataset.range(1).interleave(lambda _: ps.Dataset.from_tensors(e)),
    "zip": lambda e: ps.Dataset.zip(ps.Dataset.from_tensors(e)),
    "filter": lambda e: ps.Dataset.from_tensors(e).filter(lambda *_: True),
}
stages = pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)


def sample_values(dtype):
    if dtype.kind in "mM":
        return np.array([0, 1, -5, 10**6], "i8").view(dtype)
    if dtype.kind == "f":
        return np.array([0.0, -0.0, 1.5, np.inf, np.nan], dtype)
    if dtype.kind == "c":
        return np.array([0, 1 - 2j, complex(np.nan, 1)], dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    limits = np.iinfo(dtype)
    return np.array([0, 1, limits.min, limits.max], dtype)


@stages
@pytest.mark.parametrize(("name", "dtype"), DTYPES)
def test_every_dtype_passes_as_array_and_as_scalar(stage, name, dtype):
    array = sample_values(dtype)
    for element in (array, array[1], array.reshape(1, -1, 1), array[:0]):
        came = list(stage(element))
        assert_same(came, [element])
        assert came[0].dtype.str == np.asarray(element).dtype.str


@pytest.mark.parametrize(("name", "dtype"), DTYPES)
def test_every_dtype_can_be_sliced_shuffled_and_batched(name, dtype):
    array = np.resize(sample_values(dtype), (7, 3))
    ds = ps.Dataset.from_tensor_slices(array)
    assert_same(list(ds), list(array))
    assert_same(list(ds.batch(4)), [array[:4], array[4:]])
    order = [int(i) for i in ps.Dataset.range(7).shuffle(7, seed=1, reshuffle_each_iteration=True)]
    assert sorted(order) == list(range(7))
    shuffled = ds.shuffle(7, seed=1).batch(7).first()
    assert sorted(map(repr, shuffled)) == sorted(map(repr, array))
    flat = ps.Dataset.from_tensor_slices(array[:, 0])
    assert_same(list(flat), list(array[:, 0]))
    assert ds.element_spec == ps.TensorSpec((3,), dtype)
    assert_fits(ds.batch(2).element_spec, ds.batch(2).first())


@stages
@pytest.mark.parametrize(
    "layout",
    [
        lambda a: a.astype(a.dtype.newbyteorder(">")),
        np.asfortranarray,
        lambda a: a[::-1],
        lambda a: a[:, ::2],
        lambda a: a.T,
        lambda a: a[1:, 1:],
        lambda a: np.broadcast_to(a[0], (3, 4)),
    ],
    ids=["big-endian", "fortran", "reversed", "strided", "transposed", "part", "broadcast"],
)
@pytest.mark.parametrize("dtype", ["f4", "i8", "c16", "M8[s]"])
def test_every_layout_comes_as_a_native_contiguous_array(stage, layout, dtype):
    array = np.arange(12).astype(dtype).reshape(3, 4)
    came = list(stage(layout(array)))
    wanted = np.ascontiguousarray(layout(array))
    assert_same(came, [wanted.astype(wanted.dtype.newbyteorder("="))])
    assert came[0].dtype.isnative


@stages
@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (3, 0), (2, 0, 2), (1,) * 7])
def test_every_shape_passes(stage, shape):
    element = np.ones(shape, np.float32)
    assert_same(list(stage(element)), [element if shape else np.float32(1)])


@stages
@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "ä",
        "日本語",
        "a\0",
        "\0",
        "😀" * 300,
        b"",
        b"a\0",
        b"\0\0",
        b"\xff\xfe",
        b"x" * 3000,
    ],
    ids=repr,
)
def test_strings_keep_every_character(stage, text):
    assert_same(list(stage(text)), [text])
    assert_same(list(stage((1, text))), [(1, text)])


@stages
@pytest.mark.parametrize(
    "element",
    [
        (1, (2.5, ("a", None))),
        {"b": 1, "a": {"c": (b"x", [1.0, 2.0])}},
        {1: "int key", ("t",): "tuple key", None: 2},
        Point(1, "y"),
        (Point(Point(1, 2), None), [1, 2, 3]),
        (True, False, 3 + 4j),
        ([[1, 2], [3, 4]],),
        Sample(np.zeros(2, np.float32), 3),
        (Frozen("n", Point(1, 2)), 5),
        {"deep": {"er": {"still": ({"end": ((((1,),),),)},)}}},
    ],
    ids=repr,
)
def test_every_structure_passes(stage, element):
    def normal(value):
        """Return the expected element: numbers and lists as NumPy values."""
        if isinstance(value, list):
            return np.array(value)
        if type(value) is tuple:
            return tuple(map(normal, value))
        if isinstance(value, tuple):
            return type(value)(*map(normal, value))
        if isinstance(value, dict):
            return {k: normal(v) for k, v in value.items()}
        if dataclasses.is_dataclass(value):
            fields = [f.name for f in dataclasses.fields(value)]
            return type(value)(**{f: normal(getattr(value, f)) for f in fields})
        return value if value is None or isinstance(value, (str, bytes)) else np.asarray(value)[()]

    assert_same(list(stage(element)), [normal(element)])


@pytest.mark.parametrize(
    "stage", [s for n, s in STAGES.items() if "batch" not in n and "blocks" not in n]
)
@pytest.mark.parametrize("element", [None, (), {}, (None,), {"a": ((), None)}], ids=repr)
def test_structures_without_leaves_pass(stage, element):
    # Its batch has no rows that unbatch could count.
    assert_same(list(stage(element)), [element])


@stages
def test_objects_come_back_as_the_very_same(stage):
    for element in (OPAQUE, {1, 2}, lambda: 0, Opaque, slice(1, 2)):
        (came,) = stage(element)
        assert came is element
    (came,) = stage((1, {"o": OPAQUE}))
    assert came[1]["o"] is OPAQUE


def test_an_attrs_like_record_passes():
    class Attribute:
        def __init__(self, name):
            self.name = name

    class Record:
        __attrs_attrs__ = (Attribute("a"), Attribute("b"))

        def __init__(self, a, b):
            self.a, self.b = a, b

    ds = ps.Dataset.range(4).map(lambda x: Record(x, f"{x}"))
    assert [(type(r), int(r.a), r.b) for r in ds] == [(Record, i, f"{i}") for i in range(4)]
    (batch,) = ds.batch(4)
    assert isinstance(batch, Record)
    assert_same([batch.a, batch.b], [np.arange(4), np.array(list("0123"), object)])


def test_records_are_batched_field_by_field():
    (batch,) = ps.Dataset.range(3).map(lambda x: Sample(np.full(2, x), x)).batch(3)
    assert isinstance(batch, Sample)
    assert_same(
        [batch.image, batch.label], [np.repeat(np.arange(3), 2).reshape(3, 2), np.arange(3)]
    )


def test_an_ordered_dict_is_a_dict_in_its_order():
    element = ps.Dataset.from_tensors(OrderedDict([("z", 1), ("a", 2)])).first()
    assert list(element) == ["z", "a"]


def test_object_arrays_of_strings_come_back_as_such():
    for strings in (["a", "ä"], [b"a\0", b""], [["a", "b"], ["c", "d"]]):
        array = np.array(strings, dtype=object)
        assert_same(list(ps.Dataset.from_tensors(array)), [array])
        assert_same(list(ps.Dataset.from_tensors(array).batch(1)), [array[None]])


def test_fixed_width_string_arrays_come_as_objects():
    came = ps.Dataset.from_tensors(np.array([["a", "bcd"]])).first()
    assert_same([came], [np.array([["a", "bcd"]], dtype=object)])
    came = ps.Dataset.from_tensors(np.array([b"a", b"bcd"])).first()
    assert_same([came], [np.array([b"a", b"bcd"], dtype=object)])


@pytest.mark.parametrize(
    "element",
    [
        np.array(b"abc", "V3"),
        [[1, 2], [3]],
    ],
    ids=["void", "ragged"],
)
def test_what_has_no_dtype_is_refused_with_its_reason(element):
    with pytest.raises((TypeError, ValueError)) as error:
        ps.Dataset.from_tensors(element)
    assert str(error.value)


def test_spec_equality_repr_and_defaults():
    assert ps.TensorSpec((None, 3), "f4") == ps.TensorSpec([-1, 3], np.float32, name="x")
    assert ps.TensorSpec((2,), int) != ps.TensorSpec((2,), float)
    assert ps.TensorSpec((), "U5") == ps.TensorSpec((), str) != ps.TensorSpec((), bytes)
    assert len({ps.TensorSpec((), str), ps.TensorSpec((), "U")}) == 1
    assert repr(ps.TensorSpec(None, object)) == "TensorSpec(shape=None, dtype=object)"
    assert ps.TensorSpec((1,)) != 3
