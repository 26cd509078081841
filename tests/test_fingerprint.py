"""Dataset.fingerprint: equal for equal elements, different after a change."""

import copy
import functools
import logging
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import penstock as ps
from referred import CHANGED, READ, TABLES, VALUES, generator_and_numbers, naming

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


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_the_standard_library_counts_by_its_content(name):
    one, other = (BASE.map(naming(value)).fingerprint() for value in VALUES[name])
    assert one != other
    same = VALUES[name][0] if name == "memory" else copy.deepcopy(VALUES[name][0])
    assert BASE.map(naming(same)).fingerprint() == one


@pytest.mark.parametrize("name", READ)
def test_attributes_of_an_object_count(name):
    function, settings = READ[name]
    prints = [BASE.map(function(settings(scale=n))).fingerprint() for n in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize("name", CHANGED)
def test_all_that_a_function_is_made_of_counts(name):
    prints = [BASE.map(CHANGED[name](k)).fingerprint() for k in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


def test_a_class_attribute_makes_a_cache_anew(tmp_path):
    def cached(k):
        aug = CHANGED["class attribute"](k)
        return [int(x) for x in BASE.take(3).map(aug).cache(tmp_path / "cache")]

    assert cached(1) == cached(1) == [0, 1, 2]
    with pytest.warns(RuntimeWarning, match="cache"):
        assert cached(2) == [0, 2, 4]


def test_objects_of_the_process_count_by_their_type():
    class Aug:
        def __init__(self, name):
            self.logger = logging.getLogger(name)
            self.lock = threading.Lock()

        def __call__(self, x):
            return x

    one, other = (BASE.map(Aug(name)).fingerprint() for name in ("one", "other"))
    assert one == other


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_table_counts_by_its_content_whatever_was_looked_up(package, name):
    library = pytest.importorskip(package)
    if package == "polars" and name == "labels":
        pytest.skip("series of Polars have no labels")
    tables = [TABLES[name](library, last) for last in (3, 3, 4)]
    _ = list(tables[1]), repr(tables[1])
    prints = [BASE.map(naming(table)).fingerprint() for table in tables]
    assert prints[0] == prints[1] != prints[2]


def test_generators_and_iterators_count_by_their_type():
    for used, fresh in zip(generator_and_numbers(), generator_and_numbers(), strict=True):
        _ = next(used) if hasattr(used, "__next__") else used.normal()
        assert BASE.map(naming(used)).fingerprint() == BASE.map(naming(fresh)).fingerprint()


def test_a_changed_file_counts(tmp_path):
    file = tmp_path / "lines"
    file.write_text("one\n")
    before = ps.TextLineDataset(str(file)).fingerprint()
    assert ps.TextLineDataset(str(file)).fingerprint() == before
    file.write_text("one\ntwo\n")
    assert ps.TextLineDataset(str(file)).fingerprint() != before


@pytest.mark.slow
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


# --- reference graphs: each object is visited once ---


def keeping(ds, tmp_path):
    """Do everything that needs a fingerprint; return the elements from the cache."""
    assert ds.fingerprint() == ds.fingerprint()
    ds.save(str(tmp_path / "saved"))
    kept = ds.cache(str(tmp_path / "cache"))
    first = [int(x) for x in kept]
    assert [int(x) for x in ps.Dataset.load(str(tmp_path / "saved"))] == first
    assert [int(x) for x in ds.snapshot(str(tmp_path / "snapshot"))] == first
    assert [int(x) for x in kept] == first
    return first


Dataset = ps.Dataset


def test_a_function_may_name_the_class_dataset(tmp_path):
    ds = BASE.take(4).flat_map(lambda x: Dataset.range(x))
    assert keeping(ds, tmp_path) == [0, 0, 1, 0, 1, 2]
    other = BASE.take(4).flat_map(lambda x: Dataset.range(x + 1))
    assert other.fingerprint() != ds.fingerprint()


def test_a_function_may_name_a_dataset_made_of_functions_that_name_it(tmp_path):
    looping = BASE.take(3).map(lambda x: x + len(LOOPING["ds"]))
    LOOPING["ds"] = looping
    assert keeping(looping, tmp_path) == [3, 4, 5]


LOOPING = {}


def method_calls(count, last):
    """Make a class whose methods each call all of its methods through the class name."""
    all_of_them = ", ".join(f"Many.m{j}(self)" for j in range(count))
    body = "".join(f"    def m{i}(self):\n        return [{all_of_them}]\n" for i in range(count))
    scope = {"__name__": __name__}
    exec(f"class Many:\n{body}    last = {last}\ndef use(x):\n    return x + Many.last", scope)
    return scope["use"]


@pytest.mark.timeout(20)  # was 89 s for 9 methods, and would not have ended for these
def test_a_class_whose_methods_name_the_class_is_looked_at_once(tmp_path):
    assert keeping(BASE.take(3).map(method_calls(40, 1)), tmp_path) == [1, 2, 3]
    one, two = (BASE.map(method_calls(40, last)).fingerprint() for last in (1, 2))
    assert one != two
    assert one == BASE.map(method_calls(40, 1)).fingerprint()


@pytest.mark.timeout(20)
def test_values_that_are_shared_are_looked_at_once():
    def nested(inner):
        value = (inner,)
        for _ in range(15):
            value = [value, {"again": value}, value]
        return BASE.map(lambda x: x + len(value)).fingerprint()

    assert nested(1) == nested(1)
    functions = [scaled]
    for _ in range(19):
        functions.append((lambda f, g: lambda x: f(g(x)))(functions[-1], functions[-1]))
    assert BASE.map(functions[-1]).fingerprint() == BASE.map(functions[-1]).fingerprint()


def test_a_value_that_contains_itself_ends():
    circle = [1]
    circle.append(circle)
    assert BASE.map(lambda x: x + circle[0]).fingerprint() > 0


@pytest.mark.timeout(20)
def test_tensors_of_tensorflows_names_are_looked_at_once(tmp_path):
    import penstock.compat.tf as tf

    tensor = tf.constant([1, 2, 3])
    ds = tf.data.Dataset.from_tensor_slices(tensor).map(lambda x: x + tensor[0])
    assert [int(x) for x in ds.cache(str(tmp_path / "cache"))] == [2, 3, 4]
    assert int(ds.fingerprint()) == int(ds.fingerprint())
    other = tf.constant([2, 2, 3])
    changed = tf.data.Dataset.from_tensor_slices(tensor).map(lambda x: x + other[0])
    assert int(changed.fingerprint()) != int(ds.fingerprint())
