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


@pytest.mark.parametrize("name", sorted(WANTED.keys() - OTHERWISE))
def test_a_function_takes_tensorflows_arguments(name):
    own = parameters(named(tf, name))
    if own is None:  # `*args`: it hands them on
        return
    wanted = [each for each in WANTED[name] if each not in LEFT_OUT.get(name, ())]
    assert own[: len(wanted)] == wanted


def test_most_signatures_are_known():
    unknown = [name for name in WANTED if parameters(named(tf, name)) is None]
    assert len(unknown) < len(WANTED) / 10
