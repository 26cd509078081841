"""Record TensorFlow's results for the programs in programs/; needs TensorFlow.

The arguments name programs: ``python programs_golden.py image_classes series_windows``. Each
program has a function `results(folder)`. It writes its small files into the folder, and returns its
results by name.
"""

import json
import subprocess
import sys
import tempfile
import types
import zlib
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).parent / "programs"
IMPORTS = {
    "import tensorflow as tf\n": "import penstock.compat.tf as tf\n",
    "import tensorflow.compat.v1 as tf\n": "import penstock.compat.v1 as tf\n",
}
MANY = 24  # longer arrays are described by samples and sums


def executed(name, changes=()):
    """Execute a program, with some lines replaced, and return its module."""
    file = PROGRAMS / f"{name}.py"
    source = file.read_text()
    for line, other in changes:
        source = source.replace(line, other)
    module = types.ModuleType(f"programs.{name}")
    sys.modules[module.__name__] = module  # AutoGraph looks up functions there
    exec(compile(source, str(file), "exec"), module.__dict__)
    return module


def described(value):
    """Return the types, shapes and values of nested results as JSON values."""
    if isinstance(value, dict):
        return {str(key): described(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(part) for part in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": [value]}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if hasattr(value, "row_splits"):
        return {"splits": described(value.row_splits), "values": described(value.values)}
    if hasattr(value, "dense_shape"):
        names = ("indices", "values", "dense_shape")
        return {name: described(getattr(value, name)) for name in names}
    return _array(np.asarray(value.numpy() if hasattr(value, "numpy") else value))


def _array(array):
    found = {"shape": list(array.shape)}
    if array.dtype.kind in "OSU":
        items = [x if isinstance(x, bytes) else str(x).encode() for x in array.ravel().tolist()]
        found["dtype"] = "string"
        found["values"] = [item.decode("latin-1") for item in _samples(items)]
        return found | ({"sum": zlib.crc32(b"\0".join(items))} if len(items) > MANY else {})
    found["dtype"] = array.dtype.name
    if array.dtype.kind not in "fcV" and array.dtype.name != "bfloat16":
        found["values"] = _samples(array.ravel().tolist())
        return found | ({"sum": zlib.crc32(array.tobytes())} if array.size > MANY else {})
    items = array.astype("c8").ravel().view("f4") if array.dtype.kind == "c" else array.ravel()
    items = items.astype("f8")
    found["float"] = [float(f"{item:.7g}") for item in _samples(items.tolist())]
    if array.size > MANY:
        found["float"] += [float(f"{item:.7g}") for item in (items.mean(), items.std())]
    return found


def _samples(items):
    return items if len(items) <= MANY else items[:: max(1, len(items) // (MANY - 1))][:MANY]


def is_old(name):
    """Return whether a program uses TensorFlow 1."""
    return "import tensorflow.compat.v1" in (PROGRAMS / f"{name}.py").read_text()


def write(name):
    """Execute a program and record its results."""
    with tempfile.TemporaryDirectory() as folder:
        found = described(executed(name).results(Path(folder)))
    lines = [f"{json.dumps(key)}: {json.dumps(found[key], sort_keys=True)}" for key in found]
    file = PROGRAMS / "golden" / f"{name}.json"
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(file.stem for file in PROGRAMS.glob("*.py"))
    failed = False
    for name in names:
        try:
            if is_old(name) and len(names) > 1:  # its program disables what others need
                failed |= bool(subprocess.run([sys.executable, __file__, name]).returncode)
            else:
                write(name)
        except Exception as error:
            failed = True
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(failed)
