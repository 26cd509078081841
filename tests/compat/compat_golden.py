"""Write expressions.json: what TensorFlow makes of expressions.txt. Run it where it is installed."""

import json
from pathlib import Path

import numpy as np


def described(value):
    """Return the type, the shape and the values of a tensor, in JSON's terms."""
    array = np.asarray(value.numpy())
    items = array.ravel().tolist()
    if array.dtype.kind in "OSU":
        return ["string", list(array.shape), [item.decode("latin-1") for item in items]]
    return [array.dtype.name, list(array.shape), items]


if __name__ == "__main__":
    import tensorflow as tf

    here = Path(__file__).parent
    expressions = (here / "expressions.txt").read_text().splitlines()
    made = [described(eval(line, {"tf": tf, "np": np})) for line in expressions]
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in made)
    (here / "expressions.json").write_text(f"[\n{lines}\n]\n")
