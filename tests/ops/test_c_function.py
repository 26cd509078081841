"""cfunction: compiled functions as operations."""

import ctypes
import pickle

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native

KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
)


def items(operands, i, kind, count):
    """Return the memory of an operand."""
    pointer = ctypes.cast(operands[i], ctypes.POINTER(kind))
    return np.ctypeslib.as_array(pointer, (count,))


@KERNEL
def scaled(operands, sizes):
    rows, columns = sizes[0], sizes[1]
    x = items(operands, 0, ctypes.c_float, rows * columns)
    factor = items(operands, 1, ctypes.c_double, 1)
    items(operands, 2, ctypes.c_float, rows * columns)[:] = x * np.float32(factor[0])
    return 0


@KERNEL
def fails(operands, sizes):
    return 7


def test_results_are_those_of_the_function():
    op = ps.cfunction(scaled, "float32[n, m], float64 -> float32[n, m]")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(op(x, 0.5), x * np.float32(0.5))
    assert_native(lambda a: op(a, 2.0) + 1, [x, x + 1])


def test_an_address_will_do():
    address = ctypes.cast(scaled, ctypes.c_void_p).value
    op = ps.cfunction(address, "float32[n, m], float64 -> float32[n, m]")
    assert op(np.ones((1, 1), np.float32), 3.0).tolist() == [[3.0]]


def test_a_code_that_is_not_zero_is_an_error():
    with pytest.raises(RuntimeError, match="returned 7"):
        ps.cfunction(fails, "int8 -> int8")(np.int8(1))


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros((2, 3)), 1.0),
        (np.zeros((2, 3), np.float32), 1),
        (np.zeros(3, np.float32), 1.0),
        (np.zeros((2, 3), np.float32),),
    ],
)
def test_wrong_arguments_are_refused(arguments):
    op = ps.cfunction(scaled, "float32[n, m], float64 -> float32[n, m]")
    with pytest.raises((TypeError, ValueError), match="cfunction"):
        op(*arguments)


def test_sizes_must_agree():
    op = ps.cfunction(fails, "int8[n, 3], int8[n] -> int8")
    for shapes in [((2, 3), (3,)), ((2, 4), (2,))]:
        with pytest.raises(ValueError, match=r"argument \d does not fit"):
            op(*(np.zeros(shape, np.int8) for shape in shapes))


@pytest.mark.parametrize(
    "signature",
    ["", "float32", "float32[n -> float32", "float32[n] -> float32[m]", "float32[] -> int8",
     "float33 -> int8", "int8 -> int8 x", "int8[2n] -> int8", "int8[" + "n," * 9 + "n] -> int8",
     "object -> int8", "int8 -> int8, int8"],
)  # fmt: skip
def test_signatures_that_cannot_be_read(signature):
    with pytest.raises((TypeError, ValueError), match="cfunction"):
        ps.cfunction(scaled, signature)


@pytest.mark.parametrize("pointer", ["f", None, 1.5, 0])
def test_what_is_no_function(pointer):
    with pytest.raises((TypeError, ValueError), match="cfunction"):
        ps.cfunction(pointer, "int8 -> int8")


def test_addresses_do_not_pickle():
    with pytest.raises(TypeError, match="only good in this process"):
        pickle.dumps(ps.cfunction(scaled, "int8 -> int8"))


def test_functions_that_numba_compiled():
    numba = pytest.importorskip("numba")

    @numba.cfunc("int32(CPointer(voidptr), CPointer(int64))")
    def softmax(operands, sizes):
        x = numba.carray(operands[0], (sizes[0], sizes[1]), numba.float32)
        out = numba.carray(operands[1], (sizes[0], sizes[1]), numba.float32)
        for i in range(sizes[0]):
            e = np.exp(x[i] - x[i].max())
            if not np.isfinite(e).all():
                return 3
            out[i] = e / e.sum()
        return 0

    def wanted(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    op = ps.cfunction(softmax, "float32[n, m] -> float32[n, m]")
    elements = [np.random.default_rng(n).normal(size=(n, 5)).astype(np.float32) for n in (1, 4, 7)]
    for x in elements:
        np.testing.assert_allclose(op(x), wanted(x), rtol=1e-6)
    assert_native(lambda x: op(x) * 2, elements)
    for pointer in (softmax.address, softmax.ctypes):
        other = ps.cfunction(pointer, "float32[n, m] -> float32[n, m]")
        np.testing.assert_array_equal(other(elements[1]), op(elements[1]))
    with pytest.raises(RuntimeError, match="returned 3"):
        op(np.array([[1, np.inf]], np.float32))
