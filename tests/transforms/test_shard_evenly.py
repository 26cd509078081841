"""shard_evenly: equal numbers of elements in all shards, lost or repeated only as requested."""

import itertools

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, Boom, DatasetContract, Failure, fail_at, steps
from even_shards import POLICIES, SOURCES, even_shards

N = 13


# --- under the contract: by position, and sequentially with upstream errors ---


class TestDropped(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(14))
    apply = staticmethod(lambda ds: ds.shard_evenly(4, 0))
    expected = [0, 4, 8]

    def expected_around_error(self):
        return [0, 8]


class TestRepeated(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(11))
    apply = staticmethod(lambda ds: ds.shard_evenly(8, 7, "repeat"))
    expected = [7, 4]

    def expected_around_error(self):
        assert BOOM == (8 + 7) % 11
        return [7]


class TestPadded(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(14))
    apply = staticmethod(lambda ds: ds.shard_evenly(4, 3, "pad"))
    expected = [(3, True), (7, True), (11, True), (0, False)]
    errors_upstream = 0  # belongs to another shard

    def expected_around_error(self):
        return self.expected


class TestAfterBatches(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(20))
    apply = staticmethod(lambda ds: ds.batch(3, drop_remainder=True).shard_evenly(4, 2, "pad"))

    @staticmethod
    def expected():
        return [(np.arange(6, 9), np.True_), (np.zeros(3, np.int64), np.False_)]

    def expected_around_error(self):
        # The error is a separate step, and shifts the batches after it: 3, 5, 6 is the third.
        return [(np.array([3, 5, 6]), np.True_), (np.array([16, 17, 18]), np.True_)]

    errors_upstream = 0


class TestOverGenerator(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.from_generator(numbers))
    apply = staticmethod(lambda ds: ds.shard_evenly(3, 1, "repeat").batch(2))

    @staticmethod
    def expected():
        return [np.array([1, 4]), np.array([7, 10]), np.array([0])]

    def expected_around_error(self):
        return [np.array([1, 7]), np.array([10, 0])]


def numbers():
    return iter(range(N))


class TestOverParallelRows(DatasetContract):
    build = staticmethod(
        lambda num_parallel_calls: ps.Dataset.from_indexable(
            [{"n": i} for i in range(7)], num_parallel_calls=num_parallel_calls
        ).shard_evenly(4, 3, "pad", mask_key="real")
    )
    expected = [{"n": 3, "real": True}, {"n": 0, "real": False}]


# --- all of them together ---


@pytest.mark.parametrize("remainder", POLICIES)
@pytest.mark.parametrize("source", SOURCES)
def test_shards_of_every_number_make_up_the_whole(source, remainder):
    for n, count in itertools.product(range(N + 1), range(1, 6)):
        ds = SOURCES[source](n)
        wanted = even_shards(range(n), count, remainder)
        shards = [ds.shard_evenly(count, i, remainder) for i in range(count)]
        for shard, own in zip(shards, wanted, strict=True):
            assert_same(list(shard), own)
            if ds.cardinality() >= 0:
                assert shard.cardinality() == len(own), (n, count)
            else:
                assert shard.cardinality() == ps.UNKNOWN_CARDINALITY


@pytest.mark.parametrize("remainder", POLICIES)
def test_single_elements_are_those_of_iterators(remainder):
    for n, count in itertools.product([0, 1, 5, 8], [1, 3, 4]):
        for make in (SOURCES["slices"], SOURCES["rows"], lambda n: ps.Dataset.range(n).shuffle(9)):
            for i, own in enumerate(even_shards(range(n), count, remainder)):
                shard = make(n).shard_evenly(count, i, remainder)
                came = [ps.experimental.at(shard, k) for k in range(len(own))]
                assert_same(came, list(shard))


@pytest.mark.parametrize("remainder", ["drop", "repeat"])
def test_gathered_rows_are_those_that_are_gone_through(remainder):
    def noisy(x):
        return x, ps.random.uniform(())

    for count, i in [(1, 0), (3, 0), (3, 2), (20, 15)]:
        args = {"num_shards": count, "index": i, "remainder": remainder, "seed": 0}
        for shuffled in (lambda ds: ds, lambda ds: ds.shuffle(5, seed=2)):
            ps.set_seed(4)
            fused = list(shuffled(ps.Dataset.range(N)._then("shard_evenly", **args)).map(noisy))
            ps.set_seed(4)
            apart = ps.Dataset.range(N)._then("shard_evenly", fused=False, **args)
            assert_same(list(shuffled(apart).map(noisy)), fused)


def test_shards_of_an_endless_dataset():
    rows = ps.Dataset.from_indexable(list(range(5)))
    for ds in (ps.Dataset.counter(), ps.Dataset.range(5).repeat(), rows.repeat()):
        for remainder in POLICIES:
            shard = ds.shard_evenly(3, 1, remainder)
            assert shard.cardinality() == ps.INFINITE_CARDINALITY
            came = [x[0] if remainder == "pad" else x for x in shard.take(4)]
            assert_same(came, list(ds.skip(1).take(12).shard(3, 0)))


@pytest.mark.parametrize("remainder", POLICIES)
def test_shards_of_nothing_repeated_without_end(remainder):
    none = ps.Dataset.range(3).filter(lambda x: False).repeat()
    assert none.cardinality() == ps.INFINITE_CARDINALITY
    assert list(none.shard_evenly(3, 1, remainder)) == []


def test_behind_it_batches_are_as_many_everywhere():
    ds = ps.Dataset.range(103).shuffle(50)
    for remainder in POLICIES:
        sizes = {len(list(ds.shard_evenly(4, i, remainder).batch(5))) for i in range(4)}
        assert len(sizes) == 1


# --- padding ---


@pytest.mark.parametrize(
    ("element", "padded"),
    [
        (np.float32(1), lambda zero, mask: (zero, mask)),
        ((np.int64(1), "s"), lambda zero, mask: (*zero, mask)),
        ({"a": np.ones(2, np.uint8)}, lambda zero, mask: {**zero, "valid": mask}),
        ((np.int64(1), {"b": (b"x", "y")}), lambda zero, mask: (*zero, mask)),
        (np.array(["a", "bc"], object), lambda zero, mask: (zero, mask)),
        (np.array([3], "datetime64[s]"), lambda zero, mask: (zero, mask)),
        (np.ones((2, 0, 3), np.complex64), lambda zero, mask: (zero, mask)),
    ],
)
def test_padding_is_zero_and_the_mask_fits_the_structure(element, padded):
    def zero(value):
        if isinstance(value, dict):
            return {key: zero(part) for key, part in value.items()}
        if isinstance(value, tuple):
            return tuple(map(zero, value))
        if isinstance(value, (str, bytes)):
            return type(value)()
        if value.dtype == object:
            return np.full(value.shape, "", object)
        return np.zeros_like(value)[()]

    known = ps.Dataset.from_tensors(element)
    plain = ps.Dataset.from_generator(lambda: iter([element]))  # its elements are unknown
    for ds in (known, plain, known.filter(lambda *parts: True)):
        first, second = (ds.shard_evenly(2, i, "pad") for i in range(2))
        assert_same(list(first), [padded(element, np.True_)])
        assert_same(list(second), [padded(zero(element), np.False_)])
    assert first.element_spec == second.element_spec
    assert known.shard_evenly(2, 1, "pad").element_spec == first.element_spec


def test_nothing_is_computed_to_find_out_how_masks_are_added():
    calls = []
    ds = ps.Dataset.range(6).map(lambda x: calls.append(int(x)) or {"x": x})
    shard = ds.shard_evenly(3, 1, "pad")
    assert calls == []
    assert_same(list(shard), [{"x": 1, "valid": True}, {"x": 4, "valid": True}])
    assert calls == [1, 4]


def test_the_shape_of_padding_is_that_of_an_element_beside_it():
    ds = ps.Dataset.range(1, 5).map(lambda n: np.full(n, n))
    wanted = [(np.full(2, 2), np.True_), (np.zeros(4, np.int64), np.False_)]
    assert_same(list(ds.shard_evenly(3, 1, "pad")), wanted)


def test_what_failed_tells_no_shape():
    ds = ps.Dataset.range(5).enumerate().map(fail_at(3))
    assert_same(steps(iter(ds.shard_evenly(3, 2, "pad"))), [(2, True), (0, False)])
    came = steps(iter(ds.take(4).shard_evenly(3, 2, "pad")))
    assert came[0] == (2, True)
    assert came[1].kind == "RuntimeError"
    assert "shard_evenly: the shape of padding is that of an element beside it" in came[1].text
    assert len(came) == 2


# --- errors ---


def test_a_source_that_can_be_gone_through_once_says_so():
    items = iter(range(5))
    ds = ps.Dataset.from_generator(lambda: items)
    came = steps(iter(ds.shard_evenly(3, 2, "repeat")))
    assert came[0] == 2
    assert came[1].kind == "RuntimeError"
    assert "shard_evenly: the input gave 5 elements and, when it was begun again" in came[1].text
    assert len(came) == 2


def test_an_element_that_failed_counts_for_all():
    def fails(x):
        if x in (4, 7):
            raise Boom(f"element {x}")
        return x

    ds = ps.Dataset.range(9).filter(lambda x: True).map(fails)
    came = [steps(iter(ds.shard_evenly(2, i))) for i in range(2)]
    assert came[0] == [0, 2, Failure("Boom", "element 4"), 6]
    assert came[1] == [1, 3, 5, Failure("Boom", "element 7")]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 0), ValueError, "num_shards must be >= 1, got 0"),
        ((2**31, 0), ValueError, "num_shards must be <= 2147483647, got 2147483648"),
        ((3, 3), ValueError, r"index must be in \[0, num_shards = 3\), got 3"),
        ((3, -1), ValueError, "index must be in"),
        ((3, 1, "wrap"), ValueError, "remainder must be 'drop', 'pad' or 'repeat', got 'wrap'"),
        ((3, 1, 2), TypeError, "remainder"),
        (("3", 1), TypeError, "num_shards"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, error, words):
    with pytest.raises(error, match=f"shard_evenly: {words}"):
        ps.Dataset.range(3).shard_evenly(*arguments)


def test_what_cannot_be_padded_is_refused():
    opaque = ps.Dataset.from_tensors({"a": 1, "b": {1}})
    message = r"shard_evenly: numbers and strings can be padded, element\['b'\] is an opaque object"
    with pytest.raises(TypeError, match=message):
        opaque.shard_evenly(2, 0, "pad")
    unknown = opaque.map(lambda x: x).shard_evenly(2, 1, "pad")
    with pytest.raises(TypeError, match=message):
        list(unknown)
    assert len(list(opaque.shard_evenly(2, 1, "repeat"))) == 1
    taken = ps.Dataset.from_tensors({"valid": 1})
    words = "shard_evenly: the elements have a key 'valid' already; choose another mask_key"
    with pytest.raises(ValueError, match=words):
        list(taken.shard_evenly(1, 0, "pad"))
    assert_same(list(taken.shard_evenly(1, 0, "pad", mask_key="m")), [{"valid": 1, "m": True}])
