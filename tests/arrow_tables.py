"""Tables with many column types, and their rows as elements."""

import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

ROWS = 23


def table(rows=ROWS, text=False):
    """Return a table with a column of every kind that the sources support."""
    numbers = range(rows)
    text = pa.string() if text else pa.binary()
    columns = {
        "i": pa.array(numbers, pa.int64()),
        "u": pa.array([n % 200 for n in numbers], pa.uint8()),
        "f": pa.array([n / 4 for n in numbers], pa.float32()),
        "b": pa.array([n % 3 == 0 for n in numbers]),
        "s": pa.array([f"row {n}" * (n % 4) for n in numbers]).cast(text),
        "list": pa.array([list(range(n % 5)) for n in numbers], pa.list_(pa.int32())),
        "words": pa.array([[f"{n}"] * (n % 3) for n in numbers], pa.list_(pa.string())).cast(
            pa.list_(text)
        ),
        "pair": pa.array([[n, -n] for n in numbers], pa.list_(pa.int16(), 2)),
        "time": pa.array([10**6 * n for n in numbers], pa.timestamp("us")),
        "day": pa.array([datetime.date(2000, 1, 1 + n % 28) for n in numbers]),
        "struct": pa.array([{"x": n, "y": [float(n)] * (n % 2)} for n in numbers]),
    }
    return pa.table(columns)


def row(n, text=False):
    """Return row n of such a table as an element."""
    kind = str if text else str.encode
    return {
        "i": np.int64(n),
        "u": np.uint8(n % 200),
        "f": np.float32(n / 4),
        "b": np.bool_(n % 3 == 0),
        "s": kind(f"row {n}" * (n % 4)),
        "list": np.arange(n % 5, dtype=np.int32),
        "words": np.array([kind(f"{n}")] * (n % 3), object),
        "pair": np.array([n, -n], np.int16),
        "time": np.datetime64(10**6 * n, "us"),
        "day": np.datetime64(f"2000-01-{1 + n % 28:02}"),
        "struct": {"x": np.int64(n), "y": np.full(n % 2, float(n))},
    }
