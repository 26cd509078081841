"""Incompletely constructed objects raise TypeError, and never expose uninitialised memory."""

import inspect

import pytest

import penstock as ps
from penstock import _core

CLASSES = [cls for _, cls in inspect.getmembers(_core, inspect.isclass)]


def methods(cls):
    """Return the methods of a class's instances, with arguments."""
    arguments = {"set_state": (b"",), "_save_state": (b"",), "_compare_state": (b"",)}
    arguments |= {"_on_end": (print,), "_pass_over": (1,)}
    for name in dir(cls):
        called = callable(getattr(cls, name))
        if called and (not name.startswith("__") or name in ("__next__", "__call__")):
            yield name, arguments.get(name, ())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_what_has_skipped_init_is_refused(cls):
    try:
        half = cls.__new__(cls)
    except TypeError:
        return
    for name, arguments in methods(cls):
        with pytest.raises(TypeError, match=r"__init__ was not called; .* made by iter"):
            getattr(half, name)(*arguments)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_subclass_that_skips_init_is_refused(cls):
    with pytest.raises(TypeError):
        next(type("Sub", (cls,), {"__init__": lambda self: None})())


def test_the_classes_are_all_looked_at():
    assert {"Iterator", "KeyScope", "Node", "Op", "Value"} <= {cls.__name__ for cls in CLASSES}


def test_a_half_made_iterator_dies_quietly():
    it = ps.Iterator.__new__(ps.Iterator)
    slots = set(vars(ps.Iterator)["__slots__"])
    assert slots == {"__weakref__", "_account", "_dataset", "_hints"}
    with pytest.raises(TypeError, match="__init__ was not called"):
        it.get_state()
    with pytest.raises(TypeError, match="__init__ was not called"):
        it.set_state(b"")
    with pytest.raises(TypeError, match="__init__ was not called"):
        it.tuning_moves()
    del it


def test_an_iterator_is_made_once():
    it = iter(ps.Dataset.range(100).map(lambda x: x, num_parallel_calls=2).prefetch(2))
    next(it)
    with pytest.raises(TypeError, match="__init__ was called before"):
        it.__init__(ps.Dataset.range(3), ps.Options()._for_engine())
    assert [int(x) for x in it] == list(range(1, 100))


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((), {}),
        ((3, {}), {}),
        ((ps.Dataset.range(3), 3), {}),
        ((ps.Dataset.range(3), {}, 1), {}),
        ((ps.Dataset.range(3),), {"options": {}}),
    ],
)
def test_an_iterator_takes_a_dataset_and_options(arguments, keywords):
    it = ps.Iterator.__new__(ps.Iterator)
    with pytest.raises(TypeError):
        _core.Iterator.__init__(it, *arguments, **keywords)
    with pytest.raises(TypeError, match="__init__ was not called"):
        next(it)
