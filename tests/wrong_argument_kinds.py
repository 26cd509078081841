"""Values that are wrong for most arguments, by the kind of mistake."""

import math

import numpy as np

CYCLIC = []
CYCLIC.append(CYCLIC)

WRONG = {
    "object": object(),
    "None": None,
    "word": "no such",
    "float": 1.5,
    "bool": True,
    "cyclic": CYCLIC,
    "negative": -7,
    "zero": 0,
    "2**63": 2**63,
    "2**64": 2**64,
    "nan": math.nan,
    "empty": "",
    "array": np.array([1, 2]),
}
