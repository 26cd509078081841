"""Temporary dict keys and classes are freed."""

import gc
import sys
import sysconfig
import threading
import weakref
from collections import namedtuple
from dataclasses import make_dataclass

import numpy as np
import pytest

import penstock as ps
from process import reads_memory
from scripts import run_script, wait_until

# CPython 3.13 without a GIL frees no classes once it has started a thread.
classes_end = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14),
    reason="this Python keeps every class",
)
COUNTED = {
    "namedtuple": lambda name: namedtuple(name, "x y"),
    "dataclass": lambda name: make_dataclass(name, ["x", "y"]),
}


def wait_until_gone(classes):
    def gone():
        gc.collect()
        return all(made() is None for made in classes)

    wait_until(gone)  # a thread of the run may hold the last reference


@classes_end
@pytest.mark.parametrize("kind", COUNTED)
def test_classes_made_at_run_time_go_with_their_elements(kind):
    classes = []

    def make(i):
        cls = COUNTED[kind](f"Made{i}")
        classes.append(weakref.ref(cls))
        return cls(i, (cls(-i, None), {"z": str(i)}))

    ds = ps.Dataset.range(300).map(make, num_parallel_calls=2).shuffle(40, seed=1).prefetch(2)
    before = ps._core.structure_count()
    seen = []
    it = iter(ds)
    for element in it:
        gc.collect(0)
        inner, keys = element.y
        assert type(inner) is type(element)
        assert (inner.x, inner.y, keys["z"]) == (-element.x, None, str(element.x))
        seen.append(int(element.x))
    assert sorted(seen) == list(range(300))
    del element, inner, keys, it, ds
    wait_until_gone(classes)
    assert ps._core.structure_count() < before + 20  # the most recent dicts and tuples


@pytest.mark.slow
def test_a_class_lives_while_an_element_of_it_is_on_its_way():
    def make(i):
        return namedtuple("Local", "a b")(i, [i] * 3)

    ds = ps.Dataset.range(6).map(make).cache()
    for _ in range(2):
        for i, element in enumerate(ds):
            gc.collect()
            assert element._fields == ("a", "b")
            assert element.a == i
            assert list(element.b) == [i] * 3


@classes_end
def test_leaves_of_classes_made_at_run_time_do_not_keep_them():
    classes = []

    def make(i):
        cls = type(f"Leaf{i}", (), {})
        classes.append(weakref.ref(cls))
        return {"a": cls()}

    assert len(list(ps.Dataset.range(400).map(make))) == 400
    wait_until_gone(classes)


@classes_end
def test_a_class_that_a_signature_names_is_kept_by_its_iterator():
    pair = namedtuple("Pair", "a b")
    made = weakref.ref(pair)
    spec = ps.TensorSpec((), np.int64)
    values = [pair(1, 2), pair(3, 4)]
    it = iter(ps.Dataset.from_generator(values.copy, output_signature=pair(spec, spec)).batch(2))
    assert next(it)._fields == ("a", "b")
    del pair, values
    gc.collect()
    assert made() is not None
    del it
    wait_until_gone([made])


def save_pairs(folder):
    pair = namedtuple("Pair", "a b")
    ps.Dataset.range(4).map(lambda i: pair(i, i * i)).save(folder)
    return pair


@classes_end
def test_saved_elements_of_a_class_are_read_while_it_lives(tmp_path):
    pair = save_pairs(str(tmp_path / "saved"))
    made = weakref.ref(pair)
    for given in ({}, {"structures": [pair]}):
        loaded = ps.Dataset.load(str(tmp_path / "saved"), **given)
        assert [type(element) for element in loaded] == [pair] * 4
    del loaded, given, pair
    wait_until_gone([made])
    # A named tuple with the same name and fields replaces it.
    first, *rest = ps.Dataset.load(str(tmp_path / "saved"))
    assert (type(first).__name__, first._fields) == ("Pair", ("a", "b"))
    assert all(type(other) is type(first) for other in rest)


def test_equal_keys_are_one_structure_from_all_threads():
    class Key:  # compared by Python code, which lets other threads run
        def __init__(self, name):
            self.name = name

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return isinstance(other, Key) and self.name == other.name

    pairs = [({Key(f"{i}"): 0}, {Key(f"{i}"): 0}) for i in range(40)]
    wrong = []

    def compare():
        wrong.extend(one for one, other in pairs if not ps._core.same_nesting(one, other))

    threads = [threading.Thread(target=compare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


GROWTH = """
sys.path.insert(0, "tests")
from collections import namedtuple
from process import resident
from dataclasses import make_dataclass
def keys(i):
    return {f"key {i}": i, f"a longer name of the other key {i}": {f"inner {i}": i}}
def classes(i):
    return namedtuple(f"T{i}", "x")(i) if i % 2 else make_dataclass(f"D{i}", ["x"])(i)
def over(function, few, many):
    it = iter(Dataset.range(few + many).map(function).enumerate())
    for _ in range(few):
        next(it)
    before = resident()
    assert sum(1 for _ in it) == many
    return (resident() - before) / many
"""


@pytest.mark.slow
@reads_memory
@pytest.mark.parametrize(
    "grown",
    [
        "over(keys, 20000, 20000) / 300",
        pytest.param("over(classes, 1500, 2000) / 3500", marks=classes_end),
    ],
    ids=["keys", "classes"],
)
def test_a_run_over_varying_keys_and_classes_does_not_grow(grown):
    done = run_script(
        f"{GROWTH}\nassert (grown := {grown}) < 1, grown\n"
        "assert ps._core.structure_count() < 2000, ps._core.structure_count()\n",
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
