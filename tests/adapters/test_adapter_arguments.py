"""Methods that pass a dataset to a framework, and their iterators: one wrong argument each."""

import importlib

import numpy as np
import pytest

import penstock as ps
from wrong_argument_kinds import WRONG

ROWS = ps.Dataset.from_tensor_slices({"x": np.arange(8.0)})
BATCHES = ROWS.batch(2)
SHARDS = {"remainder": "pad", "seed": 0, "mask_key": "valid", "by": "elements"}
SHARDS |= {"evaluation": False}


def jax_state(name):
    it = iter(BATCHES.to_jax())
    return {"state": it.state_dict() if "dict" in name else it.get_state(), "strict": True}


# By required framework: the method, its object, and valid arguments.
CALLS = {
    "torch": {
        "to_torch": (lambda: BATCHES, {"device": None, "pin": "auto", "prefetch": 2}),
        "to_torch_iterable": (lambda: BATCHES, {"prefetch": 2}),
        "shard_for_torch": (lambda: ROWS, {**SHARDS, "group": None}),
    },
    "jax": {
        "to_jax": (
            lambda: BATCHES,
            {"sharding": None, "prefetch": 2, "drop_remainder": True, "pad": None}
            | {"global_batch": None, "sharded": None},
        ),
        "shard_for_jax": (lambda: ROWS, SHARDS),
        "set_state": (lambda: iter(BATCHES.to_jax()), jax_state),
        "load_state_dict": (lambda: iter(BATCHES.to_jax()), jax_state),
    },
    "keras": {
        "to_keras": (
            lambda: BATCHES.map(lambda row: (row["x"], row["x"])),
            {"steps_per_epoch": 2, "class_weight": None, "prefetch": 2},
        ),
    },
}
# Arguments that look wrong but are valid.
TAKEN = {
    "pin": "bool",
    "prefetch": "zero",
    "to_torch_iterable.prefetch": "zero",
    "group": "None",
    "seed": "negative zero",
    "mask_key": "word empty",
    "sharding": "None",
    "drop_remainder": "None bool zero",
    "remainder": "None",
    "evaluation": "bool zero",
    "pad": "None bool word empty",
    "global_batch": "None",
    "sharded": "None bool zero",
    "strict": "bool zero",
    "steps_per_epoch": "None 2**63 2**64",
    "class_weight": "None",
}


def problems(name, make, arguments):
    for parameter in arguments:
        if parameter == "device":
            continue  # raises PyTorch's own errors
        taken = TAKEN.get(f"{name}.{parameter}", TAKEN.get(parameter, "")).split()
        for kind, wrong in WRONG.items():
            try:
                made = getattr(make(), name)(**{**arguments, parameter: wrong})
            except (TypeError, ValueError, RuntimeError) as error:
                if parameter not in str(error) or f"{name}: " not in str(error):
                    yield f"{name}({parameter}={kind}): {type(error).__name__}: {error}"
            else:
                if kind not in taken:
                    yield f"{name}({parameter}={kind}): accepted: {made!r:.60}"


@pytest.mark.parametrize(
    ("framework", "name"), [(f, name) for f, names in CALLS.items() for name in names]
)
def test_every_wrong_argument_is_named(framework, name):
    pytest.importorskip(framework)
    importlib.import_module(framework)
    make, arguments = CALLS[framework][name]
    arguments = arguments(name) if callable(arguments) else arguments
    getattr(make(), name)(**arguments)
    found = list(problems(name, make, arguments))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("framework", "name"), [(f, name) for f, names in CALLS.items() for name in names]
)
def test_a_keyword_that_it_has_not_is_told_the_nearest(framework, name):
    pytest.importorskip(framework)
    make, arguments = CALLS[framework][name]
    nearest = next(iter(arguments(name) if callable(arguments) else arguments))
    method = getattr(make(), name)
    with pytest.raises(TypeError, match=f"{name}: there is no argument .*{nearest}"):
        method(**{f"{nearest}_": 1})
