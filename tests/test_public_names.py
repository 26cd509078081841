"""dir() and help() show exactly the documented names: no imports, no internals."""

import contextlib
import importlib
import inspect
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, experimental

MODULES = [ps, ps.io, ps.image, ps.strings, ps.random, ps.remote, ps.experimental]
NAMES = ["penstock.compat.tf", "penstock.compat.v1"]


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_dir_shows_public_names(module):
    shown = {name for name in dir(module) if name != "__version__"}
    assert shown == set(module.__all__)
    for name in shown:
        getattr(module, name)


def modules_of_names():
    for package in NAMES:
        yield package
        path = importlib.import_module(package).__path__
        for info in pkgutil.walk_packages(path, package + "."):
            if info.name.rpartition(".")[2] not in ("arrays", "functions", "messages"):
                yield info.name


@pytest.mark.parametrize("name", list(modules_of_names()))
def test_modules_for_ported_programs_show_names_only(name):
    module = importlib.import_module(name)
    shown = dir(module)
    assert shown
    assert set(getattr(module, "__all__", ())) <= set(shown)
    machinery = {"Any", "Callable", "DTYPES", "NAMES", "annotations", "arrays", "argument"}
    machinery |= {"functions", "functools", "listing", "np", "os", "port_all", "ported", "specs"}
    machinery |= {"features_of", "messages", "plain", "sys", "tensor", "tensors", "types"}
    assert not machinery & set(shown)
    for each in shown:
        assert not each.startswith("_")
        getattr(module, each)


def test_names_of_tensorflow_are_still_there():
    tf, old = map(importlib.import_module, NAMES)
    assert {"data", "io", "constant", "cast", "Tensor", "float32", "abs", "print"} <= set(dir(tf))
    assert {"Dataset", "Iterator", "AUTOTUNE"} <= set(dir(old.data))
    assert {"random_crop", "stateless_random_crop", "ResizeMethod"} <= set(dir(tf.image))


CLASSES = [
    *(thing for thing in vars(ps).values() if isinstance(thing, type)),
    *(getattr(experimental, n) for n in experimental.__all__),
]
CLASSES = sorted(
    {c for c in CLASSES if isinstance(c, type) and c.__module__.startswith("penstock")},
    key=lambda c: (c.__qualname__, c.__module__),
)


def public(cls):
    return {name for name in dir(cls) if not name.startswith("_")}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__qualname__)
def test_public_methods_have_words(cls):
    for name in public(cls):
        owner = next(c for c in cls.__mro__ if name in vars(c))
        member = inspect.getattr_static(cls, name)
        if owner.__module__.startswith("penstock") and inspect.isroutine(getattr(cls, name)):
            assert inspect.getdoc(member), name


def test_iterators_and_options_show_no_machinery():
    it = iter(Dataset.range(3))
    shown = {n for n in dir(it) if not n.startswith("_")}
    assert shown == {
        *("aclose", "close", "element_spec", "get_next", "get_next_as_optional", "get_state"),
        *("metrics", "set_state", "stats", "tuning_moves"),
    }
    assert not {"for_engine", "of"} & public(ps.Options)
    passed = iter(ps.DataLoader([1, 2]))
    assert {n for n in dir(passed) if not n.startswith("_")} == {"close"}


def functions():
    for module in MODULES:
        for name in module.__all__:
            yield f"{module.__name__}.{name}", getattr(module, name)
    for name in sorted(public(Dataset)):
        yield f"Dataset.{name}", getattr(Dataset, name)


def signatures():
    for name, thing in functions():
        if inspect.isroutine(thing) or isinstance(thing, type):
            with contextlib.suppress(ValueError):  # an exception, or a class of the extension
                yield pytest.param(str(inspect.signature(thing)), id=name)


@pytest.mark.parametrize("text", list(signatures()))
def test_signatures_are_as_written(text):
    text = text.replace(str(np.float32), "").replace(str(np.int64), "")
    for expanded in ("Union[", "typing.", "numpy._typing", "collections.abc", "ForwardRef"):
        assert expanded not in text


@pytest.mark.slow
def test_help_of_the_package_does_not_list_its_modules():
    code = "import penstock, pydoc; print(pydoc.render_doc(penstock, renderer=pydoc.plaintext))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100
    )
    assert "unused_options" not in done.stdout.partition("PACKAGE CONTENTS")[0]


def test_repr_of_an_iterator_says_stages_and_position():
    ds = Dataset.range(10).batch(2)
    it = iter(ds)
    stages = repr(ds)
    assert repr(it) == f"<Iterator at element 0 of {stages}>"
    next(it)
    assert repr(it) == f"<Iterator at element 1 of {stages}>"
    state = it.get_state()
    list(it)
    assert repr(it) == f"<Iterator at element 5 of {stages}>"
    other = iter(ds)
    other.set_state(state)
    assert repr(other) == f"<Iterator at element 0 after set_state of {stages}>"
    next(other)
    assert repr(other) == f"<Iterator at element 1 after set_state of {stages}>"
    it.close()
    assert repr(it) == f"<closed Iterator of {stages}>"


def test_position_counts_elements_and_errors_that_were_delivered():
    it = iter(Dataset.range(2000).map(lambda x: 1 // int(x - 3)).prefetch(100))
    for n in range(8):
        assert f"at element {n} of" in repr(it)
        try:
            next(it)
        except ZeroDivisionError:
            assert n == 3
    scalars = iter(Dataset.range(10**6))
    for n in range(3000):
        assert f"at element {n} of" in repr(scalars)
        next(scalars)


def test_repr_of_an_iterator_from_inside_its_own_function():
    shown = []
    its = []

    def look(x):
        shown.append(repr(its[0]))
        return x

    ds = Dataset.range(2).map(look)
    its.append(iter(ds))
    list(its[0])
    assert shown == [f"<running Iterator of {ds!r}>"] * 2


LENGTHS = {
    "filter": lambda ds: ds.filter(lambda x: x > 1).batch(2).prefetch(1),
    "filter(keep, name='big')": lambda ds: ds.filter(keep, name="big").map(keep),
    "flat_map(keep)": lambda ds: ds.flat_map(keep),
    "on_error": lambda ds: ds.map(keep, on_error="skip").batch(2),
    "filter(keep)": lambda ds: ds.concatenate(ds.filter(keep)),
}


def keep(x):
    return True


@pytest.mark.parametrize("stage", LENGTHS)
def test_len_says_which_stage_hides_it_and_how_to_say_it(stage):
    ds = LENGTHS[stage](Dataset.range(4))
    with pytest.raises(TypeError) as told:
        len(ds)
    assert f" {stage} " in str(told.value)
    assert "assert_cardinality(n)" in str(told.value)
