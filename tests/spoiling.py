"""A consumer that overwrites everything writeable."""

import numpy as np


def spoiled(element):
    """Return a copy of an element, and the element with its writeable arrays overwritten."""
    was = _copied(element)
    for array in _arrays(element):
        if array.flags.writeable and array.size > 0:
            array.reshape(-1).view(np.uint8)[:] ^= 0xFF
    return was, element


def _copied(value):
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    if isinstance(value, tuple):
        parts = [_copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _arrays(value):
    if isinstance(value, np.ndarray):
        return [] if value.dtype.hasobject else [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [each for part in value for each in _arrays(part)] if isinstance(value, tuple) else []
