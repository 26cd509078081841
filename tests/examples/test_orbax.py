"""A state in Orbax checkpoints: the recipe of docs/guides/checkpoints.md, verbatim."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "checkpoints.md"


@pytest.mark.timeout(120)
def test_the_recipe_of_the_guide_goes_on_behind_the_last_step_saved(tmp_path, monkeypatch):
    pytest.importorskip("orbax.checkpoint")
    monkeypatch.chdir(tmp_path)
    (recipe,) = re.findall(r"```python\n(import orbax\.checkpoint.*?)```", GUIDE.read_text(), re.S)
    ds = ps.Dataset.range(60).shuffle(60).batch(10)
    scope = {"ds": ds, "np": np, "Path": Path}
    exec(recipe, scope)
    first = iter(ds)
    first.set_state(scope["found"]["input"]["state"])
    rest = [batch.tolist() for batch in scope["it"]]
    assert rest == [batch.tolist() for batch in first]
    assert len(rest) == 4  # two of six were taken before the last save


# Each process has different rows, order, batches and position. The states differ in size.
PROGRAM = """
import json, sys
from pathlib import Path
import numpy as np
import jax
import penstock as ps

address, index, folder, recipe = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
jax.distributed.initialize(address, num_processes=2, process_id=index, initialization_timeout=60)
pipeline = lambda: (
    ps.Dataset.range(1000 * index, 1000 * index + 40 + 40 * index)
    .shuffle(40, seed=index)
    .batch(4 + index)
    .repeat(1 + index)
)
ahead = iter(pipeline())
for _ in range(2 + 11 * index):
    next(ahead)
before, step, save = recipe.partition("with ocp.CheckpointManager(folder) as manager:  # when")
scope = {"np": np, "folder": folder, "it": ahead, "step": 7}
exec(before, scope)
scope["it"] = iter(pipeline())
exec(step + save, scope)
print(json.dumps([[batch.tolist() for batch in it] for it in (ahead, scope["it"])]))
"""


@pytest.mark.timeout(240)
def test_the_recipe_for_several_processes_keeps_the_position_of_each(tmp_path):
    pytest.importorskip("orbax.checkpoint")
    pytest.importorskip("jax")
    (recipe,) = re.findall(r"```python\n(import jax\nimport orbax.*?)```", GUIDE.read_text(), re.S)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address, str(index), str(tmp_path / "steps"), recipe],
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    try:
        ends = [process.communicate(timeout=200) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (_, err) in zip(started, ends, strict=True):
        assert process.returncode == 0, err[-3000:]
    rows = [json.loads(out.splitlines()[-1]) for out, _ in ends]
    for expected, restored in rows:
        assert restored == expected
    assert [len(restored) for _, restored in rows] == [8, 19]
