"""Conversion of PyTorch tensors whose types NumPy lacks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt


def array_of(value: Any) -> npt.NDArray[Any] | None:
    """Return a tensor, or a list of them, as an array with an ml_dtypes type such as bfloat16.

    Parameters
    ----------
    value : object
        A value that NumPy could not convert.

    Returns
    -------
    numpy.ndarray or None
        It shares the memory of a single tensor. None for other values.

    Raises
    ------
    TypeError
        If ml_dtypes is not installed.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(value, (list, tuple)) and value:
        arrays = [array_of(item) for item in value]
        return None if any(array is None for array in arrays) else np.array(arrays)
    bits = {1: "uint8", 2: "int16"}
    if not isinstance(value, torch.Tensor) or value.dtype.itemsize not in bits:
        return None
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            f"PyTorch tensors of type {value.dtype} need ml_dtypes: pip install ml_dtypes; or "
            "convert them with tensor.float()"
        ) from None
    dtype = getattr(ml_dtypes, str(value.dtype).removeprefix("torch."), None)
    if dtype is None:
        return None
    same_bits: npt.NDArray[Any] = value.view(getattr(torch, bits[value.dtype.itemsize])).numpy()
    made: npt.NDArray[Any] = same_bits.view(dtype)
    return made
