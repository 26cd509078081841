"""docs/guides/migrating.md lists every public name of tf.data, and its claims are true.

names.json, made by names.py, contains TensorFlow's names and signatures.
"""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

import penstock as ps

HERE = Path(__file__).resolve().parent
NAMES = json.loads((HERE / "names.json").read_text())["names"]
PAGE = (HERE.parent.parent / "docs" / "guides" / "migrating.md").read_text()
ROW = re.compile(r"^\| `([\w.*]+)` \| (same|different|none)(?:: (.+?))? \|$", re.MULTILINE)
ROWS = {name: (status, text or "") for name, status, text in ROW.findall(PAGE)}


def covered(name):
    """Return the names that a row covers: ``Class.*`` covers all members of a class."""
    prefix = name.removesuffix("*")
    return [n for n in NAMES if n.startswith(prefix)] if name.endswith("*") else [name]


def here(name):
    """Return the penstock object with this name, or None."""
    found = ps
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def parameters(function):
    """List (name, kind, default) in the form of names.py."""
    found = []
    for p in inspect.signature(function).parameters.values():
        value = p.default
        if value is p.empty:
            text = "required"
        else:
            text = np.dtype(value).name if isinstance(value, (type, np.dtype)) else repr(value)
        if p.name not in ("self", "cls"):
            found.append([p.name, p.kind.name, text])
    return found


def differences(name):
    """Return the parameters that differ from TensorFlow's in name, order, kind or default."""
    wanted, thing = NAMES[name], here(name)
    if wanted is None or not callable(thing) or thing is ps.Iterator:  # created only by iter()
        return set()
    ours = parameters(thing)
    extra = [p for p in ours[len(wanted) :] if p[1] != "KEYWORD_ONLY"]
    pairs = zip(ours, wanted, strict=False)
    changed = {other[0] for mine, other in pairs if mine != other}
    missing = {p[0] for p in wanted[len(ours) :]}
    return changed | missing | {p[0] for p in extra}


def test_every_name_has_one_row():
    listed = [each for name, _, _ in ROW.findall(PAGE) for each in covered(name)]
    assert sorted(set(NAMES) - set(listed)) == []
    assert sorted(set(listed) - set(NAMES)) == []
    assert sorted({name for name in listed if listed.count(name) > 1}) == []


@pytest.mark.parametrize("name", ROWS)
def test_a_row_tells_the_truth(name):
    status, text = ROWS[name]
    for each in covered(name):
        if status == "none":
            assert text, "say why"
            assert here(each) is None, f"penstock has {each}"
            continue
        assert here(each) is not None, f"penstock has no {each}"
        if status == "same":
            assert differences(each) == set()
        else:
            unsaid = {p for p in differences(each) if f"`{p}`" not in text}
            assert not unsaid, f"the row does not tell of {unsaid}"
            assert text, "say how"
