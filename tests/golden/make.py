"""Record TensorFlow's results for the programs: python make.py [MODULE...]. Needs TensorFlow.

tests/golden/test_golden.py compares all penstock results with these files.
"""

import json
import sys
import tempfile
from pathlib import Path

import tensorflow as tf
from programs import MODULES, cases
from record import record

HERE = Path(__file__).parent


def as_leaf(x):
    """Return tensors as NumPy values."""
    if isinstance(x, tf.RaggedTensor):
        return {"values": x.flat_values, "row_splits": x.row_splits}
    return x.numpy() if isinstance(x, tf.Tensor) else x


def make(module):
    lines = []
    for case in cases(module):
        tf.random.set_seed(7)
        with tempfile.TemporaryDirectory() as folder:
            found = record(case, tf, Path(folder), as_leaf)
        print(case.name, found)
        lines.append(f"{json.dumps(case.name)}: {json.dumps(found)}")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (HERE / f"{module}.json").write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:] or MODULES:
        make(name)
