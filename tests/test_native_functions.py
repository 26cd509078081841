"""native: programs return the plain function's results, and errors name the unsupported line."""

import io
import pickle
import threading

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from compare import assert_same
from native_contract import assert_native, dtypes, run

Dataset = ps.Dataset
RNG = np.random.default_rng(11)


def some(dtype, shape=()):
    """Return numbers of a type: small and large, zero and negative."""
    values = RNG.normal(0, 40, shape)
    if np.dtype(dtype).kind == "u":
        values = np.abs(values)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.normal(0, 3, shape)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)[()]


UNARY = [np.negative, np.absolute, np.sqrt, np.exp, np.log1p, np.sin, np.floor, np.sign, np.isnan,
         np.logical_not, np.square, np.tanh, np.rint]  # fmt: skip
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.less,
          np.maximum, np.fmin, np.equal, np.logical_and, np.hypot, np.copysign]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ufunc", UNARY, ids=lambda u: u.__name__)
def test_unary_ufuncs_are_numpys(ufunc):
    for dtype in dtypes():
        values = [some(dtype), some(dtype)]
        try:
            ufunc(values[0])
        except TypeError:
            with pytest.raises(TypeError, match=ufunc.__name__):
                list(Dataset.from_tensors(values[0]).map(ps.native(ufunc)))
            continue
        assert_native(lambda x: ufunc(x), values)
        assert_native(lambda x: ufunc(x), [some(dtype, (3, 5)), some(dtype, (40,))][:1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_binary_ufuncs_are_numpys_for_all_types(ufunc):
    for a in dtypes():
        for b in dtypes():
            x, y = some(a, (7,)), some(b, (7,))
            try:
                wanted = ufunc(x, y)
            except TypeError:
                with pytest.raises(TypeError, match=ufunc.__name__):
                    list(Dataset.from_tensors((x, y)).map(ps.native(ufunc)))
                continue
            assert_same(list(Dataset.from_tensors((x, y)).map(ps.native(ufunc))), [wanted])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", dtypes(), ids=str)
def test_ufuncs_with_two_results(dtype):
    x, y = some(dtype, (2, 7)), some(dtype, (7,))
    for function in (np.modf, np.frexp, lambda x: np.divmod(x, y), lambda x: divmod(x, 3)):
        try:
            function(x)
        except TypeError:
            with pytest.raises(TypeError, match="there is no such operation"):
                list(Dataset.from_tensors(x).map(ps.native(function)))
            continue
        assert_native(lambda x: function(x), [x, x[::-1]])  # noqa: B023
        assert_native(lambda x: function(x)[1], [x[0, 0], x[1, 1]])  # noqa: B023


NUMBERS = [2, -3, 0.5, True, np.float32(2), np.int8(3), 1j, np.array([1, 2, 3]), [1.5, 2, 3]]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("dtype", ["?", "B", "i", "l", "e", "f", "d", "F"])
def test_plain_numbers_take_the_type_of_the_others(dtype, number):
    if dtype == "B" and type(number) is int and number < 0:
        pytest.skip("out of bounds")
    elements = [some(dtype, (2, 3)), some(dtype, (2, 3))]
    assert_native(lambda x: (x * number, number + x, x < number), elements)


def test_a_number_out_of_bounds_is_an_error():
    ds = Dataset.from_tensors(np.uint8(3)).map(ps.native(lambda x: x + 300))
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        list(ds)


@pytest.mark.parametrize(
    "shapes", [((), (3,)), ((4, 1), (3,)), ((2, 1, 3), (4, 1)), ((0, 3), (3,))]
)
def test_broadcasting_within_an_element(shapes):
    elements = [tuple(some("f", shape) for shape in shapes) for _ in range(5)]
    constant = some("f", (3,))
    assert_native(lambda x, y: {"sum": x + y, "shifted": y * constant, "less": x < y}, elements)


def test_shapes_that_do_not_fit_are_an_error_of_the_element():
    ds = Dataset.from_tensor_slices((np.zeros((2, 3)), np.zeros((2, 2)))).map(ps.native(np.add))
    it = iter(ds)
    for number in range(2):
        with pytest.raises(ValueError, match=r"broadcast.*\(3,\) \(2,\)") as raised:
            next(it)
        assert f"element {number}" in raised.value.__notes__[0]
    assert list(it) == []


@pytest.mark.parametrize(
    "function",
    [
        lambda x: -x + x * 2 - x / 3,
        lambda x: x**2 % 7 // 2,
        lambda x: (x > 3) & ~(x == 5) | (x != 0),
        lambda x: abs(x) @ x if False else abs(x),
        lambda x: divmod(7, 2)[0] - x,
        lambda x: 2**x + (1 << 3),
        lambda x: x.astype(np.float32) / 255.0,
    ],
)
def test_operators(function):
    assert_native(function, [np.int64(n) for n in (0, 1, 5, 60)])
    assert_native(function, [np.array([n, 3], np.int32) for n in (0, 1, 5, 9)])


KEYS = [0, -1, slice(1, 3), slice(None, None, -1), slice(-2, None), slice(5, 1, -2), (1, 2), ...,
        (..., 0), (slice(None), 1), (None, 0), (slice(None), None, slice(1, 2)), (..., slice(0, 2)),
        (slice(1, 2), ..., -1), slice(3, 3), (0, slice(None), 0)]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_indexing_is_numpys(key):
    x = np.arange(4 * 3 * 2, dtype=np.int16).reshape(4, 3, 2)
    assert_native(lambda a: a[key], [x, x + 1])


def test_indexing_by_values():
    x = np.arange(30).reshape(6, 5)
    elements = [(x, np.int64(n)) for n in range(3)]
    assert_native(lambda a, n: (a[n], a[n:4], a[:, : n + 1], a[-n - 1 :, n]), elements)


def test_strings_are_indexed_too():
    words = np.array([["a", "bb"], ["", "dddd"]], object)
    assert_native(lambda w: (w[0], w[:, 1], w[::-1], w[1, 1]), [words])


@pytest.mark.parametrize("key", [5, -6, (0, 0, 0), (0, 9)])
def test_indices_that_are_not_there(key):
    with pytest.raises(ValueError, match=r"getitem: .*ind"):
        list(Dataset.from_tensors(np.zeros((5, 5))).map(ps.native(lambda x: x[key])))


def test_shapes():
    elements = [np.zeros((2, n), np.uint8) for n in (1, 4)]
    assert_native(lambda x: ps.shape(x) * 2 - 1, elements)


def test_nested_elements_and_results():
    element = {"a": np.int64(3), "b": (np.float32(2), np.array([1, 2]))}

    def function(x):
        return {"z": x["a"] + 1, "y": (x["b"][0], [x["b"][1], 7][0]), "c": 5, "s": "text"}

    assert_native(function, [element, element])
    assert_native(lambda a, b: [a, b * 2], [(np.int64(1), np.float32(2))] * 2)


def test_dicts_in_another_order_of_keys():
    rows = [{"a": 1, "b": 2.0}, {"b": 3.0, "a": 4}]
    ds = Dataset.from_generator(lambda: rows).map(ps.native(lambda x: x["a"] * 10 + x["b"]))
    assert run(ds) == [12.0, 43.0]


def test_another_nesting_is_an_error():
    ds = Dataset.range(2).map(lambda x: 3 if x else (1, 2)).map(ps.native(lambda x, y: x + y))
    it = iter(ds)
    assert next(it) == 3
    with pytest.raises(TypeError, match="traced for elements of structure"):
        next(it)


def test_each_element_of_another_nesting_is_an_error_of_its_own():
    ds = Dataset.range(40).map(lambda x: x if x % 2 else (x, x))
    it = iter(ds.map(ps.native(lambda x, y: x + y), num_parallel_calls=2))
    seen = []
    for number in range(40):
        try:
            seen.append(int(next(it)))
        except TypeError as error:
            seen.append(f"element {number}" in error.__notes__[0])
    assert seen == [(True if x % 2 else 2 * x) for x in range(40)]
    assert list(it) == []


def test_it_is_not_called_for_elements():
    calls = []

    @ps.native
    def function(x):
        calls.append(x)
        return x + 1

    ds = Dataset.range(1000).map(function, num_parallel_calls=2).batch(10)
    assert len(calls) == 2  # to check that it does the same each time
    it = iter(ds)
    assert len(calls) == 3
    assert len(list(it)) == 100
    assert len(calls) == 3
    assert function(1) == 2


def test_native_functions_call_each_other():
    @ps.native
    def inner(x):
        return x * 2

    assert_native(lambda x: inner(x) + inner(x + 1), [np.int64(1), np.int64(5)])


def test_methods():
    class Scale:
        by = 3

        @ps.native
        def apply(self, x):
            return x * self.by

    assert [int(x) for x in Dataset.range(3).map(Scale().apply)] == [0, 3, 6]
    assert Scale().apply(2) == 6


@ps.native
def plus_one(x):
    return x + 1


def test_datasets_with_them_pickle():
    ds = pickle.loads(pickle.dumps(Dataset.range(3).map(plus_one)))
    assert [int(x) for x in ds] == [1, 2, 3]


def test_no_python_thread_and_no_call_of_python():
    ds = Dataset.range(100_000).map(plus_one, num_parallel_calls=2).batch(100)
    before = threading.active_count()
    it = iter(ds)
    next(it)
    assert threading.active_count() == before


@pytest.mark.parametrize("stage", ["map", "filter"])
def test_the_gil_is_free_while_a_program_runs_in_the_consumers_thread(stage):
    file = io.BytesIO()
    Image.fromarray(RNG.integers(0, 256, (2000, 2000, 3), dtype=np.uint8)).save(file, "JPEG")
    decode = ps.native(lambda contents: ps.image.decode_jpeg(contents)[0, 0, 0] >= 0)
    it = iter(getattr(Dataset.from_tensors(file.getvalue()).repeat(2), stage)(decode))
    count, stop = [0], threading.Event()

    def beside():
        while not stop.is_set():
            count[0] += 1

    thread = threading.Thread(target=beside)
    thread.start()
    try:
        next(it)
        before = count[0]
        next(it)  # about 50 ms
        assert count[0] > before + 1000
    finally:
        stop.set()
        thread.join()


def test_looking_for_the_nesting_counts_as_no_run():
    def build(native):
        ds = Dataset.range(8).shuffle(8, seed=3).map(lambda x: (x, x)).repeat(2)
        return ds.map(native(lambda a, b: a + b))

    assert_same(run(build(ps.native)), run(build(lambda function: function)))


def test_an_output_signature_is_refused():
    with pytest.raises(ValueError, match="output_signature is for plain functions"):
        Dataset.range(3).map(plus_one, output_signature=ps.TensorSpec((), np.int64))


def test_attributes_of_another_type_are_refused_by_name():
    with pytest.raises(TypeError, match="unit: a sequence of ints"):
        ps.strings.length("a", unit=[np.zeros(2)])


def test_filter():
    ds = Dataset.range(10)
    assert [int(x) for x in ds.filter(ps.native(lambda x: x % 3 == 0))] == [0, 3, 6, 9]
    with pytest.raises(TypeError, match="must return one bool"):
        next(iter(ds.filter(ps.native(lambda x: x % 3))))
    with pytest.raises(TypeError, match="must return one bool"):
        next(iter(ds.filter(ps.native(lambda x: None))))


def test_readers(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
    names = Dataset.from_tensor_slices([str(tmp_path / f"{n}.txt") for n in ("a", "b")])
    reader = ps.native(lambda name: ps.TextLineDataset(name))
    assert list(names.flat_map(reader)) == [b"a1", b"a2", b"b1", b"b2"]
    mixed = names.interleave(reader, cycle_length=2, num_parallel_calls=2)
    assert list(mixed) == [b"a1", b"b1", b"a2", b"b2"]
    with pytest.raises(TypeError, match="must return a Dataset"):
        list(names.flat_map(ps.native(lambda name: name)))
    with pytest.raises(ps.TraceError, match="dataset of files"):
        names.flat_map(ps.native(lambda name: Dataset.range(3)))


def test_random_operations_draw_as_in_a_plain_function():
    image = np.arange(400).reshape(20, 20, 1)

    def function(i):
        first = ps.image.random_crop(image, (3, 3, 1))
        return first + i, ps.image.random_flip_left_right(ps.image.random_crop(image, (2, 2, 1)))

    assert_native(function, [np.int64(n) for n in range(5)])


def test_random_operations_differ_from_element_to_element_and_epoch_to_epoch():
    values = np.arange(10_000)
    draw = ps.native(lambda i: ps.image.random_crop(values, (1,)) + 0 * i)
    places = run(Dataset.range(100).repeat(2).map(draw, num_parallel_calls=2))
    assert len({int(place[0]) for place in places}) > 150


def test_powers_of_integers():
    power = ps.native(lambda x: x ** np.array([2, 0, -1]))
    with pytest.raises(ValueError, match="negative integer powers"):
        list(Dataset.range(2).map(power))
    assert_native(lambda x: x ** np.array([2, 0, 3]), [np.int64(3), np.int64(-2)])


def test_files_are_read_when_the_program_runs(tmp_path):
    names = [tmp_path / f"{i}" for i in range(3)]
    for i, name in enumerate(names):
        name.write_bytes(b"%d" % i)
    ds = Dataset.from_tensor_slices([str(n) for n in names]).map(ps.native(ps.io.read_file))
    names[1].unlink()
    it = iter(ds)
    assert next(it) == b"0"
    with pytest.raises(FileNotFoundError, match="1"):
        next(it)
    assert next(it) == b"2"


def test_states_are_restored_in_the_middle():
    ds = Dataset.range(50).map(plus_one, num_parallel_calls=2).batch(4)
    it = iter(ds)
    head = [next(it) for _ in range(5)]
    again = iter(ds)
    again.set_state(it.get_state())
    assert_same(head + list(again), list(ds))


EMPTY = {
    "plain map": lambda ds: ds.map(lambda x: (x, x)),
    "parallel map": lambda ds: ds.map(lambda x: (x, x), num_parallel_calls=2),
    "generator": lambda ds: Dataset.from_generator(lambda: iter(())),
    "interleave": lambda ds: ds.interleave(lambda x: Dataset.range(x)),
    "behind a native one": lambda ds: ds.map(lambda x: (x, x)).map(ps.native(lambda x, y: (y, x))),
}


@pytest.mark.parametrize("name", EMPTY)
def test_behind_a_stage_that_gives_nothing_it_is_an_empty_pass(name):
    ds = EMPTY[name](Dataset.range(3).shard(8, 7))
    swapped = ps.native(lambda x, y: (y, x))
    assert list(ds.map(swapped)) == []
    assert list(ds.map(swapped, num_parallel_calls=2).batch(2)) == []
    assert list(ds.filter(ps.native(lambda x, y: x > y))) == []
    assert list(ds.flat_map(ps.native(lambda x, y: ps.TextLineDataset(x)))) == []
    if name in ("generator", "interleave"):
        with pytest.raises(ValueError, match="gives no element"):
            ds.map(swapped).element_spec
    else:
        assert ds.map(swapped).element_spec == ds.element_spec[::-1]


def test_elements_that_come_later_are_those_of_the_function():
    rows = []
    ds = Dataset.from_generator(lambda: iter(rows)).map(ps.native(lambda x: x + ps.one_hot(x, 3)))
    assert list(ds) == []
    rows += [1, 2]
    assert_same(list(ds), [np.array([1.0, 2, 1]), np.array([2.0, 2, 3])])
