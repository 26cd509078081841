"""Dataset.fingerprint: the same for the same elements, another one when something has changed."""

import functools
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import penstock as ps

ex = ps.experimental
FACTOR = 3


def scaled(x):
    return x * FACTOR


def shifted(x, by=1):
    return x + by


def closure(n):
    return lambda x: x + n


@ps.native
def native(x):
    return x + 1


BASE = ps.Dataset.range(10)
# Each differs from all others.
DIFFERENT = {
    "range": BASE,
    "range 11": ps.Dataset.range(11),
    "slices": ps.Dataset.from_tensor_slices(np.arange(10)),
    "other slices": ps.Dataset.from_tensor_slices(np.arange(1, 11)),
    "slices of another dtype": ps.Dataset.from_tensor_slices(np.arange(10, dtype=np.int32)),
    "batch 2": BASE.batch(2),
    "batch 3": BASE.batch(3),
    "dropping": BASE.batch(3, drop_remainder=True),
    "shuffle": BASE.shuffle(3),
    "shuffle with a seed": BASE.shuffle(3, seed=1),
    "shuffle with another": BASE.shuffle(3, seed=2),
    "in another order": BASE.shuffle(3).batch(2),
    "in this order": BASE.batch(2).shuffle(3),
    "map": BASE.map(scaled),
    "another function": BASE.map(shifted),
    "with a default": BASE.map(functools.partial(shifted, by=2)),
    "with a closure": BASE.map(closure(1)),
    "with another closure": BASE.map(closure(2)),
    "native": BASE.map(native),
    "filter": BASE.filter(lambda x: x > 3),
    "another filter": BASE.filter(lambda x: x > 4),
    "zip": ps.Dataset.zip(BASE, BASE.batch(2)),
    "zip of the others": ps.Dataset.zip(BASE.batch(2), BASE),
    "flat_map": BASE.flat_map(lambda x: ps.Dataset.range(x)),
}


def test_whatever_changes_the_elements_changes_it():
    found = {name: ds.fingerprint() for name, ds in DIFFERENT.items()}
    assert len(set(found.values())) == len(found), sorted(found.items(), key=lambda pair: pair[1])
    assert all(type(value) is np.uint64 for value in found.values())


def same(ds):
    return ds.map(scaled).shuffle(4, seed=3).batch(2)


@pytest.mark.parametrize(
    "other",
    [
        same,
        lambda ds: same(ds.prefetch(3)),
        lambda ds: same(ds).prefetch(ps.AUTOTUNE),
        lambda ds: ds.map(scaled, num_parallel_calls=4).shuffle(4, seed=3).batch(2),
        lambda ds: same(ds).with_options(ps.Options()),
    ],
)
def test_what_changes_only_the_timing_does_not(other):
    assert other(BASE).fingerprint() == same(BASE).fingerprint()


def test_what_a_function_refers_to_counts(monkeypatch):
    before = BASE.map(scaled).fingerprint()
    monkeypatch.setitem(globals(), "FACTOR", 4)
    assert BASE.map(scaled).fingerprint() != before
    monkeypatch.undo()
    assert BASE.map(scaled).fingerprint() == before


def test_a_changed_file_counts(tmp_path):
    file = tmp_path / "lines"
    file.write_text("one\n")
    before = ps.TextLineDataset(str(file)).fingerprint()
    assert ps.TextLineDataset(str(file)).fingerprint() == before
    file.write_text("one\ntwo\n")
    assert ps.TextLineDataset(str(file)).fingerprint() != before


def test_it_is_the_same_in_every_process():
    script = textwrap.dedent("""
        import numpy as np, penstock as ps
        names = {"a", "b", "c", "d", "e"}
        table = {"x": np.arange(3), "y": "text"}
        def function(x, *, other=3):
            return x + other + len(names) + table["x"][0]
        ds = ps.Dataset.from_tensor_slices({"q": [1, 2], "r": ["s", "t"]})
        ds = ds.map(lambda e: function(e["q"])).filter(lambda x: str(x) not in names).shuffle(3)
        print(ds.fingerprint())
    """)
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": str(i), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for i in range(3)
    }
    assert len(found) == 1
    assert int(found.pop()) > 0
