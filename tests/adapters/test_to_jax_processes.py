"""Dataset.to_jax in two processes with two devices each, joined by jax.distributed."""

import json
import os
import socket
import subprocess
import sys

import pytest

pytest.importorskip("jax")
pytestmark = pytest.mark.timeout(300)

PROGRAM = """
import json, sys, warnings
import numpy as np
import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import penstock as ps

address, index = sys.argv[1], int(sys.argv[2])
ds = ps.Dataset.range(24).map(lambda i: {"n": i, "s": str(i)}).shard(2, index)
batches = ds.batch(4).to_jax()  # nothing asks for devices before the processes are joined
jax.distributed.initialize(address, num_processes=2, process_id=index, initialization_timeout=60)
mesh = Mesh(np.array(jax.devices()), ("data",))
split, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
mean = jax.jit(lambda x: x.mean(), out_shardings=whole)
said = {"processes": jax.process_count(), "devices": len(jax.devices())}

def told(error, make):
    try:
        list(make())
    except error as found:
        return str(found).splitlines()[0]

def mine(array):
    shards = sorted(array.addressable_shards, key=lambda s: s.index[0].start or 0)
    return [np.asarray(s.data).tolist() for s in shards]

# Each process's batch is its part of the global one.
arrays = list(ds.batch(4).to_jax({"n": split, "s": None}))
said["shapes"] = [b["n"].shape for b in arrays]
said["means"] = [float(mean(b["n"])) for b in arrays]
said["mine"] = mine(arrays[0]["n"])
said["names"] = arrays[0]["s"].tolist()

# Rows that no stage divides; the file and the function that the warning names.
def warned(ds, sharding, **how):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        batches = ds.to_jax(sharding, **how)
        for _ in range(2):
            list(batches)
    said = [str(each.message) for each in found if "to_jax" in str(each.message)]
    assert all(each.filename == "<string>" for each in found), found
    return said

grid = NamedSharding(Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model")), P("data"))
across = NamedSharding(Mesh(np.array(jax.devices()).reshape(2, 2).T, ("data", "model")), P("data"))
other = NamedSharding(mesh, P(None, "data"))
same = ps.Dataset.range(8).batch(4)
pairs = ps.Dataset.from_tensor_slices(np.arange(32).reshape(8, 4)).batch(4)
said["undivided"] = {
    "split": warned(same, split),
    "nested": warned(same.map(lambda x: {"x": x}), {"x": split}),
    "grid": warned(same, grid),
    "shard of one": warned(same.shard(1, 0), split),
    "divided": warned(ds.batch(4).map(lambda d: d["n"]), split),
    "evenly": warned(ps.Dataset.range(8).shard_for_jax().map(lambda x: x).batch(4), split),
    "files": warned(same, split, sharded=True),
    "on purpose": warned(same, split, sharded=False),
    "whole": warned(same, whole),
    "rows in both": warned(same, across),
    "columns": warned(pairs.map(lambda x: x[:, :2]), other),
    "one device": warned(same, jax.local_devices()[0]),
    "default": warned(same, None),
}

# The whole in both, and the default device of each.
both = ps.Dataset.range(4).batch(4)
said["replicated"] = [float(mean(b)) for b in both.to_jax(whole)]
said["local"] = next(iter(batches))["n"].tolist()

# Five rows in one process, two in the other: filled up to a global batch of 8, twice in both.
own = ps.Dataset.range(100, 105 if index == 0 else 102).batch(4).repeat(1 if index == 0 else 2)
padded = list(own.to_jax(split, pad=True, global_batch=8, sharded=True))
total = jax.jit(lambda x, m: (x * m).sum(), out_shardings=whole)
said["padded"] = [float(total(x, m)) for x, m in padded]
said["masks"] = [mine(m) for _, m in padded]

# Leaves that stay in their process, before one that is spread.
mixed = ds.map(lambda d: {"s": d["s"], "own": d["n"], "n": d["n"]}).batch(4)
mixed = mixed.to_jax({"s": None, "own": None, "n": split}, global_batch=8)
said["mixed"] = [(len(b["own"]), len(b["n"])) for b in mixed]

# A column in each process, of rows that are spread over its devices.
devices = np.array(jax.devices()).reshape(2, 2).T
grid = NamedSharding(Mesh(devices, ("row", "column")), P("row", "column"))
column = np.arange(10).reshape(5, 2)[:, index : index + 1]
columns = ps.Dataset.from_tensor_slices(column).batch(4)
tables = list(columns.to_jax(grid, global_batch=4))
said["tables"] = [t.shape for t in tables]
said["column"] = mine(tables[0])
said["uneven columns"] = told(ValueError, lambda: columns.to_jax(grid, global_batch=3))

# Wrong sizes, told before any exchange.
said["too large"] = told(ValueError, lambda: both.to_jax(split, global_batch=4))
said["uneven"] = told(ValueError, lambda: both.to_jax(split, global_batch=6))

# Where each process was.
it = iter(ds.batch(4).to_jax({"n": split, "s": None}, prefetch=2))
next(it)
again = iter(ds.batch(4).to_jax({"n": split, "s": None}))
again.set_state(it.get_state())
said["restored"] = [float(mean(b["n"])) for b in again]
it.close()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(index)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    try:
        ends = [process.communicate(timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, err) in zip(processes, ends, strict=True):
        assert process.returncode == 0, err[-3000:]
    return [json.loads(out.splitlines()[-1]) for out, _ in ends]


def test_two_processes_were_joined(said):
    assert [(s["processes"], s["devices"]) for s in said] == [(2, 4)] * 2


def test_each_batch_is_a_part_of_the_global_one(said):
    for one in said:
        assert one["shapes"] == [[8]] * 3
        assert one["means"] == [3.5, 11.5, 19.5]
    assert [s["mine"] for s in said] == [[[0, 2], [4, 6]], [[1, 3], [5, 7]]]
    assert [s["names"] for s in said] == [["0", "2", "4", "6"], ["1", "3", "5", "7"]]


def test_undivided_rows_warn(said):
    for one in said:
        counts = {name: len(texts) for name, texts in one["undivided"].items()}
        warned = {"split", "nested", "grid", "shard of one"}
        assert counts == {name: int(name in warned) for name in counts}
        text = one["undivided"]["split"][0]
        assert "over 2 processes" in text
        assert "shard_for_jax() before batch" in text
        assert "sharded=True" in text


def test_replicated_and_local_arrays(said):
    assert [s["replicated"] for s in said] == [[1.5], [1.5]]
    assert [s["local"] for s in said] == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_global_batch_is_what_a_process_without_a_full_batch_fills_up_to(said):
    first = sum(range(100, 104)) + 100 + 101
    second = 104 + 100 + 101
    assert [s["padded"] for s in said] == [[first, second]] * 2
    half = [[True, True], [False, False]]
    assert said[0]["masks"] == [[[True] * 2] * 2, [[True, False], [False, False]]]
    assert said[1]["masks"] == [half, half]


def test_leaves_that_stay_beside_one_that_is_spread(said):
    assert [s["mixed"] for s in said] == [[[4, 8]] * 3] * 2


def test_global_batch_of_rows_whose_columns_lie_in_several_processes(said):
    for index, one in enumerate(said):
        assert one["tables"] == [[4, 2]]
        assert one["column"] == [[[index], [index + 2]], [[index + 4], [index + 6]]]
        assert "shape (3, 1): a size of the first axis" in one["uneven columns"]


def test_sizes_that_cannot_be(said):
    for one in said:
        assert "batches of 2 rows were expected" in one["too large"]
        assert "shape (6,)" in one["uneven"]
        assert "got 6" in one["uneven"]


def test_a_restored_iterator_goes_on_behind_the_consumer(said):
    assert [s["restored"] for s in said] == [[11.5, 19.5]] * 2
