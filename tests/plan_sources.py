"""The sources of random pipelines."""

import functools
import hashlib
import io
import itertools
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import oracle
import penstock as ps
from contract import Boom, Failure


class Source(NamedTuple):
    """One source of random pipelines."""

    args: st.SearchStrategy  # strategy of dicts
    build: Callable[..., ps.Dataset]  # (run, **args)
    oracle: Callable[..., Any]  # (**args)


def args(**strategies):
    return st.fixed_dictionaries(strategies)


small = st.integers(-9, 99)


def times(values):
    return np.array(values, "datetime64[s]")


# Values of one element of from_tensors.
values = st.recursive(
    st.one_of(
        small,
        st.booleans(),
        st.sampled_from(["", "text", "é", b"", b"\0\0", None]),
        st.sampled_from([np.float32(1.5), np.uint8(255), np.complex64(1j), np.datetime64(7, "s")]),
        st.lists(small, max_size=3),
        st.just(np.zeros((2, 0, 3), np.int16)),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
    max_leaves=4,
)


def table(n, form):
    """Return the argument of from_tensor_slices: n rows."""
    numbers = np.arange(n)
    return {
        "scalars": numbers.astype(np.float64) / 4,
        "rows": np.arange(2 * n, dtype=np.uint8).reshape(n, 2),
        "pair": (numbers, np.array([f"s{i}" for i in range(n)], object)),
        "dict": {"x": numbers % 3 == 0, "y": (times(numbers), np.ones((n, 1, 2), np.float16))},
        "bytes": np.array([bytes([65 + i]) * (i % 3) for i in range(n)], object),
    }[form]


TABLES = ["scalars", "rows", "pair", "dict", "bytes"]


def rows(n, form):
    data = table(n, form)
    columns = oracle.leaves(data)
    return [oracle.like(data, (oracle.leaf(c[i]) for c in columns)) for i in range(n)]


def yielding(n, fails):
    def generate():
        for i in range(n):
            if i == fails:
                raise Boom(f"generator at {i}")
            yield i, f"item {i}"

    return generate


def yielded(n, fails):
    until = n if fails is None else min(n, fails)
    steps = [(np.int64(i), f"item {i}") for i in range(until)]
    return steps + ([Failure("Boom", f"generator at {fails}")] if until < n else [])


@functools.cache
def folder():
    # Kept until the process exits, because plans are built repeatedly.
    return tempfile.TemporaryDirectory(prefix="penstock-plans-")


def written(text):
    path = Path(folder().name) / hashlib.sha256(text).hexdigest()
    if not path.exists():
        path.write_bytes(text)
    return str(path)


texts = st.binary(max_size=12).map(lambda data: data.replace(b"\r", b"\n"))


def text_names(parts, missing):
    names = [written(text) for text in parts]
    return [*names, f"{folder().name}/missing"] if missing else names


def indexed_text(parts):
    names = text_names(parts, False)
    ps.index(names, format="text")
    return ps.TextLineDataset(names, indexed=True)


def text_steps(parts, missing):
    for text in parts:
        lines = text.split(b"\n")
        yield from lines if lines[-1] else lines[:-1]
    if missing:
        yield oracle.any_failure("FileNotFoundError")


def arrays(n, files):
    """Return the rows of files, some of which are empty."""
    return [np.arange(i, n, files, dtype=np.int16).reshape(-1, 1) for i in range(files)]


def array_names(n, files):
    names = []
    for rows in arrays(n, files):
        made = io.BytesIO()
        np.save(made, rows)
        names.append(written(made.getvalue()))
    return names


def archive_names(parts, missing):
    names = []
    for text in parts:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as archive:
            for i, line in enumerate(text.split(b"\n")):
                info = tarfile.TarInfo(f"{i}.txt")
                info.size = len(line)
                archive.addfile(info, io.BytesIO(line))
        names.append(written(made.getvalue()))
    return [*names, f"{folder().name}/missing"] if missing else names


def sample_steps(parts, missing):
    for text in parts:
        for i, line in enumerate(text.split(b"\n")):
            yield str(i), line
    if missing:
        yield oracle.any_failure("FileNotFoundError")


SOURCES = {
    "range": Source(
        args(start=small, stop=small, step=st.sampled_from([1, 2, -3])),
        lambda run, start, stop, step: ps.Dataset.range(start, stop, step),
        lambda start, stop, step: map(np.int64, range(start, stop, step)),
    ),
    "range of floats": Source(
        args(n=st.integers(0, 9)),
        lambda run, n: ps.Dataset.range(n, output_type=np.float32),
        lambda n: map(np.float32, range(n)),
    ),
    "from_tensors": Source(
        args(value=values),
        lambda run, value: ps.Dataset.from_tensors(value),
        lambda value: [oracle.leaf(value)],
    ),
    "from_tensor_slices": Source(
        args(n=st.integers(0, 9), form=st.sampled_from(TABLES)),
        lambda run, n, form: ps.Dataset.from_tensor_slices(table(n, form)),
        rows,
    ),
    "from_generator": Source(
        args(n=st.integers(0, 9), fails=st.sampled_from([None, None, 0, 3])),
        lambda run, n, fails: ps.Dataset.from_generator(yielding(n, fails)),
        yielded,
    ),
    "counter": Source(
        args(start=small, step=st.sampled_from([1, -2])),
        lambda run, start, step: ps.Dataset.counter(start, step),
        lambda start, step: map(np.int64, itertools.count(start, step)),
    ),
    "from_list": Source(
        args(n=st.integers(1, 5)),
        lambda run, n: ps.experimental.from_list([(np.zeros(i % 3), i) for i in range(n)]),
        lambda n: [(np.zeros(i % 3), np.int64(i)) for i in range(n)],
    ),
    "from_indexable": Source(
        args(n=st.integers(0, 9)),
        lambda run, n: ps.Dataset.from_indexable(
            [(i, f"row {i}") for i in range(n)], num_parallel_calls=run.parallel()
        ),
        lambda n: [(np.int64(i), f"row {i}") for i in range(n)],
    ),
    "indexed TextLineDataset": Source(
        args(parts=st.lists(texts, min_size=1, max_size=3)),
        lambda run, parts: indexed_text(parts),
        lambda parts: text_steps(parts, False),
    ),
    "NumpyDataset": Source(
        args(n=st.integers(0, 9), files=st.integers(1, 3)),
        lambda run, n, files: ps.NumpyDataset(array_names(n, files)),
        lambda n, files: [row for rows in arrays(n, files) for row in rows],
    ),
    "TarDataset": Source(
        args(parts=st.lists(texts, max_size=3), missing=st.booleans()),
        lambda run, parts, missing: ps.TarDataset(
            archive_names(parts, missing), ("__key__", "txt")
        ),
        sample_steps,
    ),
    "TextLineDataset": Source(
        args(parts=st.lists(texts, max_size=3), missing=st.booleans()),
        lambda run, parts, missing: ps.TextLineDataset(text_names(parts, missing)),
        text_steps,
    ),
}
