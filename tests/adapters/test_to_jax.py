"""Dataset.to_jax on one CPU device: values, sizes, positions, errors, ends."""

import dataclasses
import gc
import os
import threading
from collections import namedtuple

import numpy as np
import pytest

import penstock as ps
from scripts import Gate, run_script, wait_until

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

Dataset = ps.Dataset
Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Record:
    x: object
    name: object = None


def rows(n=10):
    return Dataset.from_tensor_slices({"x": np.arange(n * 3.0).reshape(n, 3), "n": np.arange(n)})


def halved(**arguments):
    """Return batches of 2 rows, also the last one, which comes of 2 where the others come of 4."""
    return rows().batch(4).map(lambda b: b["x"][:2], **arguments)


def spec(shape):
    return ps.TensorSpec(shape, np.float64)


def same(array, wanted):
    assert isinstance(array, jax.Array)
    assert array.dtype == wanted.dtype
    assert array.shape == wanted.shape
    np.testing.assert_array_equal(array, wanted)


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


class TestSizes:
    def test_a_shorter_last_batch_is_left_out_or_kept(self):
        assert [len(b["n"]) for b in rows().batch(4).to_jax()] == [4, 4]
        assert [len(b["n"]) for b in rows().batch(4).to_jax(drop_remainder=False)] == [4, 4, 2]
        assert [len(b["n"]) for b in rows(3).batch(4).to_jax()] == [3]  # the first is full

    def test_that_of_every_epoch(self):
        got = [b["n"].tolist() for b in rows().batch(4).repeat(2).to_jax()]
        assert got == [[0, 1, 2, 3], [4, 5, 6, 7]] * 2

    @pytest.mark.parametrize(
        ("sizes", "words"),
        [
            ([3, 5], "batches of 3 rows .* got one of 5 rows;"),
            ([4, 2, 2], ".* got one of 2 rows after a shorter one;"),
        ],
    )
    def test_other_sizes_are_an_error_unless_they_are_wanted(self, sizes, words):
        ds = Dataset.from_generator(lambda: (np.zeros(n) for n in sizes))
        with pytest.raises(ValueError, match=f"to_jax: {words}"):
            list(ds.to_jax())
        assert [len(x) for x in ds.to_jax(drop_remainder=False)] == sizes

    def test_ragged_leaves_have_no_size_to_go_by(self):
        ds = Dataset.range(1, 6).map(lambda n: np.full(n, n)).ragged_batch(2)
        assert [len(splits) for _, splits in ds.to_jax()] == [3, 3, 2]

    @pytest.mark.parametrize(
        ("make", "wanted"),
        [
            (lambda: rows().batch(4), 2),
            (lambda: rows(12).batch(4), 3),
            (lambda: rows(3).batch(4), 1),
            (lambda: rows(0).batch(4), 0),
            (lambda: rows().batch(4, drop_remainder=True), 2),
            (lambda: rows().map(lambda r: r["x"] + 1).batch(4).cache().prefetch(2), 2),
            (lambda: rows().batch(4).enumerate().repeat(3), 6),
            (lambda: halved(output_signature=spec((2, None))), 3),
            (lambda: halved(output_signature=spec((2, 3)), num_parallel_calls=2).cache(), 3),
            (lambda: Dataset.range(1, 6).map(lambda n: np.full(n, n)).padded_batch(2), 2),
        ],
    )
    def test_length(self, make, wanted):
        batches = make().to_jax()
        assert len(batches) == len(list(batches)) == wanted
        assert len(make().to_jax(drop_remainder=False)) == len(make())

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: rows().batch(4).repeat(), "infinite"),
            (lambda: rows().filter(lambda r: True).batch(4), "unknown"),
            (lambda: rows().batch(4).shuffle(9), "not known how many batches have fewer rows"),
            (lambda: halved(), "not known how many batches have fewer rows"),
            (lambda: halved(num_parallel_calls=2).cache(), "not known how many batches have fewer"),
            (lambda: halved(output_signature=spec((None, 3))), "not known how many"),
            (lambda: halved(output_signature=spec(None)).repeat(2), "not known how many"),
        ],
    )
    def test_length_that_is_not_known(self, make, words):
        with pytest.raises(TypeError, match=f"len: .*{words}"):
            len(make().to_jax())

    def test_pad_fills_up_and_adds_a_mask(self):
        first, second, last = rows().batch(4).to_jax(pad=True)
        assert len(rows().batch(4).to_jax(pad=True)) == 3
        assert first["valid"].tolist() == second["valid"].tolist() == [True] * 4
        same(last["valid"], jnp.asarray([True, True, False, False]))
        same(last["n"], jnp.asarray([8, 9, 0, 0]))
        same(last["x"], jnp.asarray([[24.0, 25, 26], [27, 28, 29], [0, 0, 0], [0, 0, 0]]))
        *_, last = rows().batch(4).to_jax(pad="mask")
        assert set(last) == {"x", "n", "mask"}

    def test_pad_joins_a_mask_that_is_there(self):
        shard = Dataset.range(7).map(lambda n: {"n": n}).shard_evenly(2, 1, "pad")
        batches = list(shard.batch(3).to_jax(pad=True))
        assert [b["valid"].tolist() for b in batches] == [[True] * 3, [False] * 3]
        with pytest.raises(ValueError, match="'valid' that is no mask of its rows"):
            list(Dataset.from_tensors({"valid": np.arange(4)}).to_jax(pad=True))

    def test_pad_of_tuples_arrays_strings_and_objects(self):
        *_, last = Dataset.range(3).batch(2).to_jax(pad=True)
        assert [leaf.tolist() for leaf in last] == [[2, 0], [True, False]]
        ds = Dataset.range(3).map(lambda n: (n, (f"{n}", b"b", {n}, np.full(2, n))))
        *_, (n, (text, data, objects, pairs), mask) = ds.batch(2).to_jax(pad=True)
        assert (n.tolist(), mask.tolist()) == ([2, 0], [True, False])
        assert (text.tolist(), data.tolist()) == (["2", ""], [b"b", b""])
        assert objects.tolist() == [{2}, None]
        assert pairs.tolist() == [[2, 2], [0, 0]]

    @pytest.mark.parametrize(
        ("make", "error", "words"),
        [
            (lambda: Dataset.range(3), ValueError, r"one size .* got \(\); batch first"),
            (lambda: Dataset.range(3).map(lambda n: Point(n, n)).batch(2), TypeError, "a Point"),
            (
                lambda: Dataset.from_tensors({"a": np.zeros(2), "b": np.zeros(3)}),
                ValueError,
                r"got a: \(2,\), b: \(3,\); batch first",
            ),
        ],
    )
    def test_pad_of_what_has_no_rows_or_no_place(self, make, error, words):
        with pytest.raises(error, match=f"to_jax: pad: .*{words}"):
            list(make().to_jax(pad=True))

    def test_global_batch_says_what_is_full(self):
        (got,) = rows(3).batch(4).to_jax(global_batch=4, pad=True)
        assert got["valid"].tolist() == [True, True, True, False]
        assert list(rows(3).batch(4).to_jax(global_batch=4)) == []
        assert len(rows(3).batch(4).to_jax(global_batch=4)) == 0
        with pytest.raises(ValueError, match=r"batches of 2 rows were expected.* got one of 4"):
            list(rows().batch(4).to_jax(global_batch=2, drop_remainder=False))


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"prefetch": -1}, ValueError, "prefetch must be >= 0"),
            ({"prefetch": "much"}, ValueError, "prefetch must be >= 0"),
            ({"prefetch": 1.5}, TypeError, "float"),
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
        with pytest.raises(TypeError, match=r"parts \['x', 'n'\] were expected in batch, got"):
            next(iter(rows().batch(2).to_jax({"x": device})))
        with pytest.raises(TypeError, match=r"one for batch\['n'\] was expected, which is a leaf"):
            next(iter(rows().batch(2).to_jax({"x": None, "n": (device,)})))
        got = next(iter(rows().batch(2).to_jax({"x": None, "n": device})))
        assert (got["x"].committed, got["n"].committed) == (False, True)


def tell(batch):
    leaves = jax.tree.leaves(batch)
    return [leaf.tolist() for leaf in leaves]


class TestPosition:
    @pytest.mark.parametrize("prefetch", ["auto", 0, 1, 5])
    @pytest.mark.parametrize(
        "how", [{}, {"pad": True}, {"drop_remainder": False}, {"global_batch": 4}], ids=str
    )
    def test_is_that_of_the_consumer_at_every_step(self, prefetch, how):
        shuffled = rows(18).shuffle(18, seed=3, reshuffle_each_iteration=False)
        batches = shuffled.batch(4).repeat(2).to_jax(prefetch=prefetch, **how)
        whole = [tell(b) for b in batches]
        it = iter(batches)
        for step in range(len(whole) + 1):
            state = it.get_state()
            with iter(batches) as again:
                again.set_state(state)
                assert [tell(b) for b in again] == whole[step:]
            with iter(batches) as again:
                again.load_state_dict(it.state_dict())
                assert [tell(b) for b in again] == whole[step:]
            got = next(it, None)
            assert (got is None) == (step == len(whole))

    @pytest.mark.parametrize("saved", ["auto", 0, 4])
    @pytest.mark.parametrize("restored", ["auto", 0, 4])
    def test_of_a_state_saved_with_another_prefetch(self, saved, restored):
        it = iter(rows().batch(2).to_jax(prefetch=saved))
        next(it)
        other = iter(rows().batch(2).to_jax(prefetch=restored))
        other.set_state(it.get_state())
        assert next(other)["n"].tolist() == [2, 3]

    def test_has_statistics(self):
        it = iter(rows().batch(2).to_jax())
        next(it)
        assert {"batch", "prefetch"} <= {stage["kind"] for stage in it.stats()}


class TestAhead:
    @staticmethod
    def begin(prefetch):
        begun = [threading.Event() for _ in range(6)]

        def load(batch):
            begun[batch[0] // 2].set()
            return batch

        return begun, iter(Dataset.range(12).batch(2).map(load).to_jax(prefetch=prefetch))

    @pytest.mark.parametrize(("prefetch", "ahead"), [("auto", 2), (1, 1), (3, 3)])
    def test_batches_are_loaded_while_the_loop_is_busy(self, prefetch, ahead):
        begun, it = self.begin(prefetch)
        with it:
            for step in range(3):
                assert next(it).tolist() == [2 * step, 2 * step + 1]
                assert begun[min(step + ahead, 5)].wait(10)  # though next() is not called

    def test_nothing_is_loaded_before_it_is_asked_for(self):
        begun, it = self.begin(0)
        assert not begun[0].is_set()
        for step in range(5):
            next(it)
            assert begun[step].is_set()
            assert not begun[step + 1].is_set()


class Boom(Exception):
    pass


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
        assert told.value.__notes__ == ["penstock: in stage to_jax, element 1"]
        assert next(it).tolist() == [1, 1]


class TestEnds:
    def endless(self):
        return Dataset.counter().batch(4).to_jax(prefetch=3)

    @pytest.mark.parametrize("how", ["break", "close", "with", "del", "generator"])
    def test_threads_end(self, how):
        before = threading.active_count()
        it = iter(self.endless())
        next(it)
        if how == "break":
            for _ in it:
                break
        elif how == "close":
            it.close()
            assert next(it, None) is None
        elif how == "with":
            with it:
                next(it)
        elif how == "generator":
            running = (b for b in it)
            next(running)
            running.close()
        del it
        running = None
        gc.collect()
        # Idle threads are kept a while for the next run: none is inside a run any more.
        wait_until(lambda: ps_busy() == 0)
        assert threading.active_count() <= before + 4

    def test_close_while_next_waits(self):
        gate = Gate()
        it = iter(Dataset.range(4).batch(2).map(gate).to_jax())
        got = []
        consumer = threading.Thread(target=lambda: got.extend(it))
        consumer.start()
        assert gate.inside.wait(5)
        closer = threading.Thread(target=it.close)
        closer.start()
        consumer.join(5)
        assert not consumer.is_alive()
        gate.open.set()
        closer.join(5)
        assert got == []

    def test_arrays_outlive_the_iterator_and_the_dataset(self):
        with iter(Dataset.range(64).batch(32).to_jax()) as it:
            kept = list(it)
        del it
        gc.collect()
        list(Dataset.range(6400).batch(32))  # would write over memory that is free
        assert [k.tolist() for k in kept] == [list(range(32)), list(range(32, 64))]

    def test_ctrl_c_in_a_waiting_next_is_answered_and_loses_nothing(self):
        run = run_script(
            """
            inside = threading.Event()
            def wait(batch):
                if batch[0] == 4 and not inside.is_set():
                    inside.set()
                    time.sleep(0.5)
                return batch
            import jax
            jax.devices()
            threading.Thread(
                target=lambda: (inside.wait(), time.sleep(0.1), os.kill(os.getpid(), signal.SIGINT))
            ).start()
            it = iter(Dataset.range(12).batch(4).map(wait).to_jax())
            got = []
            while True:
                try:
                    got.append(next(it).tolist())
                except KeyboardInterrupt:
                    got.append("interrupt")
                except StopIteration:
                    break
            print(got)
            """
        )
        assert run.stdout.strip() == str(
            [[0, 1, 2, 3], "interrupt", [4, 5, 6, 7], [8, 9, 10, 11]]
        ), run.stderr


def ps_busy():
    import sys

    frames = sys._current_frames()
    return sum(
        t.name == "penstock" and t.ident in frames and frames[t.ident].f_code.co_name != "run"
        for t in threading.enumerate()
    )


def resident():
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads /proc")  # noqa: PTH110
class TestMemory:
    def test_is_flat_over_a_thousand_iterators(self):
        batches = Dataset.range(64).batch(16).to_jax()

        def run(times):
            for _ in range(times):
                it = iter(batches)
                next(it)

        run(100)
        gc.collect()
        before, threads = resident(), threading.active_count()
        run(1000)
        gc.collect()
        assert resident() - before < 16 << 20
        assert threading.active_count() <= threads + 4

    def test_is_flat_over_ten_epochs(self):
        pixels = np.zeros((256, 64, 64), np.float32)
        batches = Dataset.from_tensor_slices(pixels).shuffle(256, seed=1).batch(32).to_jax()
        for _ in range(3):
            sizes = [len(batch) for batch in batches]
        gc.collect()
        before = resident()
        for _ in range(10):
            for batch in batches:
                sizes.append(batch.shape[0])
        assert set(sizes) == {32}
        assert resident() - before < 16 << 20  # an epoch has 4 MiB
