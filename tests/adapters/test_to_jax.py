"""Dataset.to_jax on one CPU device: values, arguments, errors."""

import dataclasses

import numpy as np
import pytest

import penstock as ps
from contract import Boom

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax_rows import Point, rows, same  # noqa: E402  # imports jax

Dataset = ps.Dataset


@dataclasses.dataclass
class Record:
    x: object
    name: object = None


class TestValues:
    @pytest.mark.parametrize("prefetch", ["auto", 0, 1, 3])
    def test_are_those_of_the_plain_iterator_as_jax_converts_them(self, prefetch):
        ds = rows(8).batch(4)
        batches = ds.to_jax(prefetch=prefetch)
        for _ in range(2):
            count = 0
            for got, plain in zip(batches, ds, strict=True):
                assert got.keys() == plain.keys()
                for key, leaf in plain.items():
                    same(got[key], jnp.asarray(leaf))
                count += 1
            assert count == 2

    @pytest.mark.parametrize(
        "dtype", ["?", *"bBhHiIlLqQ", "e", "f", "d", "F", "D", ">i4", ">f8"], ids=str
    )
    def test_of_every_dtype_of_jax(self, dtype, recwarn):
        values = np.arange(6).astype(dtype)
        (got,) = Dataset.from_tensor_slices(values).batch(6).to_jax()
        same(got, jnp.asarray(values.astype(values.dtype.newbyteorder("="))))
        assert not recwarn.list

    def test_64_bits_where_the_thread_that_iterates_has_them(self):
        ds = rows(4).batch(4)
        with jax.enable_x64(True):
            it = iter(ds.to_jax())
            got = next(it)
        assert (got["x"].dtype, got["n"].dtype) == (np.float64, np.int64)
        assert next(iter(ds.to_jax()))["n"].dtype == np.int32

    @pytest.mark.parametrize("dtype", ["M8[s]", "m8[ns]", np.longdouble, np.clongdouble], ids=str)
    def test_a_dtype_that_jax_lacks_is_an_error_that_names_the_leaf(self, dtype):
        ds = Dataset.from_tensor_slices({"a": (np.arange(4), np.zeros(4, dtype))}).batch(2)
        with pytest.raises(TypeError, match=r"to_jax: batch\['a'\]\[1\]: a dtype of JAX was"):
            next(iter(ds.to_jax()))

    def test_containers_strings_objects_and_none_stay_what_they_are(self):
        mark = object()

        def element(i):
            point = Point(np.float32(i), {"s": f"s{i}", "b": b"b"})
            return Record((point, None, (np.ones(2) * i,)), mark)

        (got,) = Dataset.range(3).map(element).batch(3).to_jax()
        assert type(got) is Record
        point, none, (ones,) = got.x
        assert type(point) is Point
        assert none is None
        same(point.x, jnp.arange(3.0))
        same(ones, jnp.asarray([[0.0, 0], [1, 1], [2, 2]]))
        assert isinstance(point.y["s"], np.ndarray)
        assert point.y["s"].tolist() == ["s0", "s1", "s2"]
        assert point.y["b"].tolist() == [b"b"] * 3
        assert got.name.tolist() == [mark] * 3

    def test_of_a_shuffle_are_in_another_order_in_every_epoch_as_plain_ones(self):
        def orders(make):
            iterable = make(Dataset.range(32).shuffle(32, seed=5).batch(32))
            return [next(iter(iterable)).tolist() for _ in range(3)]

        plain = orders(lambda ds: ds)
        assert orders(lambda ds: ds.to_jax()) == plain
        assert plain[0] != plain[1]

    def test_a_tuple_of_one_and_single_elements(self):
        assert [type(b) for b in Dataset.range(2).map(lambda i: (i,)).batch(2).to_jax()] == [tuple]
        got = list(Dataset.range(3).to_jax())
        assert [int(x) for x in got] == [0, 1, 2]
        assert all(isinstance(x, jax.Array) and x.shape == () for x in got)
        assert list(Dataset.from_tensor_slices(["a", "b"]).to_jax()) == ["a", "b"]

    def test_nothing_and_batches_without_rows(self):
        assert list(Dataset.range(0).batch(3).to_jax()) == []
        (got,) = Dataset.from_tensors(np.zeros((0, 3), np.float32)).to_jax(pad=True)
        assert [leaf.shape for leaf in got] == [(0, 3), (0,)]

    def test_to_one_device(self):
        device = jax.devices()[-1]
        (got,) = Dataset.range(4).batch(4).to_jax(device)
        assert got.devices() == {device}
        assert got.committed

    def test_into_a_jitted_function_and_through_dlpack(self):
        total = jax.jit(lambda batch: batch["x"].sum())
        assert [float(total(b)) for b in rows(8).batch(4).to_jax()] == [66, 210]
        plain = rows(4).batch(4).first()
        same(jnp.from_dlpack(plain["x"].astype(np.float32)), jnp.asarray(plain["x"]))
        batch = Dataset.range(4).batch(4).map(lambda n: n.astype(np.int32)).first()
        shared = jnp.from_dlpack(batch)
        same(shared, jnp.arange(4))
        back = np.from_dlpack(next(iter(rows(4).batch(4).to_jax()))["x"])
        np.testing.assert_array_equal(back, plain["x"])


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"prefetch": -1}, ValueError, "prefetch must be >= 0"),
            ({"prefetch": "much"}, ValueError, "prefetch must be a number or"),
            ({"prefetch": 1.5}, TypeError, "got 1.5"),
            ({"global_batch": 0}, ValueError, "global_batch must be >= 1"),
            ({"pad": 3}, TypeError, "pad must be True"),
            ({"sharding": "cpu"}, TypeError, "sharding must be None"),
            ({"sharding": {"x": (None, 3)}}, TypeError, "got 3"),
            ({"sharding": jax.sharding.PartitionSpec("x")}, TypeError, "NamedSharding"),
        ],
    )
    def test_wrong_ones_are_told_at_once(self, arguments, error, words):
        with pytest.raises(error, match=words):
            rows().to_jax(**arguments)

    def test_shardings_that_are_nested_otherwise(self):
        device = jax.devices()[0]
        with pytest.raises(TypeError, match=r"keys \['x', 'n'\] were expected in batch, got"):
            next(iter(rows().batch(2).to_jax({"x": device})))
        with pytest.raises(TypeError, match=r"one for batch\['n'\] was expected, which is a leaf"):
            next(iter(rows().batch(2).to_jax({"x": None, "n": (device,)})))
        got = next(iter(rows().batch(2).to_jax({"x": None, "n": device})))
        assert (got["x"].committed, got["n"].committed) == (False, True)


class TestErrors:
    @pytest.mark.parametrize("prefetch", [0, 2])
    def test_of_the_pipeline_are_raised_in_their_place_and_it_goes_on(self, prefetch):
        def fail(batch):
            if batch[0] == 4:
                raise Boom("here")
            return batch

        it = iter(Dataset.range(12).batch(4).map(fail).to_jax(prefetch=prefetch))
        assert next(it).tolist() == [0, 1, 2, 3]
        with pytest.raises(Boom, match="here"):
            next(it)
        assert next(it).tolist() == [8, 9, 10, 11]
        assert next(it, None) is None

    def test_of_one_batch_leave_the_others(self):
        leaves = [np.zeros(2), np.zeros(2, "M8[s]"), np.ones(2)]
        it = iter(Dataset.range(3).map(lambda i: leaves[i]).to_jax())
        next(it)
        with pytest.raises(TypeError, match=r"to_jax: batch: a dtype of JAX .*datetime64") as told:
            next(it)
        (note,) = told.value.__notes__
        # The rest is the text of the element, which this test ignores.
        assert note.startswith("penstock: in stage to_jax, element 1")
        assert next(it).tolist() == [1, 1]
