"""Functions take TensorFlow's arguments, in its order: programs give them by position, too."""

import json
from pathlib import Path

import pytest
from signatures_golden import named, parameters

import penstock.compat.tf as tf

HERE = Path(__file__).parent
WANTED = json.loads((HERE / "signatures.json").read_text())
# Made by other functions only, or with parameters that are private in TensorFlow.
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


# Functions of `*args` pass them on.
OWN = {name: own for name in WANTED if (own := parameters(named(tf, name))) is not None}


@pytest.mark.parametrize("name", sorted(OWN.keys() - OTHERWISE))
def test_a_function_takes_tensorflows_arguments(name):
    wanted = [each for each in WANTED[name] if each not in LEFT_OUT.get(name, ())]
    assert OWN[name][: len(wanted)] == wanted


def test_most_signatures_are_known():
    assert len(OWN) > len(WANTED) * 0.9
