"""Write what TensorFlow makes of expressions.txt and pipelines.txt; run where it is installed."""

import json
from pathlib import Path

import numpy as np


def described(value):
    """Return type, shape and values of a tensor, or of nested ones, in the terms of JSON."""
    if isinstance(value, dict):
        return {key: described(part) for key, part in value.items()}
    if type(value) is tuple:
        return {"tuple": [described(part) for part in value]}
    array = np.asarray(value.numpy())
    items = array.ravel().tolist()
    if array.dtype.kind in "OSU":
        return ["string", list(array.shape), [item.decode("latin-1") for item in items]]
    return [array.dtype.name, list(array.shape), items]


def write(name, describe, tf):
    """Write what the expressions of one file are, one to a line."""
    file = Path(__file__).with_name(name)
    made = [describe(eval(line, {"tf": tf, "np": np})) for line in file.read_text().splitlines()]
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in made)
    file.with_suffix(".json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    import tensorflow

    write("expressions.txt", described, tensorflow)
    write("pipelines.txt", lambda dataset: [described(e) for e in dataset], tensorflow)
