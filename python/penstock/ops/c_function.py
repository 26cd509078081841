"""cfunction: compiled functions, called by address."""

from __future__ import annotations

import ctypes
from operator import index
from typing import Any

from penstock import _core
from penstock.arguments.checked import checked
from penstock.ops.call import call


class CFunction:
    """A compiled function as an operation."""

    def __init__(self, function: Any, signature: str) -> None:
        self._function = function  # keeps the compiled code alive
        self._attributes = {"address": _address(function), "signature": signature}
        _core.Op("c_function", self._attributes)  # checks the signature

    def __call__(self, *inputs: Any) -> Any:
        """Call the function on arrays, or on symbols."""
        return call("c_function", inputs, self._attributes)

    def __repr__(self) -> str:
        return f"cfunction({self._function!r}, {self._attributes['signature']!r})"

    def __reduce__(self) -> Any:
        raise TypeError("cfunction: an address is only good in this process; it cannot be pickled")


@checked
def cfunction(pointer: Any, signature: str) -> CFunction:
    """Turn a compiled function into an operation, which runs without the GIL.

    Parameters
    ----------
    pointer : int, ctypes function or Numba cfunc
        The function, or its address.
    signature : str
        Types and shapes, such as ``"float32[h, w, 3], int64 -> float32[h, w]"``: NumPy's names of
        the dtypes of the inputs and of the single output, each with the sizes of its axes in
        brackets, as numbers or names. Equal names mean equal sizes. Each name must occur in an
        input.

    Returns
    -------
    callable
        Takes one array for each input of the signature. It can be called on values, and in `native`
        functions.

    Raises
    ------
    ValueError
        If the signature is invalid; when called, if an argument has another shape.
    TypeError
        If `pointer` is not a function or address; when called, if an argument has another dtype
        (cast it).
    RuntimeError
        When called, if the function does not return 0.

    Notes
    -----
    The C function is ``int32_t f(void* const* operands, const int64_t* sizes)``. ``operands`` are
    the items of each input, followed by those of the output, which the function fills. All are
    C-contiguous and aligned to their type. ``sizes`` are the values of the names, in the order in
    which they first occur. The function is called from several threads concurrently, must not
    modify its inputs, and must not call Python. A function that does not match its signature
    crashes the process.

    Examples
    --------
    With Numba (``carray`` views memory as an array)::

        @numba.cfunc("int32(CPointer(voidptr), CPointer(int64))")
        def twice(operands, sizes):
            x = numba.carray(operands[0], (sizes[0],), numba.float32)
            out = numba.carray(operands[1], (sizes[0],), numba.float32)
            for i in range(sizes[0]):
                out[i] = 2 * x[i]
            return 0

        op = ps.cfunction(twice, "float32[n] -> float32[n]")
        ds = ds.map(ps.native(lambda x: op(x) + 1))
    """
    return CFunction(pointer, signature)


def _address(function: Any) -> int:
    address = getattr(function, "address", function)
    if hasattr(address, "argtypes"):  # a ctypes function
        return ctypes.cast(address, ctypes.c_void_p).value or 0
    try:
        return index(address)
    except TypeError:
        raise TypeError(
            "cfunction: pointer must be an address, a ctypes function or a Numba cfunc, got "
            f"{type(function).__name__}"
        ) from None
