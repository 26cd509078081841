"""shard_for_torch and shard_for_jax: each process gets its shard, from the framework's rank."""

import json
import os
import subprocess
import sys

import pytest

import penstock as ps
from compare import assert_same

GROUP = """
import json, sys
import torch.distributed as dist
import penstock as ps

rank, store = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
alone = dist.new_group([0])
seen = []
ds = ps.Dataset.range(37).filter(lambda x: x != 5).shuffle(20)
for remainder in ("drop", "repeat"):
    shard = ds.shard_for_torch(remainder)
    for epoch in range(2):
        mine = [int(x) for x in shard.batch(3).unbatch()]
        both = [None, None]
        dist.all_gather_object(both, mine)
        seen.append(both)
try:
    of_group = len(ps.Dataset.range(6).shard_for_torch(group=alone))
except ValueError as error:
    of_group = str(error)
print(json.dumps([seen, of_group]))
dist.destroy_process_group()
"""


@pytest.mark.timeout(180)  # two processes that import torch
def test_two_processes_of_torch_share_the_elements(tmp_path):
    pytest.importorskip("torch.distributed")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", GROUP, str(rank), str(tmp_path / "store")],
            env={
                **os.environ,
                "RANK": "7",
                "WORLD_SIZE": "9",
            },  # the group takes precedence
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    (seen, first), (also_seen, second) = (
        json.loads(p.communicate(timeout=150)[0]) for p in started
    )
    assert seen == also_seen
    whole = [x for x in range(37) if x != 5]
    for shards in seen:
        assert [len(shard) for shard in shards] == [18, 18]
        assert sorted(shards[0] + shards[1]) == whole
    assert seen[0] != seen[1]
    assert first == 6
    assert second.startswith("shard_for_torch: a process of ")


def test_torchrun_tells_by_the_environment(monkeypatch):
    ds = ps.Dataset.range(7)
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert_same(list(ds.shard_for_torch()), list(range(7)))
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert_same(list(ds.shard_for_torch()), [2, 5])
    assert_same(list(ds.shard_for_torch("repeat")), [2, 5, 1])
    wanted = [{"x": 2, "real": True}, {"x": 5, "real": True}, {"x": 0, "real": False}]
    dicts = ds.map(lambda x: {"x": x})
    assert_same(list(dicts.shard_for_torch("pad", mask_key="real")), wanted)


@pytest.mark.parametrize(
    ("count", "rank"), [("3", None), (None, "1"), ("3", "3"), ("two", "1"), ("2", "-1"), ("0", "0")]
)
def test_an_environment_that_makes_no_sense_is_told(count, rank, monkeypatch):
    for name, value in (("WORLD_SIZE", count), ("RANK", rank)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    words = f"shard_for_torch: .*WORLD_SIZE and RANK.* got {count!r} and {rank!r}"
    with pytest.raises(ValueError, match=words):
        ps.Dataset.range(7).shard_for_torch()


def test_a_group_needs_torch_distributed():
    with pytest.raises(ValueError, match=r"shard_for_torch: group .* not initialised"):
        ps.Dataset.range(7).shard_for_torch(group=object())


def test_jax_tells_its_processes(monkeypatch):
    jax = pytest.importorskip("jax")
    ds = ps.Dataset.range(7)
    assert_same(list(ds.shard_for_jax()), list(range(7)))
    monkeypatch.setattr(jax, "process_count", lambda: 4)
    monkeypatch.setattr(jax, "process_index", lambda: 3)
    assert_same(list(ds.shard_for_jax()), [3])
    assert_same(list(ds.shard_for_jax("repeat")), [3, 0])
    assert_same(list(ds.shard_for_jax("pad")), [(3, True), (0, False)])


def test_seeds_are_passed_on(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")

    def order(**how):
        return [int(x) for x in ps.Dataset.range(30).shuffle(30).shard_for_torch(**how)]

    assert order(seed=1) == order(seed=1) != order()
