"""Functions take TensorFlow's arguments in the same order, so positional calls work."""

import json
from pathlib import Path

import pytest
from signatures_golden import named, parameters

import penstock.compat.tf as tf
import penstock.compat.v1 as v1

HERE = Path(__file__).parent
OF_V1 = json.loads((HERE / "signatures_v1.json").read_text())
WANTED = json.loads((HERE / "signatures.json").read_text())
# Only created by other functions, or with parameters that are private in TensorFlow.
OTHERWISE = {
    *("DType", "RaggedTensor", "RaggedTensorSpec", "data.Dataset", "data.NumpyIterator"),
    *("distribute.ReplicaContext", "dtypes.DType"),
}
LEFT_OUT = {
    "linalg.matmul": {"grad_a", "grad_b"},
    "matmul": {"grad_a", "grad_b"},
    "io.TFRecordOptions": {
        *("flush_mode", "input_buffer_size", "output_buffer_size", "window_bits"),
        *("compression_method", "mem_level", "compression_strategy"),
    },
    "train.CheckpointManager": {"last_checkpoint_step"},
}


# Functions with `*args` pass them on.
OWN = {name: own for name in WANTED if (own := parameters(named(tf, name))) is not None}


@pytest.mark.parametrize("name", sorted(OWN.keys() - OTHERWISE))
def test_a_function_takes_tensorflows_arguments(name):
    wanted = [each for each in WANTED[name] if each not in LEFT_OUT.get(name, ())]
    assert OWN[name][: len(wanted)] == wanted


# Classes with other parameters in TensorFlow, which no program passes.
OTHERWISE_V1 = {
    *OTHERWISE,
    *("data.Iterator", "function"),
}


@pytest.mark.parametrize("name", sorted(OF_V1.keys() - OTHERWISE_V1))
def test_a_function_takes_the_arguments_of_tensorflow_1(name):
    own = parameters(named(v1, name))
    if own is None:  # `*args`: it passes them on
        return
    left_out = LEFT_OUT.get(name) or LEFT_OUT.get(name.replace("python_io.", "io."), ())
    wanted = [each for each in OF_V1[name] if each not in left_out]
    assert own[: len(wanted)] == wanted


def test_most_signatures_are_known():
    assert len(OWN) > len(WANTED) * 0.9
