"""gather_exact under torch.distributed: gloo with two and three processes on the CPU."""

import json
import math
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch.distributed")

PROGRAM = """
import json, sys
import numpy as np
import torch
import torch.distributed as dist
import penstock as ps

rank, count, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=count)
said = {}

def told(make):
    try:
        make()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

# As many batches everywhere, and every element once and in order, whatever the sizes.
said["sizes"] = {}
for n in (0, 1, count - 1, count, 7, 4 * count + 1):
    ds = ps.Dataset.range(2 * n).filter(lambda x: x % 2 == 0).map(lambda x: {"x": x // 2})
    came, batches = [], 0
    for batch in ds.shard_for_torch(evaluation=True).batch(2).to_torch():
        came += ps.gather_exact(batch["x"], batch["valid"]).tolist()
        batches += 1
    said["sizes"][n] = [came, batches]

def element(i):
    return {"x": i, "name": "é" * i, "raw": b"\\0" * i}

# Every kind of leaf of one batch, and of all batches at once.
kept = []
for batch in ps.Dataset.range(7).map(element).shard_for_torch(evaluation=True).batch(2).to_torch():
    x = batch["x"]
    values = {
        "logits": torch.stack([x, -x], 1).float().requires_grad_() * 2,
        "half": x.bfloat16(),
        "conjugate": torch.complex(x.float(), x.float()).conj(),
        "even": x % 2 == 0,
        "turned": torch.stack([x, x + 10]).T,
        "numpy": x.numpy().astype("datetime64[D]"),
        "texts": [f"{name}!" for name in batch["name"]],
        "pair": (batch["name"], batch["raw"]),
        "nothing": None,
    }
    kept.append((batch["x"], batch["valid"]))
    found = ps.gather_exact(values, batch["valid"])
    assert found["nothing"] is None and not found["logits"].requires_grad
    assert found["half"].dtype == torch.bfloat16 and found["texts"].dtype == object
    said.setdefault("leaves", []).append(
        [
            found["logits"].tolist(), found["half"].tolist(),
            [str(z) for z in found["conjugate"].tolist()], found["even"].tolist(),
            found["turned"].tolist(), found["numpy"].astype(int).tolist(),
            found["texts"].tolist(), found["pair"][0].tolist(),
            [len(raw) for raw in found["pair"][1]],
        ]
    )
values, mask = (torch.cat(leaf) for leaf in zip(*kept))
said["at once"] = ps.gather_exact(values, mask).tolist()
said["numpy at once"] = ps.gather_exact(values.numpy(), mask.numpy()).tolist()
said["elements"] = [
    ps.gather_exact(x, real).tolist()
    for x, real in ps.Dataset.range(count + 1).shard_for_torch(evaluation=True).to_torch()
]

# What differs between processes is an error in all of them, and the next call goes on.
mask = torch.ones(2, dtype=torch.bool)
said["shapes"] = told(lambda: ps.gather_exact(torch.zeros(2, 3 + rank), mask))
said["rows"] = told(lambda: ps.gather_exact(torch.zeros(2 + (rank == 1)), mask))
said["kinds"] = told(lambda: ps.gather_exact(["a", "b"] if rank else [b"a", b"b"], mask))
said["objects"] = told(lambda: ps.gather_exact(np.array([{}, {}]), mask))
said["after"] = ps.gather_exact(torch.full((2,), rank), mask).tolist()

# A group of some of the processes.
last = dist.new_group([0, count - 1])
if rank in (0, count - 1):
    shard = ps.Dataset.range(3).shard_for_torch(group=last, evaluation=True).batch(4).to_torch()
    said["group"] = [ps.gather_exact(x, real, group=last).tolist() for x, real in shard]
else:
    said["group"] = told(lambda: ps.gather_exact(mask, mask, group=last))

# Where the others were.
shard = ps.Dataset.range(13).shard_for_torch(evaluation=True).batch(2).to_torch()
it = iter(shard)
next(it)
again = iter(shard)
again.set_state(it.get_state())
said["resumed"] = [ps.gather_exact(x, real).tolist() for x, real in again]
print(json.dumps(said))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module", params=[2, 3])
def run(request, tmp_path_factory):
    count, store = request.param, tmp_path_factory.mktemp("gloo") / "store"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(rank), str(count), str(store)],
            env={
                **os.environ,
                "RANK": "7",
                "WORLD_SIZE": "9",
            },  # the group takes precedence
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        ends = [process.communicate(timeout=150) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (_, err) in zip(started, ends, strict=True):
        assert process.returncode == 0, err[-3000:]
    return count, [json.loads(out.splitlines()[-1]) for out, _ in ends]


@pytest.mark.timeout(180)  # processes that import torch
def test_every_element_comes_once_in_order_in_as_many_batches_everywhere(run):
    count, said = run
    for one in said:
        for n, (came, batches) in one["sizes"].items():
            assert came == list(range(int(n)))
            assert batches == math.ceil(math.ceil(int(n) / count) / 2)


def test_leaves_of_every_kind(run):
    _, said = run
    whole = [
        [row for step in leaf for row in step] for leaf in zip(*said[0]["leaves"], strict=True)
    ]
    logits, half, conjugate, even, turned, numpy, texts, names, raw = whole
    assert logits == [[2 * i, -2 * i] for i in range(7)]
    assert half == numpy == list(range(7))
    assert conjugate == [str(complex(i, -float(i))) for i in range(7)]
    assert even == [i % 2 == 0 for i in range(7)]
    assert turned == [[i, i + 10] for i in range(7)]
    assert names == ["é" * i for i in range(7)]
    assert texts == [f"{name}!" for name in names]
    assert raw == list(range(7))
    assert all(one["leaves"] == said[0]["leaves"] for one in said)


def test_all_batches_at_once_and_elements_without_batches(run):
    count, said = run
    for one in said:
        assert one["at once"] == one["numpy at once"] == list(range(7))
        assert one["elements"] == [list(range(count)), [count]]


def test_processes_that_differ_all_raise_and_none_waits(run):
    count, said = run
    for rank, one in enumerate(said):
        assert one["shapes"].startswith("ValueError: gather_exact: the same shapes and dtypes")
        assert f"(2, {3 + rank})" in one["shapes"]
        assert one["kinds"].startswith("ValueError: gather_exact: the same shapes and dtypes")
        assert one["objects"].startswith("TypeError: gather_exact: values: numbers or strings")
        assert one["after"] == [*range(count), *range(count)]
        expected = (
            "ValueError: gather_exact: values: as many rows"
            if rank == 1
            else ("RuntimeError: gather_exact: values could not be gathered in process 1")
        )
        assert one["rows"].startswith(expected)


def test_a_group_of_some_processes(run):
    count, said = run
    for rank, one in enumerate(said):
        if rank in (0, count - 1):
            assert one["group"] == [[0, 1, 2]]
        else:
            assert one["group"].startswith("ValueError: gather_exact: a process of")


def test_a_restored_iterator_goes_on_in_step_with_the_others(run):
    count, said = run
    for one in said:
        assert [x for step in one["resumed"] for x in step] == list(range(2 * count, 13))
