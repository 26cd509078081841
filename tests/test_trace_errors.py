"""Unsupported native functions: errors name the line, the reason and an alternative."""

import copy
import functools
import json
import logging
import math
import numbers
import os
import pickle
import pprint
import random
import time
import traceback
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

Dataset = ps.Dataset


CANNOT = {
    "if": (lambda x: 1 if x > 0 else 2, "condition"),
    "loop": (lambda x: [y + 1 for y in x], "loop over"),
    "int": (lambda x: int(x), "an int"),
    "float": (lambda x: float(x), "a float"),
    "len": (lambda x: len(x), "a length"),
    "range": (lambda x: range(x), "an index or a count"),
    "array": (lambda x: np.asarray(x), "an array"),
    "numpy function": (lambda x: np.linalg.norm(x), r"numpy\.linalg\.norm"),
    "reduce": (lambda x: np.add.reduce(x), r"numpy\.add\.reduce"),
    "out": (lambda x: np.add(x, 1, out=np.zeros(3)), r"numpy\.add with an argument .* x = np\.add"),
    "no function of numbers": (lambda x: np.vecdot(x, x), "vecdot"),
    "assign": (lambda x: x.__setitem__(0, 1), "assigned"),
    "object": (lambda x: object(), "cannot return object"),
    "string": (lambda x: x + "a", r"numpy\.add of str .*ps\.strings\.join"),
    "a string that is compared": (lambda x: x == "cat", r"ps\.strings\.regex_full_match"),
    "bytes that are compared": (lambda x: x != b"cat", r"ps\.strings\.regex_full_match"),
    "array of several": (lambda x: np.array([x, x]), r"an array.*np\.stack"),
    "decode": (lambda x: x.decode(), r"attribute 'decode'.*ps\.strings"),
    "std": (lambda x: x.std(), r"attribute 'std'.*np\.mean"),
    "matmul": (lambda x: x @ x, r"numpy\.matmul cannot be traced: only ufuncs can that take items"),
    "mask": (lambda x: x[x > 2], r"index by a condition .*np\.where"),
    "mask of masks": (lambda x: x[~((x > 2) & np.isfinite(x))], "index by a condition"),
    "str": (lambda x: str(x), r"text .*strings\.as_string"),
    "%": (lambda x: "%s.jpg" % x, r"text .*strings\.join"),  # noqa: UP031
    "%r": (lambda x: "%r" % x, "text"),  # noqa: UP031
    "bytes %": (lambda x: b"%b" % x, "bytes"),
    "format": (lambda x: "{:.2f}".format(x), "text"),  # noqa: UP032
    "f-string": (lambda x: f"{x}.jpg", "text"),
    "f-string of repr": (lambda x: f"{x!r}", "text"),
    "text of a list": (lambda x: str([x, 1]), "text"),
    "text of a dict": (lambda x: f"{ {'a': x} }", "text"),
    "pprint": (lambda x: pprint.pformat([x]), "text"),
    "join": (lambda x: "".join([x]), "Symbol"),
    "json": (lambda x: json.dumps(x), "text"),
    "hash": (lambda x: hash(x), r"a key .*gather"),
    "dict": (lambda x: {1: 2}[x], "a key"),
    "get": (lambda x: {1: 2}.get(x, 3), "a key"),
    "set": (lambda x: x in {1, 2}, "a key"),
    "lru_cache": (lambda x: _cached(x), "a key"),
    "in a list": (lambda x: x in [1, 2], "condition"),
    "in it": (lambda x: 3 in x, "search"),
    "list": (lambda x: [1, 2][x], "an index"),
    "numpy index": (lambda x: np.arange(4)[x], "an index|an array"),
    "iter": (lambda x: list(x), "loop over"),
    "unpack": (lambda x: [*x], "loop over"),
    "next": (lambda x: next(iter(x)), "loop over"),
    "fspath": (lambda x: os.fspath(x), r"name of a file.*ps\.io\.read_file"),
    "path": (lambda x: Path(x), "name of a file"),
    "path below": (lambda x: Path("photos") / x, "numpy.divide"),
    "join paths": (lambda x: os.path.join("photos", x), "name of a file"),  # noqa: PTH118
    "open": (lambda x: open(x), "an index|name of a file"),  # noqa: PTH123, SIM115
    "buffer": (lambda x: memoryview(x), "memory|Symbol"),
    "frombuffer": (lambda x: np.frombuffer(x), "memory|Symbol"),
    "bytes": (lambda x: bytes(x), "bytes"),
    "isinstance": (lambda x: 1 if isinstance(x, str) else 2, "class"),
    "isinstance of many": (lambda x: isinstance(x, (int, np.ndarray)), "class"),
    "an abstract class": (lambda x: isinstance(x, numbers.Number), "class"),
    "PathLike": (lambda x: isinstance(x, os.PathLike), "class"),
    "class": (lambda x: x.__class__, "class"),
    "singledispatch": (lambda x: _by_class(x), "class"),
    "match": (lambda x: _matched(x), "class"),
    "hasattr": (lambda x: hasattr(x, "decode"), "attribute 'decode'"),
    "getattr": (lambda x: getattr(x, "ndim", 0), "attribute 'ndim'"),
    "isscalar": (lambda x: np.isscalar(x), "class"),
    "round": (lambda x: round(x), "round"),
    "floor": (lambda x: math.floor(x), "round down"),
    "sqrt": (lambda x: math.sqrt(x), "a float"),
    "complex": (lambda x: complex(x), "complex"),
    "min": (lambda x: min(x, 3), "condition"),
    "sorted": (lambda x: sorted([x, 3]), "condition"),
    "and": (lambda x: x and 3, "condition"),
    "delete": (lambda x: x.__delitem__(0), "assigned"),
    "in an array": (lambda x: np.zeros(3).__setitem__(0, x), "an array|a float"),
    "pickle": (lambda x: pickle.dumps(x), "pickle"),
    "rng": (lambda x, *, rng: x, "no `rng`"),
}


@functools.lru_cache
def _cached(x):
    return 1


@functools.singledispatch
def _by_class(x):
    return 1


def _matched(x):
    match x:
        case str():
            return 1
        case _:
            return 2


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_be_traced_is_said_at_its_line(name):
    function, reason = CANNOT[name]
    ds = Dataset.from_tensors(np.zeros(3))
    with pytest.raises(ps.TraceError, match=reason) as raised:
        ds.map(ps.native(function))
    assert "drop @ps.native to run it as Python" in str(raised.value)
    if name not in ("object", "rng"):
        assert f"(at {__file__}:" in str(raised.value)
        lines = [frame.filename for frame in traceback.extract_tb(raised.value.__traceback__)]
        assert __file__ in lines[1:]


def test_unknown_attributes():
    with pytest.raises(ps.TraceError, match="attribute 'foo'"):
        Dataset.range(3).map(ps.native(lambda x: x.foo))


def test_an_error_of_the_function_itself_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        Dataset.range(3).map(ps.native(lambda x: x + 1 // 0))


@pytest.mark.parametrize("bad", [3, None, "f"])
def test_only_functions_can_be_native(bad):
    with pytest.raises(TypeError, match="a function was expected"):
        ps.native(bad)


def test_the_line_is_that_of_the_users_code():
    def helper(x):
        return json.dumps(x)

    def function(x):
        return helper(x + 1)

    with pytest.raises(ps.TraceError) as raised:
        Dataset.range(3).map(ps.native(function))
    assert str(raised.value).endswith(f"(at {__file__}:{helper.__code__.co_firstlineno + 1})")


@pytest.mark.parametrize("key", [1.5, "a", [0, 1], np.array([True])])
def test_indices_that_cannot_be_traced(key):
    with pytest.raises(ps.TraceError, match="index"):
        Dataset.from_tensors(np.zeros(3)).map(ps.native(lambda x: x[key]))


@pytest.mark.parametrize("errors", [Exception, TypeError, (AttributeError, TypeError)])
def test_an_error_that_the_function_catches_is_raised_all_the_same(errors):
    def function(x):
        try:
            return int(x)
        except errors:
            return 0

    with pytest.raises(ps.TraceError, match="an int") as raised:
        Dataset.range(3).map(ps.native(function))
    assert "caught this error" in raised.value.__notes__[0]


def test_what_works_as_with_values():
    x = np.arange(3)
    for function in (
        lambda x: copy.copy(x) + copy.deepcopy(x) + x.copy(),
        lambda x: x if callable(x) else x + 1,
        lambda x: {"x": x, "y": [x, x]}["x"],
    ):
        ds = Dataset.from_tensors(x)
        assert_same(list(ds.map(ps.native(function))), list(ds.map(function)))


def test_people_may_look_at_symbols(capsys, caplog):
    @ps.native
    def function(x):
        print(x)
        print("at", [x])
        logging.warning("got %s", x)
        return x

    Dataset.range(3).map(function)
    assert capsys.readouterr().out.count("known only when") == 4
    assert caplog.text.count("known only when") == 2
    seen = []
    Dataset.range(3).map(ps.native(lambda x: seen.append(x) or x))
    assert "known only" in f"{seen[0]} {seen}"
    assert not isinstance(seen[0], (str, np.ndarray))
    assert {seen[0].__class__} == {type(seen[0])}


GENERATOR = np.random.default_rng(3)


class Augment:
    def __init__(self, rng):
        self.parts = {"rng": rng}

    @ps.native
    def flip(self, x):
        return x[::-1] if self.parts["rng"].random() < 2 else x


def _drawn(rng):
    return lambda x: x[::-1] if rng.random() < 2 else x


def _with_default(x, draws=np.random.RandomState(1)):  # noqa: B008
    return x[::-1] if draws.rand() < 2 else x


def _helped(x):
    return _from_global(x)


def _from_global(x):
    return x[::-1] if GENERATOR.random() < 2 else x


# The branch always goes the same way: only the generator reveals the draw.
GENERATORS = {
    "numpy": (lambda x: x[::-1] if np.random.rand() < 2 else x, r"generator of numpy\.random"),
    "random": (lambda x: x[::-1] if random.random() < 2 else x, "generator of the module random"),
    "closure": (_drawn(np.random.default_rng(1)), "the generator 'rng'"),
    "Random": (_drawn(random.Random(1)), "the generator 'rng'"),
    "default": (_with_default, "the generator 'draws'"),
    "global": (_from_global, "the generator 'GENERATOR'"),
    "helper": (_helped, "the generator 'GENERATOR'"),
    "partial": (functools.partial(_with_default, draws=np.random.RandomState(2)), "'draws'"),
    "method": (Augment(np.random.default_rng(2)).flip.__wrapped__, r"self\.parts\['rng'\]"),
    "bits": (_drawn(np.random.Generator(np.random.PCG64(1))), "the generator 'rng'"),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_draws_from_generators_that_would_be_the_same_for_all_elements(name):
    function, message = GENERATORS[name]
    with pytest.raises(ps.TraceError, match=message) as raised:
        Dataset.from_tensors(np.zeros(3)).map(ps.native(function))
    assert "ps.random" in str(raised.value)
    assert "`rng`" in str(raised.value)


def test_a_generator_is_named_also_where_it_decides():
    coins = np.random.default_rng(0)
    with pytest.raises(
        ps.TraceError, match=r"drew from the generator 'coins', and did something else"
    ):
        Dataset.from_tensors(np.zeros(3)).map(
            ps.native(lambda x: x + sum(coins.integers(99, size=9).tolist()))
        )


NUMBERS = count()
CHANGING = {
    "constant": (
        lambda x: x * np.random.rand(),
        r"the constant of numpy\.multiply at .*py:\d+ was",
    ),
    "time": (lambda x: x + time.perf_counter_ns(), r"the constant of numpy\.add"),
    "urandom": (lambda x: (x, os.urandom(8)), "a constant in its result was"),
    "counter": (lambda x: x + 1 if next(NUMBERS) % 2 else x - 1, r"numpy\.add was called where"),
    "branch": (lambda x: x + 1 if next(NUMBERS) % 2 else x, "only one time of two"),
    "attribute": (lambda x: ps.one_hot(x, 5 + next(NUMBERS)), "constant of one_hot"),
    "axis": (lambda x: np.sum(x, next(NUMBERS) % 2 - 1), "sum was called with"),
    "result": (lambda x: (x, x)[: 1 + next(NUMBERS) % 2], "nested in another way"),
    "one of two": (lambda x: (x + 1, x)[next(NUMBERS) % 2], "another value"),
    "seed": (lambda x: x + ps.random.uniform((), seed=next(NUMBERS)), "uniform was called with"),
}


@pytest.mark.parametrize("name", CHANGING)
def test_what_changes_from_call_to_call(name):
    function, message = CHANGING[name]
    with pytest.raises(ps.TraceError, match=message) as raised:
        Dataset.range(3).map(ps.native(function))
    assert "ps.random" in str(raised.value)


def test_what_has_changed_since_is_said_when_a_run_begins():
    table = np.array([1.0, 2.0])
    offset = 3

    def function(x, scale):
        return table * x * scale + offset

    plain = functools.partial(function, scale=2)
    ds = Dataset.range(2).map(ps.native(plain)).batch(1)
    wanted = list(ds)
    offset = 100
    with pytest.raises(ps.TraceError, match=r"function does has changed .*add.* 3 and then 100"):
        iter(ds)
    offset = 3
    assert_same(list(ds), wanted)
    running = iter(ds)
    table[:] = 0
    assert_same(list(running), wanted)
    with pytest.raises(ps.TraceError, match="make the dataset again"):
        list(ds.take(1))
    assert_same(list(Dataset.range(2).map(ps.native(plain))), list(Dataset.range(2).map(plain)))


def test_random_operations_are_no_change():
    ds = Dataset.range(3).map(ps.native(lambda x: x + ps.random.uniform((), 0, 9, np.int64)))
    assert len(list(ds)) == len(list(ds)) == 3
