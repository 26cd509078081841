"""Objects with random access, for the tests of from_indexable and of later stages."""

import numpy as np

from contract import Boom


class Rows:
    """Random access in the style of PyTorch's map-style datasets."""

    def __init__(self, n, bad=()):
        self.n = n
        self.bad = bad
        self.asked = []

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.asked.append(i)
        if i in self.bad:
            raise Boom(f"row {i}")
        return np.full(2, i, np.float32), i, f"row {i}"


class ManyRows(Rows):
    """Random access to several rows per call, in the style of Hugging Face's datasets."""

    def __getitems__(self, indices):
        self.asked.append(tuple(indices))
        if set(indices) & set(self.bad):
            raise Boom("one of them")
        return [{"x": [i, i + 1], "text": str(i)} for i in indices]

    def __getitem__(self, i):
        if not isinstance(i, int):
            raise TypeError("an int was expected")
        super().__getitem__(i)
        return {"x": [i, i + 1], "text": str(i)}


def row(i):
    return np.full(2, i, np.float32), i, f"row {i}"
