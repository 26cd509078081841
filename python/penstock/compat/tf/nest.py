"""tf.nest: nested tuples, lists and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.compat.listing import listing


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves; those of dicts are sorted by key.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.nest.flatten({"b": [1, 2], "a": (3,)})
    [3, 1, 2]
    """
    if not is_nested(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in flatten(part)]


def is_nested(seq: Any) -> bool:
    """Return whether a value is a tuple, a list or a dict."""
    return isinstance(seq, (tuple, list, dict)) and not hasattr(seq, "as_list")


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Call a function with the leaves at the same position of one or more structures."""
    assert_same_structure(structure[0], structure[-1])
    leaves = zip(*map(flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*each) for each in leaves])


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that two values have the same structure.

    Parameters
    ----------
    nest1, nest2 : object
        The structures.
    check_types, expand_composites : bool
        Ignored: lists and tuples are equivalent.

    Raises
    ------
    ValueError
        If the structures differ.
    """
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(f"nest: {nest1!r} and {nest2!r} are not nested in the same way")
    if is_nested(nest1):
        first, second = _parts(nest1), _parts(nest2)
        keys = isinstance(nest1, dict) and isinstance(nest2, dict) and set(nest1) != set(nest2)
        if len(first) != len(second) or keys:
            raise ValueError(f"nest: {nest1!r} and {nest2!r} are not nested in the same way")
        for a, b in zip(first, second, strict=True):
            assert_same_structure(a, b)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Arrange leaves in the structure of `structure`.

    Raises
    ------
    ValueError
        If the number of leaves differs.
    """
    leaves = list(flat_sequence)
    if len(leaves) != len(flatten(structure)):
        raise ValueError(f"nest: {len(flatten(structure))} leaves were expected, got {len(leaves)}")
    return _packed(structure, iter(leaves))


def _parts(structure: Any) -> list[Any]:
    if isinstance(structure, dict):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def _packed(structure: Any, leaves: Any) -> Any:
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, dict):
        made = {key: _packed(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, made[key]) for key in structure)
    parts = [_packed(part, leaves) for part in structure]
    return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)


__dir__ = listing(globals())
