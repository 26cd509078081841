"""The leaves of elements as tensors: which there can be, and how they share memory with arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.structure import is_nested, map_parts

Array = npt.NDArray[Any]
# The way from an element to one of its leaves: containers, each with the key of the next step.
Path = tuple[tuple[Any, Any], ...]

_NOT_NUMBERS = "OSUT"  # kinds of dtypes: objects, bytes, text


def map_numbers(function: Callable[[Array, Path], Any], element: Any, path: Path = ()) -> Any:
    """Give the same nested value with ``function(array, path)`` for each leaf of numbers.

    A scalar becomes an array without axes. Strings, objects and None stay.
    """
    if isinstance(element, (np.ndarray, np.generic)):
        if element.dtype.kind in _NOT_NUMBERS:
            return element
        return function(np.asarray(element), path)
    if not is_nested(element):
        return element
    return map_parts(
        lambda key, part: map_numbers(function, part, (*path, (element, key))), element
    )


class Tensors:
    """Makes tensors that share the memory of arrays.

    Parameters
    ----------
    torch : module
        PyTorch.
    stage : str
        The method that the user has called, for errors.
    """

    def __init__(self, torch: Any, stage: str) -> None:
        self._torch = torch
        self._stage = stage

    def of_element(self, element: Any) -> Any:
        """Give the element with tensors instead of its arrays."""
        return map_numbers(self.of_array, element)

    def of_array(self, array: Array, path: Path) -> Any:
        """Give the array as a tensor: of the same memory, or of a copy if it is read-only."""
        if array.dtype.name == "bfloat16":  # NumPy's is of ml_dtypes, which torch does not know
            bits = self.of_array(array.view(np.int16), path)
            return bits.view(self._torch.bfloat16)
        try:
            # torch has no tensors that must not be written to.
            return self._torch.from_numpy(array if array.flags.writeable else array.copy())
        except TypeError:
            raise TypeError(
                f"{self._stage}: a dtype that torch has was expected in {_name(path)}, got "
                f"{array.dtype}; convert it in a map, or leave it out"
            ) from None

    def dtype_of(self, array: Array, path: Path) -> Any:
        """Return torch's name of the dtype of an array."""
        return self.of_array(np.empty(0, array.dtype), path).dtype


def _name(path: Path) -> str:
    """Write a path as Python would: leaf ['image'][0].mask."""
    return f"leaf {''.join(_step(*step) for step in path)}" if path else "the element"


def _step(container: Any, key: Any) -> str:
    if hasattr(container, "_fields"):
        return f".{container._fields[key]}"
    return f"[{key!r}]" if isinstance(container, (tuple, dict)) else f".{key}"
