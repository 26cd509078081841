"""batch: stacked elements, and errors for elements that do not fit."""

from collections import namedtuple

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, Boom, DatasetContract, Failure, steps

Pair = namedtuple("Pair", "x y")


def numbers():
    return ps.Dataset.range(11)


def generated():
    return ps.Dataset.from_generator(lambda: ((i, f"s{i}") for i in range(7)))


def stack(*numbers):
    return np.array(numbers, dtype=np.int64)


class TestBatch(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.batch(3))
    expected = [stack(0, 1, 2), stack(3, 4, 5), stack(6, 7, 8), stack(9, 10)]


class TestBatchOfOne(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.batch(1))
    expected = [stack(i) for i in range(11)]


class TestWithoutRemainder(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.batch(4, drop_remainder=True))
    expected = [stack(0, 1, 2, 3), stack(4, 5, 6, 7)]


class TestParallelBatch(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.batch(2, num_parallel_calls=num_parallel_calls)
    )
    expected = [stack(i, i + 1) for i in range(0, 10, 2)] + [stack(10)]


class TestBatchOfGenerated(DatasetContract):
    source = staticmethod(generated)
    apply = staticmethod(lambda ds: ds.batch(3))
    expected = [
        (stack(*r), np.array([f"s{i}" for i in r], dtype=object))
        for r in (range(3), range(3, 6), [6])
    ]
    pickles = False  # a generator created by a lambda


class TestBatchOfBatches(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.batch(2).batch(2))
    expected = [np.arange(i, i + 4).reshape(2, 2) for i in (0, 4, 8)]

    def expected_around_error(self):
        # Without element 4, the last inner batch has one row, so the outer batch refuses it.
        return [np.arange(4).reshape(2, 2), stack(5, 6, 7, 8).reshape(2, 2), stack(9, 10)[None]]

    errors_upstream = 2

    def test_an_error_upstream_leaves_the_others(self, variant):
        came = steps(iter(self.failing(variant)))
        errors = [s for s in came if isinstance(s, Failure)]
        assert errors[0] == Failure("Boom", f"element {BOOM}")
        assert "shape (1,), the batch began with (2,)" in errors[1].text
        assert_same([s for s in came if not isinstance(s, Failure)], self.expected_around_error())


def of(values):
    return ps.Dataset.from_generator(lambda: iter(values))


VARIANTS = {
    "generator": of,
    "map": lambda values: ps.Dataset.range(len(values)).map(lambda i: values[i]),
    "parallel map": lambda values: ps.Dataset.range(len(values)).map(
        lambda i: values[i], num_parallel_calls=2
    ),
    "prefetch": lambda values: of(values).prefetch(2),
}


@pytest.mark.parametrize("source", VARIANTS.values(), ids=VARIANTS)
def test_an_element_of_another_shape_is_named_and_its_neighbours_are_kept(source):
    values = [np.full(4, float(i)) for i in range(20)]
    values[17] = np.zeros(3)
    it = iter(source(values).batch(20))
    with pytest.raises(ValueError, match="batch") as error:
        next(it)
    assert str(error.value) == (
        "batch: element 17 has shape (3,), the batch began with (4,); "
        "use padded_batch or ragged_batch, or make the shapes equal in a map first"
    )
    assert_same(list(it), [np.stack(values[:17] + values[18:])])


MAPS = {name: source for name, source in VARIANTS.items() if "map" in name}


@pytest.mark.parametrize("source", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2.5, 3], "element 1 has dtype float64, the batch began with int64; cast them"),
        ([1, "a", 3], "element 1 has dtype str, the batch began with int64"),
        ([1, (1, 2), 3], "element 1 has structure"),
        ([(1, [0.0]), (2, [0.0, 1.0]), (3, [1.0])], "element 1's leaf [1] has shape (2,)"),
        ([{"a": 1}, {"b": 1}, {"a": 3}], "element 1 has structure"),
        (
            [{"a": (1, 2)}, {"a": (1, "x")}, {"a": (3, 3)}],
            "element 1's leaf ['a'][1] has dtype str",
        ),
        (
            [np.float32(1), 1.0, np.float32(2)],
            "element 1 has dtype float64, the batch began with float32",
        ),
    ],
)
def test_what_does_not_fit_is_named_and_left_out(source, values, words):
    came = steps(iter(source(values).batch(3)))
    assert came[0].kind == "ValueError"
    assert words in came[0].text
    assert_same(came[1:], list(source([values[0], values[2]]).batch(3)))


@pytest.mark.parametrize("source", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("bad", [(1,), (1, 2), (1, 3), (2, 5), (5,), (1, 2, 3, 4, 5)])
def test_states_around_elements_that_do_not_fit(source, bad):
    values = [np.full(2, i) if i not in bad else np.full(3, i) for i in range(7)]

    class Ragged(DatasetContract):
        apply = None
        build = staticmethod(lambda: source(values).batch(3))

    Ragged().check_states(Ragged.build)


def test_advice_for_another_number_of_axes_names_nothing_that_refuses_it():
    came = steps(iter(of([np.zeros(2), np.zeros((2, 2))]).batch(2)))
    assert came[0].text.endswith("the batch began with (2,); make the shapes equal in a map first")


SIZES = {  # sizes of rows, the position of each error before full batches of 3
    "in the remainder": ([2, 2, 2, 2, 3], []),
    "before the remainder": ([2, 2, 3, 2, 2], [2]),
    "just not in the remainder": ([2, 2, 2, 2, 2, 3], [5]),
    "two that fill a batch": ([2, 3, 3], [1, 2]),
    "more than fill a batch": ([2, 3, 3, 3, 3, 2, 2], [1, 2, 3, 4]),
    "in whole batches": ([2, 3, 2, 2, 5, 5, 5], [1]),
}


@pytest.mark.parametrize(("sizes", "errors"), SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("source", VARIANTS.values(), ids=VARIANTS)
def test_rows_of_a_dropped_remainder_may_have_any_shape(source, sizes, errors):
    values = [np.full(size, i) for i, size in enumerate(sizes)]

    def build():
        return source(values).batch(3, drop_remainder=True)

    came = steps(iter(build()))
    told = [s.text.split(" has ")[0] for s in came if isinstance(s, Failure)]
    assert told == [f"batch: element {i}" for i in errors]
    fit = [v for i, v in enumerate(values) if i not in errors]
    whole = [np.stack(fit[i : i + 3]) for i in range(0, len(fit) - len(fit) % 3, 3)]
    assert_same([s for s in came if not isinstance(s, Failure)], whole)


def test_what_else_does_not_fit_in_a_dropped_remainder_is_no_error_either():
    for odd in (1.5, "a", (1, 2), {"a": 1}):
        ds = MAPS["map"]([1, 2, 3, odd])
        assert_same(list(ds.batch(3, drop_remainder=True)), [stack(1, 2, 3)])
        ds = MAPS["map"]([1, 2, 3, 4, odd])
        assert_same(list(ds.batch(3, drop_remainder=True)), [stack(1, 2, 3)])


@pytest.mark.parametrize("method", ["padded_batch", "ragged_batch"])
def test_a_dropped_remainder_of_other_batches(method):
    values = [np.zeros(i) for i in range(4)] + [np.zeros((2, 2))]
    batches = list(getattr(MAPS["map"](values), method)(3, drop_remainder=True))
    assert len(batches) == 1
    values.append(np.zeros(1))
    came = steps(iter(getattr(MAPS["map"](values), method)(3, drop_remainder=True)))
    assert [type(step) is Failure for step in came] == [False, True]


def test_errors_before_a_dropped_remainder_stay_in_it():
    def fail(i):
        if i in (3, 5):
            raise Boom(str(int(i)))
        return np.zeros(3 if i == 4 else 2)

    came = steps(iter(ps.Dataset.range(6).map(fail).batch(5, drop_remainder=True)))
    assert came == [Failure("Boom", "3"), Failure("Boom", "5")]


@pytest.mark.parametrize("parallel", [None, 2])
def test_a_dropped_remainder_of_a_native_function(parallel):
    rows = [b"a" * 2] * 4 + [b"a" * 3]
    raw = ps.native(lambda row: ps.io.decode_raw(row, np.uint8))
    ds = of(rows).map(raw, num_parallel_calls=parallel).batch(3, drop_remainder=True)
    assert [batch.shape for batch in ds] == [(3, 2)]
    ds = of([*rows, b"aa"]).map(raw, num_parallel_calls=parallel).batch(3, drop_remainder=True)
    assert [type(step) is Failure for step in steps(iter(ds))] == [False, True]


@pytest.mark.parametrize("source", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize(
    "bad", [(1,), (5,), (6,), (5, 6), (1, 2), (1, 2, 3, 4), (4, 5), (2, 3, 5, 6)]
)
def test_states_around_a_dropped_remainder(source, bad):
    values = [np.full(2, i) if i not in bad else np.full(3, i) for i in range(7)]

    def value(i):
        if i == 5 and 4 in bad:
            raise Boom("5")
        return values[i]

    class Dropped(DatasetContract):
        apply = None
        build = staticmethod(
            lambda: (
                ps.Dataset.range(7)
                .map(value, num_parallel_calls=2 if source is MAPS["parallel map"] else None)
                .batch(3, drop_remainder=True)
            )
        )

    Dropped().check_states(Dropped.build)


def test_an_error_comes_first_and_the_batch_goes_on():
    def fail(x):
        if x in (1, 2, 7):
            raise Boom(str(int(x)))
        return x

    came = steps(iter(ps.Dataset.range(9).map(fail).batch(3)))
    assert_same(
        [came[0], came[1], came[3]],
        [Failure("Boom", "1"), Failure("Boom", "2"), Failure("Boom", "7")],
    )
    assert_same([came[2], came[4]], [stack(0, 3, 4), stack(5, 6, 8)])


def test_strings_become_object_arrays():
    assert_same(
        list(of(["a", "ä", ""]).batch(2)), [np.array(["a", "ä"], object), np.array([""], object)]
    )
    assert_same(list(of([b"a\0", b""]).batch(2)), [np.array([b"a\0", b""], object)])


def test_objects_stay_the_same_objects():
    objects = [object() for _ in range(3)]
    batch = of(objects).batch(3).first()
    assert batch.dtype == object
    assert all(a is b for a, b in zip(batch, objects, strict=True))


def test_a_dict_in_another_order_of_keys_is_the_same_dict():
    ds = of([{"a": 1, "b": "x"}, {"b": "y", "a": 2}]).batch(2)
    assert_same(list(ds), [{"a": stack(1, 2), "b": np.array(["x", "y"], object)}])


def test_nested_structures_stay():
    ds = of([Pair(i, {"k": (None, float(i))}) for i in range(2)]).batch(2)
    assert_same(list(ds), [Pair(stack(0, 1), {"k": (None, np.array([0.0, 1.0]))})])


def test_elements_without_leaves_can_be_batched():
    assert list(of([None, None, None]).batch(2)) == [None, None]


def test_rows_of_no_size_are_counted():
    ds = of([np.zeros((0, 3))] * 5).batch(2)
    assert_same(list(ds), [np.zeros((2, 0, 3)), np.zeros((2, 0, 3)), np.zeros((1, 0, 3))])


def test_batches_are_writeable_and_each_has_its_own_memory():
    batches = list(ps.Dataset.from_tensor_slices(np.arange(12.0)).batch(4))
    for batch in batches:
        assert batch.flags.writeable
        assert batch.flags.c_contiguous
        batch[:] = -1
    assert not any(np.shares_memory(a, b) for a in batches for b in batches if a is not b)


def test_a_batch_does_not_share_memory_with_its_source():
    array = np.arange(6.0)
    for batch in ps.Dataset.from_tensor_slices(array).batch(6):
        batch[:] = 0
    assert array.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("size", "drop", "shape"), [(5, False, 5), (4, False, None), (4, True, 4)])
def test_the_spec_knows_the_size_when_every_batch_has_it(size, drop, shape):
    ds = ps.Dataset.range(10).batch(size, drop_remainder=drop)
    assert ds.element_spec == ps.TensorSpec((shape,), np.int64)


@pytest.mark.parametrize(
    ("n", "size", "drop", "count"),
    [
        (10, 3, False, 4),
        (10, 3, True, 3),
        (9, 3, False, 3),
        (0, 3, False, 0),
        (2, 3, True, 0),
        (2**60, 1, False, 2**60),
    ],
)
def test_the_cardinality_is_divided(n, size, drop, count):
    assert ps.Dataset.range(n).batch(size, drop).cardinality() == count


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"batch_size": 0}, ValueError, "batch_size must be >= 1, got 0"),
        ({"batch_size": -1}, ValueError, "batch_size must be >= 1, got -1"),
        ({"batch_size": 2.0}, TypeError, "batch_size must be an int"),
        ({"batch_size": None}, TypeError, "batch_size must be an int"),
        ({"batch_size": 2, "num_parallel_calls": 0}, ValueError, "num_parallel_calls must be >= 1"),
        (
            {"batch_size": 2, "num_parallel_calls": -2},
            ValueError,
            "num_parallel_calls must be >= 1",
        ),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, error, words):
    with pytest.raises(error, match=f"batch: {words}"):
        ps.Dataset.range(3).batch(**arguments)


def test_an_enormous_batch_takes_what_there_is():
    assert_same(list(ps.Dataset.range(3).batch(2**40)), [stack(0, 1, 2)])
    assert_same(list(of([1, 2]).batch(2**40)), [stack(1, 2)])
    ds = ps.Dataset.range(3).map(lambda x: x, num_parallel_calls=2).batch(2**40)
    assert_same(list(ds), [stack(0, 1, 2)])


def test_rows_that_do_not_fit_keep_their_names():
    first = ps.Dataset.from_tensor_slices({"a": np.arange(2), "b": np.zeros((2, 2), int)})
    other = ps.Dataset.from_tensor_slices({"b": np.arange(4) + 100, "a": np.full((4, 2), 7)})
    came = steps(iter(first.concatenate(other).batch(5)))
    for i, failure in enumerate(came[:-1], 2):
        assert failure.text.startswith(f"batch: element {i}'s leaf ['a'] has shape (2,)")
    assert_same(came[-1:], [{"a": np.arange(2), "b": np.zeros((2, 2), int)}])
