"""States of iterables with ``state_dict`` and ``load_state_dict``.

The engine imports this module for the first such iterable.
"""

from __future__ import annotations

import base64
import collections
import copy
import itertools
import json
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.errors import StateError

__all__ = ["Stream", "decoded", "encoded", "keeps_state", "restore", "state_of"]


def keeps_state(thing: Any) -> bool:
    """Return whether an object has a state that can be saved and restored."""
    return hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")


def state_of(thing: Any) -> Any:
    """Return a copy of an object's state, or None if it has none."""
    # Some objects modify the returned dict later.
    return copy.deepcopy(thing.state_dict()) if keeps_state(thing) else None


def restore(thing: Any, state: Any) -> bool:
    """Restore a result of `state_of`; return False if the object keeps no state."""
    if keeps_state(thing):
        thing.load_state_dict(copy.deepcopy(state))
        return True
    return False


class Stream:
    """The iterator of an iterable, and the state of both.

    Parameters
    ----------
    iterable : iterable
        An iterable that has a state, or whose iterator has one, or both.
    saved : bytes
        A result of `state`, to continue from; empty to start from the beginning.
    iterator : iterator, optional
        The iterator of `iterable`, if it already exists.

    Attributes
    ----------
    iterator : iterator
        Yields the remaining values.
    """

    def __init__(self, iterable: Any, saved: bytes = b"", iterator: Any = None) -> None:
        states = decoded(saved) if saved else {}
        if not (isinstance(states, dict) and states.keys() <= {"iterable", "iterator"}):
            raise StateError("from_generator: this is not the state of an iterable")
        # The order is torchdata's: the iterable, `iter`, the iterator.
        self._iterable = iterable if keeps_state(iterable) else None
        self._restore("iterable", self._iterable, states)
        self.iterator = iter(iterable) if iterator is None else iterator
        own = self.iterator is not iterable and keeps_state(self.iterator)
        self._iterator = self.iterator if own else None
        self._restore("iterator", self._iterator, states)
        if "iterable" in states and getattr(iterable, "_starting_state_dict", None) is not None:
            # A Hugging Face stream would also start each later epoch from the loaded state. It has
            # read that state when the first value arrives.
            first = list(itertools.islice(self.iterator, 1))
            iterable._starting_state_dict = None
            self.iterator = itertools.chain(first, self.iterator)

    def state(self) -> bytes | str:
        """Return the state after the last value, or the reason why it cannot be saved."""
        states = {}
        for which, thing in (("iterable", self._iterable), ("iterator", self._iterator)):
            if thing is None:
                continue
            name = type(thing).__name__
            try:
                states[which] = _to_json(thing.state_dict())
            except _CannotStore as error:
                return (
                    f"state_dict of {name} returned {error}; expected numbers, strings, bytes, "
                    "arrays, and lists, tuples, sets and dicts of them; yield the values from a "
                    "generator function to restore without state_dict"
                )
            except Exception as error:
                return f"state_dict of {name} raised {type(error).__name__}: {error}"
        return _bytes_of({"dict": [*states.items()]})

    @staticmethod
    def _restore(which: str, thing: Any, states: dict[str, Any]) -> None:
        if which not in states:
            return
        if thing is None:
            raise StateError(
                f"from_generator: the state was saved from an {which} with state_dict and "
                "load_state_dict, expected the same methods here; restore it into the pipeline "
                "that saved it"
            )
        thing.load_state_dict(states[which])


class _CannotStore(TypeError):
    """A value of a type that states cannot store."""


def encoded(value: Any) -> bytes:
    """Encode numbers, strings, bytes, arrays and containers of them.

    Raises
    ------
    TypeError
        For any other type.
    """
    return _bytes_of(_to_json(value))


def _bytes_of(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def decoded(data: bytes) -> Any:
    """Decode a result of `encoded`. No code in the data runs.

    Raises
    ------
    StateError
        If it is damaged.
    """
    try:
        return _from_json(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StateError(f"from_generator: the state of the iterable is damaged: {error}") from None


def _to_json(value: Any, place: str = "") -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return _all_to_json(value, place)
    if kind in (dict, collections.OrderedDict):
        return {
            "dict": [
                [_to_json(key, f"{place} key"), _to_json(each, f"{place}[{key!r:.50}]")]
                for key, each in value.items()
            ]
        }
    if kind in (tuple, set, frozenset):
        return {kind.__name__: _all_to_json(value, place)}
    if kind in (bytes, bytearray):
        return {kind.__name__: _text(value)}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return {"tensor": _to_json(value.detach().cpu().numpy())}
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufcSUmM":
        array = np.ascontiguousarray(value)
        name = "array" if isinstance(value, np.ndarray) else "scalar"
        return {name: [value.dtype.str, list(value.shape), _text(array.tobytes())]}
    of = f" of dtype {value.dtype}" if isinstance(value, np.ndarray) else ""
    raise _CannotStore(f"a value of type {kind.__name__}{of}" + (f" at {place}" if place else ""))


def _all_to_json(values: Iterable[Any], place: str) -> list[Any]:
    return [_to_json(each, f"{place}[{i}]") for i, each in enumerate(values)]


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {_from_json(key): _from_json(each) for key, each in content}
    if kind in ("tuple", "set", "frozenset"):
        of: Any = {"tuple": tuple, "set": set, "frozenset": frozenset}[kind]
        return of(map(_from_json, content))
    if kind in ("bytes", "bytearray"):
        data = base64.b64decode(content)
        return data if kind == "bytes" else bytearray(data)
    if kind == "tensor":
        import torch

        return torch.from_numpy(_from_json(content))
    dtype, shape, text = content
    if kind not in ("array", "scalar") or np.dtype(dtype).hasobject:
        raise ValueError(f"unknown kind {kind!r}")
    array = np.frombuffer(base64.b64decode(text), dtype).reshape(shape).copy()
    return array if kind == "array" else array[()]


def _text(data: bytes | bytearray) -> str:
    return base64.b64encode(data).decode("ascii")
