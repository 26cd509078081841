"""Strict comparison of elements in structure, type, dtype, shape and bits; and with specs."""

import dataclasses

import numpy as np

import penstock as ps

# Python scalar types, and the types that they have in elements.
_SCALARS = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def difference(came, wanted, path="element"):
    """Return a description of the first difference of two nested values; None if identical."""
    if type(wanted) in _SCALARS:
        wanted = _SCALARS[type(wanted)](wanted)
    if type(came) is not type(wanted):
        return f"{path}: {came!r} is a {type(came).__name__}, not a {type(wanted).__name__}"
    if isinstance(wanted, (np.ndarray, np.generic)):
        return _array_difference(np.asarray(came), np.asarray(wanted), path)
    if isinstance(wanted, dict):
        if list(came) != list(wanted):
            return f"{path}: keys {list(came)}, not {list(wanted)}"
        parts = [(f"[{key!r}]", came[key], wanted[key]) for key in wanted]
    elif isinstance(wanted, tuple):
        if len(came) != len(wanted):
            return f"{path}: {len(came)} parts, not {len(wanted)}"
        parts = [(f"[{i}]", *pair) for i, pair in enumerate(zip(came, wanted, strict=True))]
    elif dataclasses.is_dataclass(wanted):
        names = [field.name for field in dataclasses.fields(wanted)]
        parts = [(f".{n}", getattr(came, n), getattr(wanted, n)) for n in names]
    else:
        return None if came is wanted or came == wanted else f"{path}: {came!r}, not {wanted!r}"
    found = (difference(a, b, path + name) for name, a, b in parts)
    return next(filter(None, found), None)


def _array_difference(came, wanted, path):
    if came.dtype != wanted.dtype:
        return f"{path}: dtype {came.dtype}, not {wanted.dtype}"
    if came.shape != wanted.shape:
        return f"{path}: shape {came.shape}, not {wanted.shape}"
    if wanted.dtype == object:
        pairs = zip(came.ravel(), wanted.ravel(), strict=True)
        found = (difference(a, b, f"{path} item {i}") for i, (a, b) in enumerate(pairs))
        return next(filter(None, found), None)
    view = wanted.dtype.kind in "mM"
    a, b = (came.view(np.int64), wanted.view(np.int64)) if view else (came, wanted)
    equal = np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    return None if equal else f"{path}: {came!r}, not {wanted!r}"


def assert_same(came, wanted):
    """Fail unless two lists contain the same elements in the same order."""
    for i, (a, b) in enumerate(zip(came, wanted, strict=False)):
        found = difference(a, b, f"element {i}")
        assert found is None, f"{found}\n  all: {came!r}\n  not: {wanted!r}"
    assert len(came) == len(wanted), f"{len(came)} elements, not {len(wanted)}: {came!r}"


def assert_same_unordered(came, wanted):
    """Fail unless two lists contain the same elements with the same counts."""
    assert_same(sorted(came, key=repr), sorted(_normal(wanted), key=repr))


def _normal(values):
    return [_SCALARS.get(type(v), lambda v: v)(v) for v in values]


def assert_fits(spec, element, path="element"):
    """Fail unless `element` matches `spec`."""
    if isinstance(spec, ps.TensorSpec):
        if isinstance(spec.dtype, type):  # str, bytes or object
            parts = element.ravel() if isinstance(element, np.ndarray) else [element]
            assert all(isinstance(part, spec.dtype) for part in parts), (path, spec, element)
            shape = element.shape if isinstance(element, np.ndarray) else ()
        else:
            assert element.dtype == spec.dtype, (path, spec, element)
            shape = element.shape
        if spec.shape is not None:
            assert len(shape) == len(spec.shape), (path, spec, shape)
            fits = all(n is None or n == m for n, m in zip(spec.shape, shape, strict=True))
            assert fits, (path, spec, shape)
        return
    assert type(spec) is type(element), (path, spec, element)
    if isinstance(spec, dict):
        assert list(spec) == list(element), (path, spec, element)
        parts = [(f"[{key!r}]", spec[key], element[key]) for key in spec]
    elif isinstance(spec, tuple):
        assert len(spec) == len(element), (path, spec, element)
        parts = [(f"[{i}]", *pair) for i, pair in enumerate(zip(spec, element, strict=True))]
    elif spec is None:
        parts = []
    else:
        names = [field.name for field in dataclasses.fields(spec)]
        parts = [(f".{n}", getattr(spec, n), getattr(element, n)) for n in names]
    for name, inner, value in parts:
        assert_fits(inner, value, path + name)
