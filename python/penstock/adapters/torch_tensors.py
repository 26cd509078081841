"""Conversion of arrays to PyTorch tensors that share their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.structure import is_nested, map_parts

Array = npt.NDArray[Any]
# The path from an element to a leaf: pairs of a container and the key of the next step.
Path = tuple[tuple[Any, Any], ...]

_NOT_NUMBERS = "OSUT"  # kinds of dtypes: objects, bytes, text


def map_numbers(function: Callable[[Array, Path], Any], element: Any, path: Path = ()) -> Any:
    """Apply ``function(array, path)`` to each numeric leaf of a nested value.

    A scalar becomes a 0-d array. Strings, objects and None are unchanged.
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
    """Convert arrays to tensors that share their memory.

    Parameters
    ----------
    torch : module
        PyTorch.
    stage : str
        Name of the public method that the user called, for errors.
    """

    def __init__(self, torch: Any, stage: str) -> None:
        self._torch = torch
        self._stage = stage

    def of_element(self, element: Any) -> Any:
        """Return the element with its arrays converted to tensors."""
        return map_numbers(self.of_array, element)

    def of_array(self, array: Array, path: Path) -> Any:
        """Return the array as a tensor that shares its memory, or a copy if it is read-only."""
        if array.dtype.name == "bfloat16":  # the dtype is from ml_dtypes, which PyTorch rejects
            bits = self.of_array(array.view(np.int16), path)
            return bits.view(self._torch.bfloat16)
        try:
            # PyTorch has no read-only tensors.
            return self._torch.from_numpy(array if array.flags.writeable else array.copy())
        except TypeError:
            raise TypeError(
                f"{self._stage}: a dtype that torch has was expected in {_name(path)}, got "
                f"{array.dtype}; convert it in a map, or leave it out"
            ) from None

    def dtype_of(self, array: Array, path: Path) -> Any:
        """Return the PyTorch dtype of an array."""
        return self.of_array(np.empty(0, array.dtype), path).dtype


def _name(path: Path) -> str:
    """Format a path as a Python expression: leaf ['image'][0].mask."""
    return f"leaf {''.join(_step(*step) for step in path)}" if path else "the element"


def _step(container: Any, key: Any) -> str:
    if hasattr(container, "_fields"):
        return f".{container._fields[key]}"
    return f"[{key!r}]" if isinstance(container, (tuple, dict)) else f".{key}"
