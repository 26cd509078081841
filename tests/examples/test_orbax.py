"""A state in Orbax's checkpoints: the recipe of docs/guides/checkpoints.md, as it stands there."""

import re
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
