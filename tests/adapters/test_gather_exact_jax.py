"""gather_exact under jax.distributed: two and three processes with two CPU devices each."""

import json
import os
import socket
import subprocess
import sys

import pytest

pytest.importorskip("jax")
pytestmark = pytest.mark.timeout(300)

PROGRAM = """
import json, sys
import numpy as np
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import penstock as ps

address, index, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
jax.distributed.initialize(address, count, index, initialization_timeout=60)
devices = np.array(jax.devices())
mesh = Mesh(devices, ("data",))
split = NamedSharding(mesh, P("data"))
said = {}

def told(make):
    try:
        make()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def evaluated(ds, sharding, function=lambda x: x):
    # The steps, their rows here, and what was gathered.
    came, rows = [], []
    for batch in ds.to_jax({"x": sharding, "valid": sharding}):
        rows.append(batch["valid"].shape[0])
        came += ps.gather_exact(function(batch["x"]), batch["valid"]).tolist()
    return [came, rows]

def numbers(n):
    return ps.Dataset.range(2 * n).filter(lambda x: x % 2 == 0).map(lambda x: {"x": x // 2})

sizes = (0, 1, count, 7, 8 * count + 1)
square = jax.jit(lambda x: x * x, out_shardings=NamedSharding(mesh, P()))
said["global"] = {
    n: evaluated(numbers(n).shard_for_jax(evaluation=True).batch(4), split, square) for n in sizes
}
said["local"] = {
    n: evaluated(numbers(n).shard_for_jax(evaluation=True).batch(4), None) for n in sizes
}

# Devices of the processes in turn.
turns = NamedSharding(Mesh(devices.reshape(count, 2).T.reshape(-1), ("data",)), P("data"))
said["in turn"] = evaluated(numbers(9).shard_for_jax(evaluation=True).batch(4), turns)

# All processes have the same rows: a model that is spread over them.
columns = NamedSharding(Mesh(devices.reshape(1, -1), ("data", "model")), P("data"))
same = numbers(5).shard_evenly(1, 0, evaluation=True).batch(4)
said["same rows"] = evaluated(same, columns)

# Leaves that stay in their process, beside a global one; tuples; the many kinds.
def element(i):
    return i.astype("f"), {"big": i + 2**40, "name": "é" * i}

ds = ps.Dataset.range(5).map(element).shard_for_jax(evaluation=True).batch(4)
for x, own, valid in ds.to_jax((split, {"big": None, "name": None}, split)):
    values = {"x": x.astype(jnp.bfloat16), **own, "texts": [f"{name}!" for name in own["name"]]}
    values["wide"] = np.full((len(own["name"]), 2), 2**40 + index)
    found = ps.gather_exact(values, valid)
    assert str(found["x"].dtype) == "bfloat16"
    said["leaves"] = [found[key].tolist() for key in ("x", "name", "texts", "wide")]

# Values of NumPy alone.
own = list(ps.Dataset.range(7).shard_for_jax(evaluation=True).batch(2))
values, mask = (np.concatenate(leaf) for leaf in zip(*own))
said["numpy"] = ps.gather_exact(values, mask).tolist()

# What differs is an error in all.
mask = jnp.ones(2, bool)
said["shapes"] = told(lambda: ps.gather_exact(jnp.zeros((2, 3 + index)), mask))
said["rows"] = told(lambda: ps.gather_exact(jnp.zeros(2 + (index == 1)), mask))
x, valid = next(iter(ps.Dataset.range(9).shard_for_jax(evaluation=True).batch(4).to_jax(split)))
said["local mask"] = told(lambda: ps.gather_exact(x, np.ones(x.shape[0], bool)))

# Nothing that was real is lost without a mask, or left out.
bare = numbers(5).shard_for_jax(evaluation=True).map(lambda d: {"x": d["x"]}).batch(4)
said["no mask"] = told(lambda: list(bare.to_jax(split)))

# Where the others were.
batches = numbers(30).shard_for_jax(evaluation=True).batch(4).to_jax(split)
it = iter(batches)
next(it)
again = iter(batches)
again.set_state(it.get_state())
said["resumed"] = [x for b in again for x in ps.gather_exact(b["x"], b["valid"]).tolist()]
it.close()
print(json.dumps(said))
"""


@pytest.fixture(scope="module", params=[2, 3])
def run(request):
    count = request.param
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(index), str(count)],
            env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(count)
    ]
    try:
        ends = [process.communicate(timeout=240) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (_, err) in zip(started, ends, strict=True):
        assert process.returncode == 0, err[-3000:]
    return count, [json.loads(out.splitlines()[-1]) for out, _ in ends]


def test_global_arrays_have_every_element_once_in_order(run):
    count, said = run
    for one in said:
        for n, (came, rows) in one["global"].items():
            assert came == [x * x for x in range(int(n))]
            steps = -(-int(n) // (4 * count))
            assert rows == [4 * count] * steps  # all padded to one size


def test_arrays_of_each_process_have_every_element_once_in_order(run):
    count, said = run
    for one in said:
        for n, (came, rows) in one["local"].items():
            assert came == list(range(int(n)))
            assert rows == [4] * -(-int(n) // (4 * count))


def test_the_order_does_not_depend_on_how_devices_lie_in_the_mesh(run):
    _, said = run
    for one in said:
        assert one["in turn"][0] == list(range(9))
        assert one["same rows"][0] == list(range(5))


def test_leaves_of_every_kind(run):
    count, said = run
    names = ["é" * i for i in range(5)]
    for one in said:
        x, name, texts, wide = one["leaves"]
        assert x == list(range(5))
        assert name == names
        assert texts == [f"{name}!" for name in names]
        assert wide == [[2**40 + i % count] * 2 for i in range(5)]
        assert one["numpy"] == list(range(7))


def test_what_differs_is_an_error_in_all_processes(run):
    _, said = run
    for index, one in enumerate(said):
        assert one["shapes"].startswith("ValueError: gather_exact: the same shapes and dtypes")
        kind = "ValueError" if index == 1 else "RuntimeError"
        assert one["rows"].startswith(f"{kind}: gather_exact: values")
        assert one["local mask"].startswith("ValueError: gather_exact: for global arrays the mask")


def test_batches_that_lost_their_mask_are_not_filled_up(run):
    _, said = run
    for one in said:
        assert one["no mask"].startswith("ValueError: to_jax: a mask in the batch was expected")


def test_a_restored_iterator_goes_on_in_step_with_the_others(run):
    count, said = run
    for one in said:
        assert one["resumed"] == list(range(4 * count, 30))
