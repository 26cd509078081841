"""What a native function cannot be: said at its line, with the reason and a way out."""

import traceback

import numpy as np
import pytest

import penstock as ps

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
    "out": (lambda x: np.add(x, 1, out=np.zeros(3)), r"numpy\.add with options"),
    "no function of numbers": (lambda x: np.vecdot(x, x), "vecdot"),
    "assign": (lambda x: x.__setitem__(0, 1), "assigned"),
    "object": (lambda x: object(), "cannot return object"),
    "string": (lambda x: x + "a", "add"),
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_be_traced_is_said_at_its_line(name):
    function, reason = CANNOT[name]
    ds = Dataset.from_tensors(np.zeros(3))
    with pytest.raises(ps.TraceError, match=reason) as raised:
        ds.map(ps.native(function))
    assert "drop @ps.native to run it as Python" in str(raised.value)
    if name != "object":
        lines = [frame.filename for frame in traceback.extract_tb(raised.value.__traceback__)]
        assert __file__ in lines[1:]


def test_unknown_attributes():
    with pytest.raises(AttributeError, match="'foo' is no attribute"):
        Dataset.range(3).map(ps.native(lambda x: x.foo))


def test_an_error_of_the_function_itself_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        Dataset.range(3).map(ps.native(lambda x: x + 1 // 0))


@pytest.mark.parametrize("bad", [3, None, "f"])
def test_only_functions_can_be_native(bad):
    with pytest.raises(TypeError, match="a function was expected"):
        ps.native(bad)


@pytest.mark.parametrize("key", [1.5, "a", [0, 1], np.array([True])])
def test_indices_that_cannot_be_traced(key):
    with pytest.raises(ps.TraceError, match="index"):
        Dataset.from_tensors(np.zeros(3)).map(ps.native(lambda x: x[key]))
