"""Digests for states: what decides a pipeline's data, at a bounded cost, and nothing that varies.

A state is taken in the middle of a run and compared at the beginning of another one. What functions
change while they run (counters, logs, memories) would differ, and is left out; large data is looked
at in samples, so that the first state of a pipeline costs milliseconds.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from penstock.code_effects import CHANGING, effects_of
from penstock.code_names import names_of
from penstock.contents import (
    function_of,
    is_of_a_table,
    is_of_the_standard_library,
    marshalled,
    reduction_of,
    some_rows,
)
from penstock.digest import BUILTIN, Changed, Digests, Hasher, Use, contents_of, name_of
from penstock.stage import Stage

_MOST_BYTES = 1 << 16  # of an array: all of them, or samples of as many, from begin to end
_PIECES = 16
_MOST_PLAIN = 100_000  # numbers, strings and their like in a container: all of them
_MOST_TEXT = 4_000_000  # characters in them
_MOST_ITEMS = 256  # of another container: all, or this many at even distances
_MOST_LOOKS = 20_000  # at values other than plain ones: a tenth of a second, about
_MAKING = ("__init__", "__post_init__", "__new__", "__setstate__")


class StateDigests(Digests):
    """As `Digests`, but bounded, and without what varies while functions run.

    Parameters
    ----------
    of_dataset : callable
        From a Dataset among the values, and these digests, to its digest.
    """

    def __init__(self, of_dataset: Callable[[Stage, Digests], bytes]) -> None:
        super().__init__(of_dataset)
        self._changed: dict[type, Changed] = {}

    def _once(self, value: Any, how: Hashable, look: Callable[[Hasher], None]) -> bytes:
        if len(self._done) > _MOST_LOOKS:
            return name_of(type(value)).encode()
        return super()._once(value, how, look)

    def _container(self, out: Hasher, value: Any) -> None:
        out.text(str(len(value)))
        plain = marshalled(value, _MOST_PLAIN, _MOST_TEXT)
        if plain is not None:
            out.bytes(plain)
        elif len(value) <= _MOST_ITEMS:
            self._items(out, value)
        elif isinstance(value, Mapping):
            pairs = (pair for i, pair in enumerate(value.items()) if i < _MOST_ITEMS)
            self._all(out, (item for pair in pairs for item in pair))
        elif not isinstance(value, (set, frozenset)):  # those have no order to take samples by
            self._all(out, (value[i] for i in _sample(len(value))))

    def _array(self, out: Hasher, array: np.ndarray[Any, Any]) -> None:
        out.text(f"{array.dtype.str} {array.shape}")
        if array.dtype.hasobject and array.size <= _MOST_PLAIN:
            self._container(out, array.ravel().tolist())
        elif array.dtype.hasobject or array.size == 0:
            flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
            self._all(out, (flat[i] for i in _sample(array.size)))
        elif array.nbytes <= _MOST_BYTES:
            out.bytes(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        elif array.flags.c_contiguous:
            data = array.reshape(-1).view(np.uint8)
            piece = _MOST_BYTES // _PIECES
            for i in range(_PIECES):
                start = (array.nbytes - piece) * i // (_PIECES - 1)
                out.bytes(data[start : start + piece])
        else:
            out.bytes(np.array([array.flat[i] for i in _sample(array.size)]).view(np.uint8))

    def _function(self, out: Hasher, function: types.FunctionType) -> None:
        if (function.__module__ or "").startswith(("penstock.adapters", "penstock.stages")):
            # What the facade puts around functions of the user, or makes of elements itself: where
            # it puts them may change.
            out.text(function.__qualname__)
            closure = map(contents_of, function.__closure__ or ())
            self._all(out, (value for value in closure if callable(value)))
        else:
            super()._function(out, function)

    def _reduced(self, out: Hasher, value: Any) -> None:
        if is_of_a_table(value):
            size = len(value) if hasattr(value, "__len__") else 0
            out.text(str(size))
            self._add(out, reduction_of(some_rows(value, _sample(size))))
        elif not hasattr(value, "__dict__") and is_of_the_standard_library(value):
            self._add(out, reduction_of(value))

    def _limited(self, use: Use | None) -> Use | None:
        return use

    def _changed_by(self, code: types.CodeType, around: Mapping[str, Any]) -> Changed:
        effects = effects_of(code)
        changing = (isinstance(v, BUILTIN) and v.__name__ in CHANGING for v in around.values())
        touched = frozenset(around) if effects.changes or any(changing) else frozenset()
        return Changed(effects.rebound, touched)

    def _changed_in(self, cls: type, reached: list[types.FunctionType], use: Use | None) -> Changed:
        if cls not in self._changed:
            self._changed[cls] = _changed_in(cls)
        assigned, touched = self._changed[cls]
        if use is not None:
            touched = frozenset()
        if any(effects_of(method.__code__).changes for method in reached):
            touched = touched.union(*(names_of(method.__code__) for method in reached))
        return Changed(assigned, touched)


def _changed_in(cls: type) -> Changed:
    """Return what the methods of a class change, but for those that make the object."""
    assigned: set[str] = set()
    touched: set[str] = set()
    for each in cls.__mro__:
        for name, member in vars(each).items():
            method = function_of(member)
            if method is not None and name not in _MAKING:
                effects = effects_of(method.__code__)
                assigned |= effects.attributes
                touched |= names_of(method.__code__) if effects.changes else set()
    return Changed(frozenset(assigned), frozenset(touched))


def _sample(size: int) -> range | list[int]:
    if size <= _MOST_ITEMS:
        return range(size)
    return [(size - 1) * i // (_MOST_ITEMS - 1) for i in range(_MOST_ITEMS)]
