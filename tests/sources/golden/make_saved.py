"""Create the golden files of the format of saved datasets: python make_saved.py."""

from pathlib import Path

import numpy as np

import penstock as ps


def elements():
    """Return the file's elements: equal and unequal shapes, strings, numbers, times, nesting."""
    found = [(np.arange(3, dtype=np.int16) * i, np.float32(i / 4)) for i in range(5)]
    found += [
        {"text": "é" * i, "bytes": b"\x00" * i, "ragged": np.full((i, 2), i, np.uint8)}
        for i in range(4)
    ]
    found += [(None, np.datetime64(i, "s"), np.array(["a", "b" * i], dtype=object)) for i in (1, 2)]
    return found


def dataset():
    """Return the dataset to save."""
    found = elements()
    return ps.Dataset.range(len(found)).map(lambda i: found[i])


if __name__ == "__main__":
    dataset().save(Path(__file__).parent / "saved")
