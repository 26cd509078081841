"""Dataset.to_jax over eight devices: the file runs itself in a process that has them."""

import dataclasses
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import penstock as ps

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

FLAG = "--xla_force_host_platform_device_count=8"
HERE = FLAG in os.environ.get("XLA_FLAGS", "")
Dataset = ps.Dataset

eight = pytest.mark.skipif(not HERE, reason="run by test_with_eight_devices")


@pytest.mark.skipif(HERE, reason="runs the others")
@pytest.mark.timeout(120)
def test_with_eight_devices():
    flags = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", __file__, "-p", "no:cacheprovider"],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert re.search(r"\d+ passed, 1 skipped", run.stdout), run.stdout


def mesh(*axes):
    devices = np.array(jax.devices()).reshape([size for _, size in axes])
    return Mesh(devices, [name for name, _ in axes])


def on(devices, *spec):
    return NamedSharding(devices, P(*spec))


def rows(n=48):
    x = np.arange(n * 4, dtype=np.float32).reshape(n, 4)
    return Dataset.from_tensor_slices({"x": x, "n": np.arange(n)})


def agree(batches, plain):
    for got, wanted in zip(batches, plain, strict=True):
        for key, leaf in wanted.items():
            assert got[key].dtype == jnp.asarray(leaf).dtype
            np.testing.assert_array_equal(got[key], jnp.asarray(leaf))


@eight
class TestEightDevices:
    def test_rows_over_a_line_of_devices(self):
        sharding = on(mesh(("data", 8)), "data")
        batches = rows().batch(16).to_jax(sharding)
        agree(batches, rows().batch(16))
        for batch in batches:
            assert batch["x"].sharding == sharding
            assert [s.data.shape for s in batch["x"].addressable_shards] == [(2, 4)] * 8

    @pytest.mark.parametrize(
        ("spec", "shape"),
        [
            (("data",), (4, 4)),
            (("data", "model"), (4, 2)),
            ((("data", "model"),), (2, 4)),
            ((None, "model"), (16, 2)),
            ((), (16, 4)),
        ],
        ids=str,
    )
    def test_over_a_grid_of_devices(self, spec, shape):
        sharding = on(mesh(("data", 4), ("model", 2)), *spec)
        ds = rows().map(lambda row: {"x": row["x"]}).batch(16)
        agree(ds.to_jax(sharding), ds)
        batch = next(iter(ds.to_jax(sharding)))["x"]
        assert {s.data.shape for s in batch.addressable_shards} == {shape}

    def test_a_sharding_for_each_leaf(self):
        grid = mesh(("data", 4), ("model", 2))
        shardings = {"x": on(grid, "data", "model"), "n": on(grid)}
        batches = rows().batch(16).to_jax(shardings)
        agree(batches, rows().batch(16))
        assert next(iter(batches))["x"].sharding == shardings["x"]
        assert next(iter(batches))["n"].is_fully_replicated

    def test_a_nesting_is_a_prefix_with_holes(self):
        line = mesh(("data", 8))
        ds = rows().map(lambda row: (row, str(row["n"]), {"w": row["n"], "v": row["n"]})).batch(16)
        shardings = (on(line, "data"), on(line, "data"), {"w": jax.devices()[3], "v": None})
        features, names, rest = next(iter(ds.to_jax(shardings)))
        assert features["x"].sharding == features["n"].sharding == on(line, "data")
        assert names.tolist() == [str(i) for i in range(16)]
        assert rest["w"].devices() == {jax.devices()[3]}
        assert rest["v"].devices() == {jax.devices()[0]}

    def test_dataclasses_on_both_sides(self):
        line = mesh(("data", 8))
        record = dataclasses.make_dataclass("record", ["x", "y"])
        ds = rows().map(lambda row: record(row["x"], row["n"])).batch(16)
        got = next(iter(ds.to_jax(record(on(line, "data"), on(line)))))
        assert type(got) is record
        assert (got.x.sharding, got.y.sharding) == (on(line, "data"), on(line))

    def test_the_default_device_of_the_thread_that_iterates(self):
        device = jax.devices()[5]
        batches = rows().batch(16).to_jax()
        with jax.default_device(device):
            it = iter(batches)
        assert next(it)["x"].devices() == {device}
        assert not next(it)["x"].committed
        found = []
        other = threading.Thread(target=lambda: found.append(next(iter(batches))["x"].devices()))
        with jax.default_device(device):  # set only for this thread
            other.start()
            other.join()
        assert found == [{jax.devices()[0]}]

    def test_rows_that_do_not_divide_are_an_error_that_names_leaf_size_and_devices(self):
        batches = rows(20).batch(16).to_jax(on(mesh(("data", 8)), "data"), drop_remainder=False)
        it = iter(batches)
        assert next(it)["x"].shape == (16, 4)
        words = (
            r"to_jax: batch\['x'\]: shape \(4, 4\): .* 8 devices .* got 4; "
            r"use batch\(drop_remainder=True\), to_jax\(pad=True\)"
        )
        with pytest.raises(ValueError, match=words):
            next(it)
        assert next(it, None) is None
        with pytest.raises(
            ValueError, match=r"shape \(6, 4\): .* got 6; .*another size of batches"
        ):
            next(iter(rows().batch(6).to_jax(on(mesh(("data", 8)), "data"))))

    def test_the_last_batch_is_left_out_or_filled_up(self):
        line = on(mesh(("data", 8)), "data")
        assert [b["x"].shape for b in rows(20).batch(16).to_jax(line)] == [(16, 4)]
        *_, last = rows(20).batch(16).to_jax(line, pad=True)
        assert last["valid"].sharding == last["x"].sharding == line
        mean = jax.jit(lambda b: (b["n"] * b["valid"]).sum() / b["valid"].sum())
        assert float(mean(last)) == np.arange(16, 20).mean()

    def test_a_leaf_with_fewer_axes_than_its_sharding(self):
        grid = mesh(("data", 4), ("model", 2))
        with pytest.raises(ValueError, match=r"batch\['n'\]: shape \(16,\) has fewer axes"):
            next(iter(rows().batch(16).to_jax(on(grid, "data", "model"))))

    def test_a_leaf_whose_other_axes_do_not_divide(self):
        line = on(mesh(("data", 8)), None, "data")
        ds = rows().map(lambda row: {"x": row["x"]}).batch(16)
        with pytest.raises(ValueError, match=r"batch\['x'\]: shape \(16, 4\) cannot be divided"):
            next(iter(ds.to_jax(line)))

    def test_a_step_over_all_devices_compiles_once(self):
        line = mesh(("data", 8))
        traced = []

        @jax.jit
        def step(weights, batch):
            traced.append(1)
            return weights + batch["x"].T @ batch["x"]

        weights = jax.device_put(jnp.zeros((4, 4)), on(line))
        for batch in rows(50).batch(16).repeat(2).to_jax(on(line, "data")):
            weights = step(weights, batch)
        x = rows(48).batch(48).first()["x"]
        np.testing.assert_allclose(weights, 2 * x.T @ x, rtol=1e-6)
        assert len(traced) == 1

    def test_shards_lie_in_the_batch_where_they_are_aligned(self):
        places = []

        def note(batch):
            places.append(batch.__array_interface__["data"][0])
            return batch

        ds = Dataset.range(512).map(ps.native(lambda i: ps.cast(i, np.float32))).batch(128)
        for i, batch in enumerate(ds.map(note).to_jax(on(mesh(("data", 8)), "data"), prefetch=0)):
            shards = sorted(batch.addressable_shards, key=lambda shard: shard.index[0].start)
            found = [shard.data.unsafe_buffer_pointer() for shard in shards]
            assert found == [places[i] + 64 * k for k in range(8)]

    @pytest.mark.parametrize("kept", [0, 5])
    def test_no_memory_is_used_again_while_a_shard_has_it(self, kept):
        recent = []
        batches = Dataset.range(1600).map(ps.native(lambda i: ps.cast(i // 16, np.float32)))
        sharding = on(mesh(("data", 8)), "data")
        for step, batch in enumerate(batches.batch(16).unbatch().batch(16).to_jax(sharding)):
            recent = [*recent[-kept:], (step, batch)] if kept else [(step, batch)]
            for number, array in recent:
                assert (np.asarray(array) == number).all()
        assert step == 99

    def test_positions(self):
        batches = rows(40).batch(16).to_jax(on(mesh(("data", 8)), "data"), pad=True, prefetch=2)
        whole = [np.asarray(b["n"]).tolist() for b in batches]
        it = iter(batches)
        for step in range(len(whole) + 1):
            with iter(batches) as again:
                again.set_state(it.get_state())
                assert [np.asarray(b["n"]).tolist() for b in again] == whole[step:]
            next(it, None)
