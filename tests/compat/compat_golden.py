"""Record TensorFlow's results for expressions/*.txt and pipelines.txt; needs TensorFlow.

The arguments name the files to write: ``python compat_golden.py expressions/basics.txt``. Without
arguments, all files are written.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def described(value):
    """Return the type, shape and values of a tensor, or of nested tensors, as JSON values."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return {"python": repr(value)}
    if hasattr(value, "as_numpy_dtype"):
        return {"dtype": value.name}
    if hasattr(value, "is_fully_defined"):
        return {"shape": str(value)}
    if isinstance(value, dict):
        return {key: described(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return {"tuple": [described(part) for part in value]}
    if isinstance(value, list):
        return {"list": [described(part) for part in value]}
    if hasattr(value, "flat_values"):
        return {"ragged": _texts(value.to_list()), "values": described(value.flat_values)[:2]}
    if hasattr(value, "dense_shape"):
        return {
            name: described(getattr(value, name)) for name in ("indices", "values", "dense_shape")
        }
    array = np.asarray(value.numpy())
    items = array.ravel().tolist()
    if array.dtype.kind in "OSU":
        return ["string", list(array.shape), _texts(items)]
    if array.dtype.kind == "c":
        items = [[item.real, item.imag] for item in items]
    return [array.dtype.name, list(array.shape), items]


def _texts(nested):
    if isinstance(nested, list):
        return [_texts(part) for part in nested]
    return nested.decode("latin-1") if isinstance(nested, bytes) else nested


ERRORS = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def attempted(expression, describe, tf):
    """Return the described result of an expression, or the class of its error (Python or tf)."""
    try:
        return describe(eval(expression, {"tf": tf, "np": np}))
    except (
        tf.errors.OpError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        return {"raises": type(error).__name__}


def write(file, describe, tf):
    """Record the results of one file's expressions, one per line."""
    made = [attempted(line, describe, tf) for line in file.read_text().splitlines()]
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in made)
    file.with_suffix(".json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    import tensorflow

    files = [HERE / name for name in sys.argv[1:]]
    for file in files or [*sorted(HERE.glob("expressions/*.txt")), HERE / "pipelines.txt"]:
        if file.stem == "pipelines":
            write(file, lambda dataset: [described(e) for e in dataset], tensorflow)
        else:
            write(file, described, tensorflow)
